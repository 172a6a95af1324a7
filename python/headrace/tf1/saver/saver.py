"""Saves variables and mutable tables to checkpoints and restores them.

Local variables, the contents of queues and the positions of readers are not saved.

Source: `tf.train.Saver` in TensorFlow 1.15. The files have TensorFlow's V2 format.
"""

import numbers
import os
import sys
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from headrace.core.repr_prefix import without_passwords
from headrace.graph import SupportsTensor, Tensor
from headrace.io.storage import is_directory, is_remote
from headrace.tf1.ops.variables.variable import Variable
from headrace.tf1.protos import MetaGraphDef, SaverDef
from headrace.tf1.saver.meta_graph import export_meta_graph
from headrace.tf1.saver.saveables import CheckedReader, Saveable, by_name, fetches
from headrace.tf1.saver.state import (
    checkpoint_exists,
    get_checkpoint_mtimes,
    remove_checkpoint,
    update_checkpoint_state,
)
from headrace.tf1.session import Session
from headrace.tf1.tensor_bundle import BundleReader, write_bundle

__all__ = ["Saver"]

# Larger constants are omitted from `.meta`, because every checkpoint would repeat them.
_MOST_CONSTANT_BYTES = 1 << 16
_SECONDS_PER_HOUR: Final = 3600

# The number of a training step: an integer, or a scalar that a session computes.
_StepLike: TypeAlias = int | np.integer[Any] | Tensor | SupportsTensor | str


