"""A checkpoint directory's state: its files, and the file that lists them.

Source: `tf.train.latest_checkpoint`, `tf.train.update_checkpoint_state` and similar functions of
TensorFlow 1.15.
"""

import glob
import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress

from headrace.core import errors
from headrace.io import storage
from headrace.io.atomic_file import replacing
from headrace.protos.library import text_format
from headrace.tf1.protos import CheckpointState

__all__ = [
    "checkpoint_exists",
    "get_checkpoint_mtimes",
    "get_checkpoint_state",
    "latest_checkpoint",
    "remove_checkpoint",
    "update_checkpoint_state",
]

_LIST = "checkpoint"
_REMEDY = (
    "You can still restore a checkpoint by its name. Delete this list, or write it again "
    "with update_checkpoint_state."
)


def checkpoint_exists(checkpoint_prefix: str | os.PathLike[str]) -> bool:
    """Returns whether a checkpoint exists."""
    return storage.exists(f"{os.fspath(checkpoint_prefix)}.index")


def get_checkpoint_mtimes(checkpoint_prefixes: Iterable[str]) -> list[float]:
    """Returns the times of checkpoints in seconds since 1970. Missing checkpoints are ignored."""
    times = []
    for prefix in checkpoint_prefixes:
        with suppress(errors.NotFoundError):
            times.append(storage.status(f"{prefix}.index").modified_ns / 1e9)
    return times


def latest_checkpoint(
    checkpoint_dir: str | os.PathLike[str], latest_filename: str | None = None
) -> str | None:
    """Returns the prefix of the newest checkpoint in a directory, or None if there is none.

    Args:
        checkpoint_dir: The directory.
        latest_filename: The name of the file that lists the checkpoints. Defaults to "checkpoint".

    Raises:
        DataLossError: If the list is damaged.
        FailedPreconditionError: If the list is a directory.
        PermissionDeniedError: If the list cannot be read.
        ValueError: If the list is empty.
    """
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state is None:
        return None
    path = str(state.model_checkpoint_path)
    return path if checkpoint_exists(path) else None


def get_checkpoint_state(
    checkpoint_dir: str | os.PathLike[str], latest_filename: str | None = None
) -> CheckpointState | None:
    """Returns the list of checkpoints in a directory, or None if there is none.

    Args:
        checkpoint_dir: The directory.
        latest_filename: The name of the file. Defaults to "checkpoint".

    Returns:
        A `CheckpointState`, whose paths start with the directory.

    Raises:
        DataLossError: If the list is damaged.
        FailedPreconditionError: If the list is a directory.
        PermissionDeniedError: If the list cannot be read.
        ValueError: If the list is empty.
    """
    directory = os.fspath(checkpoint_dir)
    path = os.path.join(directory, latest_filename or _LIST)
    try:
        with storage.open_file(path) as file:
            text = file.read()
    except errors.NotFoundError:
        return None
    state = CheckpointState()
    try:
        text_format.Parse(text.decode(), state)
    except (text_format.ParseError, UnicodeDecodeError) as error:
        raise errors.DataLossError(
            None, None, f"{path}: the list of checkpoints cannot be read: {error}. {_REMEDY}"
        ) from None
    if not state.model_checkpoint_path:
        raise ValueError(
            f"Invalid checkpoint state loaded from {directory}: {path} does not name a "
            f"checkpoint. {_REMEDY}"
        )
    state.model_checkpoint_path = _from(directory, state.model_checkpoint_path)
    kept = [_from(directory, item) for item in state.all_model_checkpoint_paths]
    del state.all_model_checkpoint_paths[:]
    state.all_model_checkpoint_paths.extend(kept)
    return state


def update_checkpoint_state(
    save_dir: str | os.PathLike[str],
    model_checkpoint_path: str | os.PathLike[str],
    all_model_checkpoint_paths: Sequence[str | os.PathLike[str]] | None = None,
    latest_filename: str | None = None,
    save_relative_paths: bool = False,
) -> None:
    """Writes the list of checkpoints in a directory atomically.

    If two threads or processes write at the same time, the last one wins.

    Args:
        save_dir: The directory.
        model_checkpoint_path: The newest checkpoint.
        all_model_checkpoint_paths: All kept checkpoints, from oldest to newest.
        latest_filename: The name of the file. Defaults to "checkpoint".
        save_relative_paths: Whether paths are relative to `save_dir`, even if `save_dir` is
            absolute.

    Raises:
        FailedPreconditionError: If the path of the list is a directory.
        InvalidArgumentError: If a path is not UTF-8.
        NotFoundError: If the directory does not exist.
        PermissionDeniedError: If the list cannot be written.
        ResourceExhaustedError: If the disk is full.
    """
    directory = os.fspath(save_dir)
    model_checkpoint_path = os.fsdecode(model_checkpoint_path)
    paths = [os.fsdecode(path) for path in all_model_checkpoint_paths or ()]
    if not paths or paths[-1] != model_checkpoint_path:
        paths.append(model_checkpoint_path)
    is_relative = save_relative_paths or not _is_absolute(directory)

    def written(path: str) -> str:
        return os.path.relpath(path, directory or ".") if is_relative else path

    path = os.path.join(directory, latest_filename or _LIST)
    try:
        state = CheckpointState(
            model_checkpoint_path=written(model_checkpoint_path),
            all_model_checkpoint_paths=[written(item) for item in paths],
        )
    # A UnicodeEncodeError, or the error that Python's protocol buffers raise.
    except ValueError as error:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"{path}: the list cannot contain a checkpoint whose name is not UTF-8 ({error}). "
            "Save it under another name, or without the list (write_state=False).",
        ) from None
    with replacing(path) as file:
        file.write(text_format.MessageToString(state).encode())


def remove_checkpoint(
    checkpoint_prefix: str | os.PathLike[str],
    checkpoint_format_version: int = 2,
    meta_graph_suffix: str = "meta",
) -> None:
    """Deletes the existing files of a checkpoint.

    Args:
        checkpoint_prefix: The prefix.
        checkpoint_format_version: Accepted for compatibility, but not used, because there is only
            one format.
        meta_graph_suffix: The suffix of the graph file's name.
    """
    prefix = os.fspath(checkpoint_prefix)
    for path in [f"{prefix}.index", f"{prefix}.{meta_graph_suffix}", *_data_files(prefix)]:
        with suppress(errors.NotFoundError):
            storage.remove(path)


def _data_files(prefix: str) -> list[str]:
    pattern = re.compile(r"\.data-\d{5}-of-\d{5}$")
    if storage.is_remote(prefix):
        directory, _, name = prefix.rpartition("/")
        paths = [entry.path for entry in storage.entries(directory)]
        return [path for path in paths if path.startswith(f"{directory}/{name}.data-")]
    files = glob.glob(f"{glob.escape(storage.local_path(prefix))}.data-*")
    return [path for path in files if pattern.search(path)]


def _from(directory: str, path: str) -> str:
    return path if _is_absolute(path) else os.path.join(directory, path)


def _is_absolute(path: str) -> bool:
    return os.path.isabs(path) or "://" in path
