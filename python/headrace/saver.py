"""Checkpoints: the values of variables in files that TensorFlow reads too, and the other way round.

Local variables, the contents of queues and the positions of readers are not saved.

Source: `tf.train.Saver` of TensorFlow 1.15; the files are its V2 format.
"""

import glob
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from google.protobuf import text_format

from headrace import errors
from headrace.graph import GraphKeys, get_collection
from headrace.ops.initialization import global_variables
from headrace.ops.variables import Variable
from headrace.protos.checkpoint import CheckpointState
from headrace.session import Session
from headrace.tensor_bundle import BundleReader, write_bundle

__all__ = [
    "Saver",
    "checkpoint_exists",
    "get_checkpoint_state",
    "latest_checkpoint",
    "update_checkpoint_state",
]


class Saver:
    """Saves variables to checkpoints and restores them.

    Args:
        var_list: The variables: a list, or a dict of the names they have in the checkpoint. None
            for all global variables at the time of the first save or restore.
        reshape: Whether `restore` takes values of another shape with as many elements.
        sharded: Accepted for TensorFlow's sake; a checkpoint has one data file.
        max_to_keep: How many checkpoints are kept, the newest; None or 0 for all.
        keep_checkpoint_every_n_hours: Accepted for TensorFlow's sake.
        name: Accepted for TensorFlow's sake.
        allow_empty: Whether there may be no variables; `save` and `restore` then do nothing.
        pad_step_number: Whether the step in a file name has 8 digits.

    Raises:
        TypeError: If `var_list` holds something else.
        ValueError: If there are no variables, or two of one name.
    """

    def __init__(
        self,
        var_list: Sequence[Any] | Mapping[str, Any] | None = None,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        saver_def: Any = None,
        builder: Any = None,
        defer_build: bool = False,
        allow_empty: bool = False,
        write_version: int = 2,
        pad_step_number: bool = False,
        save_relative_paths: bool = False,
        filename: str | None = None,
    ) -> None:
        self._reshape = reshape
        self._max_to_keep = max_to_keep
        self._pad_step_number = pad_step_number
        self._save_relative_paths = save_relative_paths
        self._last_checkpoints: list[str] = []
        self._variables: dict[str, Any] = {}
        self._is_allowed_empty = allow_empty
        if not defer_build:
            self._variables = _by_name(var_list)
            if not self._variables and not allow_empty:
                raise ValueError("No variables to save")

    @property
    def last_checkpoints(self) -> list[str]:
        """The checkpoints that are kept, oldest first."""
        return list(self._last_checkpoints)

    def set_last_checkpoints(self, last_checkpoints: Sequence[str]) -> None:
        """Replaces the list of checkpoints that are kept, oldest first."""
        self._last_checkpoints = list(last_checkpoints)

    def recover_last_checkpoints(self, checkpoint_paths: Sequence[str]) -> None:
        """Takes over those of some checkpoints that are there, so that they are deleted in time."""
        self._last_checkpoints = [path for path in checkpoint_paths if checkpoint_exists(path)]

    def build(self) -> None:
        """Looks up the variables, of a saver made with `defer_build`."""
        self._variables = _by_name(None)
        if not self._variables and not self._is_allowed_empty:
            raise ValueError("No variables to save")

    def save(
        self,
        sess: Session,
        save_path: str | os.PathLike[str],
        global_step: Any = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> str | None:
        """Writes the values of the variables to a new checkpoint and deletes the oldest.

        Args:
            sess: The session that holds the values.
            save_path: Where, and how the files' names begin.
            global_step: A number, or a variable or tensor of one, put at the end of the name.
            latest_filename: Name of the file that lists the checkpoints; None for "checkpoint".
            meta_graph_suffix: Accepted for TensorFlow's sake: no graph is written.
            write_meta_graph: Accepted for TensorFlow's sake: no graph is written.
            write_state: Whether the list of checkpoints is written.
            strip_default_attrs: Accepted for TensorFlow's sake.
            save_debug_info: Accepted for TensorFlow's sake.

        Returns:
            The checkpoint's prefix, `save_path-STEP`.

        Raises:
            FailedPreconditionError: If a variable is not initialized.
            TypeError: If `sess` is no session.
            ValueError: If there is no directory to write in.
        """
        if not isinstance(sess, Session):
            raise TypeError(f"'sess' must be a Session; {sess}")
        if not self._variables:
            return None
        prefix = os.fspath(save_path) + self._suffix(sess, global_step)
        directory = os.path.dirname(prefix)
        if directory and not os.path.isdir(directory):
            raise ValueError(
                f"Parent directory of {os.fspath(save_path)} doesn't exist, can't save."
            )
        write_bundle(prefix, sess.run(self._variables))
        if write_state:
            self._rotate(prefix)
            update_checkpoint_state(
                directory,
                prefix,
                self._last_checkpoints,
                latest_filename,
                self._save_relative_paths,
            )
        return prefix

    def restore(self, sess: Session, save_path: str | os.PathLike[str] | None) -> None:
        """Gives the variables the values of a checkpoint; they need no initializer then.

        Args:
            sess: The session that gets the values.
            save_path: The checkpoint's prefix, as `save` or `latest_checkpoint` returns it.

        Raises:
            DataLossError: If a file is damaged.
            InvalidArgumentError: If a value has another shape than its variable.
            NotFoundError: If the checkpoint lacks a variable.
            ValueError: If there is no such checkpoint.
        """
        if not self._variables:
            return
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        prefix = os.fspath(save_path)
        if not checkpoint_exists(prefix):
            raise ValueError(f"The passed save_path is not a valid checkpoint: {prefix}")
        reader = BundleReader(prefix)
        values = {
            name: self._read(reader, prefix, name, variable)
            for name, variable in self._variables.items()
        }
        for name, variable in self._variables.items():
            variable.load(values[name], sess)

    def _suffix(self, sess: Session, global_step: Any) -> str:
        if global_step is None:
            return ""
        is_in_graph = hasattr(global_step, "graph")
        step = int(sess.run(global_step)) if is_in_graph else int(global_step)
        return f"-{step:08d}" if self._pad_step_number else f"-{step}"

    def _rotate(self, prefix: str) -> None:
        """Notes a new checkpoint and deletes those that are too old."""
        if prefix in self._last_checkpoints:
            self._last_checkpoints.remove(prefix)
        self._last_checkpoints.append(prefix)
        if not self._max_to_keep:
            return
        while len(self._last_checkpoints) > self._max_to_keep:
            _delete_checkpoint(self._last_checkpoints.pop(0))

    def _read(self, reader: BundleReader, prefix: str, name: str, variable: Variable) -> Any:
        if name not in reader:
            raise errors.NotFoundError(
                None,
                variable.op,
                f"Key {name} not found in checkpoint {prefix}. It has: {', '.join(reader.keys())}",
            )
        value = reader.read(name)
        wanted = variable.shape
        if self._reshape and wanted.num_elements() == value.size:
            value = value.reshape([size or 0 for size in wanted.as_list()])
        if not wanted.is_compatible_with(value.shape):
            lhs, rhs = (
                f"[{','.join(str(size) for size in sizes)}]"
                for sizes in (wanted.as_list(), value.shape)
            )
            raise errors.InvalidArgumentError(
                None,
                variable.op,
                "Assign requires shapes of both tensors to match. "
                f"lhs shape= {lhs} rhs shape= {rhs} ({name} in {prefix})",
            )
        return value


def checkpoint_exists(checkpoint_prefix: str | os.PathLike[str]) -> bool:
    """Whether there is a checkpoint of a prefix."""
    return os.path.exists(f"{os.fspath(checkpoint_prefix)}.index")


def latest_checkpoint(
    checkpoint_dir: str | os.PathLike[str], latest_filename: str | None = None
) -> str | None:
    """Returns the prefix of the newest checkpoint in a directory, or None if there is none."""
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state is None or not state.model_checkpoint_path:
        return None
    path = str(state.model_checkpoint_path)
    return path if checkpoint_exists(path) else None


def get_checkpoint_state(
    checkpoint_dir: str | os.PathLike[str], latest_filename: str | None = None
) -> CheckpointState | None:
    """Returns the list of checkpoints in a directory, or None if there is none.

    Raises:
        DataLossError: If the list cannot be read.
    """
    directory = os.fspath(checkpoint_dir)
    path = Path(directory, latest_filename or "checkpoint")
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    state = CheckpointState()
    try:
        text_format.Parse(text, state)
    except text_format.ParseError as error:
        raise errors.DataLossError(
            None, None, f"{path}: the list of checkpoints cannot be read: {error}. Delete it."
        ) from None
    state.model_checkpoint_path = _from(directory, state.model_checkpoint_path)
    kept = [_from(directory, item) for item in state.all_model_checkpoint_paths]
    del state.all_model_checkpoint_paths[:]
    state.all_model_checkpoint_paths.extend(kept)
    return state


def update_checkpoint_state(
    save_dir: str | os.PathLike[str],
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    latest_filename: str | None = None,
    save_relative_paths: bool = False,
) -> None:
    """Writes the list of checkpoints of a directory.

    Args:
        save_dir: The directory.
        model_checkpoint_path: The newest one.
        all_model_checkpoint_paths: All that are kept, oldest first.
        latest_filename: Name of the file; None for "checkpoint".
        save_relative_paths: Whether paths are relative to `save_dir` even if that is absolute.
    """
    directory = os.fspath(save_dir)
    paths = list(all_model_checkpoint_paths or [])
    if not paths or paths[-1] != model_checkpoint_path:
        paths.append(model_checkpoint_path)
    is_relative = save_relative_paths or not os.path.isabs(directory)

    def written(path: str) -> str:
        return os.path.relpath(path, directory or ".") if is_relative else path

    state = CheckpointState(
        model_checkpoint_path=written(model_checkpoint_path),
        all_model_checkpoint_paths=[written(path) for path in paths],
    )
    path = Path(directory, latest_filename or "checkpoint")
    beside = path.with_name(f"{path.name}.tmp-{os.getpid()}")
    try:
        beside.write_text(text_format.MessageToString(state), encoding="utf-8")
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _from(directory: str, path: str) -> str:
    return path if not path or os.path.isabs(path) else os.path.join(directory, path)


def _delete_checkpoint(prefix: str) -> None:
    for path in [f"{prefix}.index", f"{prefix}.meta", *_data_files(prefix)]:
        with suppress(FileNotFoundError):
            os.remove(path)


def _data_files(prefix: str) -> list[str]:
    pattern = re.compile(r"\.data-\d{5}-of-\d{5}$")
    return [path for path in glob.glob(f"{glob.escape(prefix)}.data-*") if pattern.search(path)]


def _by_name(var_list: Sequence[Any] | Mapping[str, Any] | None) -> dict[str, Any]:
    """The variables by their names in a checkpoint."""
    if var_list is None:
        var_list = [*global_variables(), *get_collection(GraphKeys.SAVEABLE_OBJECTS)]
    if isinstance(var_list, Mapping):
        named = list(var_list.items())
    else:
        _check_variables(var_list)
        named = [(variable.op.name, variable) for variable in var_list]
    _check_variables([variable for _, variable in named])
    result: dict[str, Any] = {}
    for name, variable in named:
        if result.setdefault(name, variable) is not variable:
            raise ValueError(f"At least two variables have the same name: {name}")
    return result


def _check_variables(variables: Sequence[Any]) -> None:
    for variable in variables:
        if not isinstance(variable, Variable):
            raise TypeError(f"Variable to save is not a Variable: {variable}")