class Saver:
    """Saves variables to checkpoints and restores them. Adds nothing to the graph.

    Args:
        var_list: The variables and `MutableHashTable`s: a list, tuple or set, or a dict by name in
            the checkpoint. Defaults to all global variables that exist now and all tables, except
            tables created with `checkpoint=False`.
        reshape: Whether `restore` accepts values of a different shape with the same number of
            elements.
        sharded: Accepted for compatibility, but not used, because a checkpoint has one data file.
        max_to_keep: The number of newest checkpoints to keep. If None or 0, all are kept but not
            listed.
        keep_checkpoint_every_n_hours: The interval, in hours, at which additional checkpoints are
            kept.
        name: Accepted for compatibility, but not used.
        restore_sequentially: Accepted for compatibility, but not used.
        saver_def: The result of `as_saver_def`. Its `sharded`, `max_to_keep` and
            `keep_checkpoint_every_n_hours` replace the arguments. Operations in it are ignored,
            because a saver in headrace has none and saves `var_list`.
        builder: Accepted for compatibility, but not used.
        defer_build: Whether to look up the variables in `build` instead of now.
        allow_empty: Whether to allow a saver without variables. `save` and `restore` then do
            nothing.
        write_version: Accepted for compatibility, but not used, because checkpoints always have the
            V2 format.
        pad_step_number: Whether the step in a file name is padded to 8 digits.
        save_relative_paths: Whether the list of checkpoints contains paths relative to its
            directory, so that you can move the directory.
        filename: Accepted for compatibility, but not used.

    Raises:
        TypeError: If `var_list` contains something else, or `saver_def` is not a `SaverDef`.
        ValueError: If there is nothing to save, or two variables have the same name.
    """

    def __init__(
        self,
        var_list: Collection[Saveable] | Mapping[str, Saveable] | None = None,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        saver_def: SaverDef | None = None,
        builder: object = None,
        defer_build: bool = False,
        allow_empty: bool = False,
        write_version: int = 2,
        pad_step_number: bool = False,
        save_relative_paths: bool = False,
        filename: str | None = None,
    ) -> None:
        if saver_def is not None:
            if not isinstance(saver_def, SaverDef):
                raise TypeError(f"saver_def must be a train.SaverDef: {saver_def!r}")
            sharded, max_to_keep = saver_def.sharded, saver_def.max_to_keep
            keep_checkpoint_every_n_hours = saver_def.keep_checkpoint_every_n_hours
        self._var_list = var_list
        self._reshape = reshape
        self._is_sharded = bool(sharded)
        self._max_to_keep = max_to_keep
        self._seconds_between_kept = min(keep_checkpoint_every_n_hours, sys.maxsize) * (
            _SECONDS_PER_HOUR
        )
        self._next_kept_time = time.time() + self._seconds_between_kept
        self._is_allowed_empty = allow_empty
        self._pad_step_number = pad_step_number
        self._save_relative_paths = save_relative_paths
        # The checkpoints, oldest first, each with the time at which it was written.
        self._last_checkpoints: list[tuple[str, float]] = []
        # Held from writing a checkpoint until it is listed and old checkpoints are deleted.
        self._saving = threading.Lock()
        self._saveables: dict[str, Saveable] | None = None
        if not defer_build:
            self.build()

    def build(self) -> None:
        """Looks up the variables of a saver created with `defer_build`. A second call does nothing.

        Raises:
            TypeError: See the constructor.
            ValueError: See the constructor.
        """
        if self._saveables is not None:
            return
        saveables = by_name(self._var_list)
        if not saveables and not self._is_allowed_empty:
            raise ValueError("No variables to save")
        self._saveables = saveables

    @property
    def last_checkpoints(self) -> list[str]:
        """The checkpoints that are kept, from oldest to newest."""
        return [path for path, _ in self._last_checkpoints]

    def set_last_checkpoints(self, last_checkpoints: Sequence[str]) -> None:
        """Replaces the list of checkpoints that are kept, as if they were written now."""
        self.set_last_checkpoints_with_time([(path, float("inf")) for path in last_checkpoints])

    def set_last_checkpoints_with_time(
        self, last_checkpoints_with_time: Sequence[tuple[str, float]]
    ) -> None:
        """Replaces the list of checkpoints that are kept, from oldest to newest.

        Args:
            last_checkpoints_with_time: The prefix and the time of each checkpoint, in seconds since
                1970.
        """
        self._last_checkpoints = [
            (os.fsdecode(path), when) for path, when in last_checkpoints_with_time
        ]

    def recover_last_checkpoints(self, checkpoint_paths: Sequence[str]) -> None:
        """Adopts existing checkpoints, so that they are deleted when newer ones are written."""
        self.set_last_checkpoints_with_time(
            [(path, when) for path in checkpoint_paths for when in get_checkpoint_mtimes([path])]
        )

    def save(
        self,
        sess: Session,
        save_path: str | os.PathLike[str],
        global_step: _StepLike | None = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> str | None:
        """Writes the values of the variables to a new checkpoint and deletes the oldest one.

        You can call it from several threads; only one of them saves at a time. Each file is written
        completely or not at all. Savers that write to the same directory need different prefixes.
        The list of checkpoints is from whichever saver wrote last.

        Args:
            sess: The session with the values.
            save_path: The prefix of the file paths.
            global_step: A number, or a variable or tensor that contains a number, which is appended
                to the name.
            latest_filename: The name of the file that lists the checkpoints. Defaults to
                "checkpoint".
            meta_graph_suffix: The suffix of the graph file's name.
            write_meta_graph: Whether to write the graph as well; see `export_meta_graph`.
            write_state: Whether to list the checkpoint and count it towards `max_to_keep`.
            strip_default_attrs: Accepted for compatibility, but not used.
            save_debug_info: Accepted for compatibility, but not used.

        Returns:
            The prefix of the checkpoint, `save_path-STEP`, or None if there are no variables.

        Raises:
            FailedPreconditionError: If a variable is not initialized.
            ResourceExhaustedError: If the disk is full. Older checkpoints are kept.
            RuntimeError: If the build was deferred and `build` was not called.
            TypeError: If `sess` is not a session.
            ValueError: If the directory does not exist, or a name is invalid.
        """
        saveables = self._built("save")
        latest_filename = latest_filename or "checkpoint"
        if os.path.dirname(latest_filename):
            raise ValueError("'latest_filename' must not contain path components")
        path = os.fsdecode(save_path)
        if path in ("", "./"):
            raise ValueError(
                f"save_path is {path!r}, expected a prefix for the names of the checkpoint's "
                "files, such as 'model.ckpt'."
            )
        if global_step is None and os.path.basename(path) == latest_filename:
            raise ValueError(
                f"'latest_filename' collides with 'save_path': '{latest_filename}' and '{path}'"
            )
        _check_session(sess)
        directory = os.path.dirname(path)
        if directory and not is_remote(path) and not is_directory(directory):
            raise ValueError(f"Parent directory of {path} doesn't exist, can't save.")
        prefix = path + self._suffix(sess, global_step)
        with self._saving:
            if saveables:
                # Only wait for the disk if this is the only checkpoint. Older ones have reached it.
                is_only_one = write_state and self._max_to_keep == 1
                write_bundle(prefix, sess.run(fetches(saveables)), survives_power_loss=is_only_one)
                if write_state:
                    self._list(prefix, directory, latest_filename, meta_graph_suffix)
            if write_meta_graph:
                export_meta_graph(
                    f"{prefix}.{meta_graph_suffix}",
                    graph=sess.graph,
                    most_constant_bytes=_MOST_CONSTANT_BYTES,
                )
        return prefix if saveables else None

    def restore(self, sess: Session, save_path: str | os.PathLike[str] | None) -> None:
        """Sets the variables to the values in a checkpoint, without initializing them first.

        If there is anything wrong with the checkpoint, no variable changes.

        Args:
            sess: The session to restore into.
            save_path: The prefix of the checkpoint, as returned by `save` or `latest_checkpoint`.

        Raises:
            DataLossError: If a file is damaged.
            InvalidArgumentError: If the shape or type of a value does not match its variable.
            NotFoundError: If a variable is missing from the checkpoint.
            RuntimeError: If the build was deferred and `build` was not called.
            TypeError: If `sess` is not a session.
            ValueError: If the checkpoint does not exist.
        """
        saveables = self._built("restore")
        if not saveables:
            return
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        prefix = os.fsdecode(save_path)
        if not checkpoint_exists(prefix):
            shown = without_passwords(prefix)
            raise ValueError(f"The passed save_path is not a valid checkpoint: {shown}")
        _check_session(sess)
        reader = CheckedReader(BundleReader(prefix), prefix, self._reshape)
        values = [(one, reader.read(name, one)) for name, one in saveables.items()]
        for one, arrays in values:
            if isinstance(one, Variable):
                sess.assign_variable(one.op, *arrays)
            else:
                sess.fill_table(one.op, *arrays)

    def as_saver_def(self) -> SaverDef:
        """Describes the saver as a `SaverDef` without operation names."""
        return SaverDef(
            max_to_keep=self._max_to_keep or 0,
            sharded=self._is_sharded,
            keep_checkpoint_every_n_hours=self._seconds_between_kept / _SECONDS_PER_HOUR,
            version=SaverDef.V2,
        )

    @staticmethod
    def from_proto(saver_def: SaverDef, import_scope: str | None = None) -> "Saver":
        """Creates a saver for all existing variables and tables, with the options of another saver.

        Args:
            saver_def: The result of `as_saver_def`.
            import_scope: Must be None or "".

        Raises:
            ValueError: If `import_scope` is given. Savers have no operations, so there is no scope.
        """
        if import_scope:
            raise ValueError(
                f"tf.train.Saver.from_proto: import_scope is {import_scope!r}, expected None. "
                "Create tf.train.Saver(var_list=..., saver_def=...) with the variables of "
                "the scope instead."
            )
        return Saver(saver_def=saver_def)

    def to_proto(self, export_scope: str | None = None) -> SaverDef | None:
        """Describes the saver, in the same way as `as_saver_def`.

        Args:
            export_scope: The scope to export. A saver is not in any scope.

        Returns: The description, or None if a scope is given.
        """
        return None if export_scope else self.as_saver_def()

    def export_meta_graph(
        self,
        filename: str | None = None,
        collection_list: Collection[str] | None = None,
        as_text: bool = False,
        clear_devices: bool = False,
    ) -> MetaGraphDef:
        """Describes the default graph; see `tf.train.export_meta_graph`."""
        return export_meta_graph(
            filename,
            collection_list=collection_list,
            as_text=as_text,
            clear_devices=clear_devices,
        )

    def _built(self, where: str) -> dict[str, Saveable]:
        if self._saveables is None:
            raise RuntimeError(f"`build()` should be called before {where} if defer_build==True")
        return self._saveables

    def _suffix(self, sess: Session, global_step: _StepLike | None) -> str:
        if global_step is None:
            return ""
        if isinstance(global_step, (int, np.integer, numbers.Integral)):
            step = int(global_step)
        else:
            step = int(sess.run(global_step))
        return f"-{step:08d}" if self._pad_step_number else f"-{step}"

    def _list(self, prefix: str, directory: str, latest_filename: str, suffix: str) -> None:
        """Lists a new checkpoint, then deletes outdated checkpoints."""
        too_old: list[tuple[str, float]] = []
        if self._max_to_keep:
            others = [item for item in self._last_checkpoints if item[0] != prefix]
            kept = [*others, (prefix, time.time())]
            too_old, self._last_checkpoints = (
                kept[: -self._max_to_keep],
                kept[-self._max_to_keep :],
            )
        update_checkpoint_state(
            directory, prefix, self.last_checkpoints, latest_filename, self._save_relative_paths
        )
        for path, when in too_old:
            if when > self._next_kept_time:
                self._next_kept_time += self._seconds_between_kept
            else:
                remove_checkpoint(path, meta_graph_suffix=suffix)


def _check_session(sess: object) -> None:
    if not isinstance(sess, Session):
        raise TypeError(f"'sess' must be a Session; {sess}")
