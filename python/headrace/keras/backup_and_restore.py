"""`BackupAndRestore`: a Keras callback that resumes training at any batch."""

import json
import os
from collections.abc import Iterable, Mapping
from importlib import import_module
from types import SimpleNamespace
from typing import Any, Final
from zipfile import BadZipFile, ZipFile

import numpy as np
import numpy.typing as npt

from headrace.core.errors import DataLossError
from headrace.io import storage
from headrace.io.atomic_file import replacing
from headrace.keras.adapter import PipelineAdapter, keras_module

__all__ = ["BackupAndRestore"]

_WHERE: Final = "keras.BackupAndRestore"
_FILE: Final = "training.zip"
_METADATA: Final = "metadata.json"
# The kinds of values in a backup. Metrics are restored after `fit` has reset them.
_MODEL: Final = "model"
_METRICS: Final = "metrics"
_RANDOM: Final = "random"


class BackupAndRestore:
    """Backs up Keras training, and resumes it at the next batch.

    It is a callback like `keras.callbacks.BackupAndRestore`, but it also stores the position in the
    data. If training is interrupted in the middle of an epoch, `fit` continues with the next batch
    of that epoch, and all losses are the same as in uninterrupted training. A backup is one file,
    which is replaced as a whole, so you can kill the process at any time.

    The weights, the optimizer, the metrics and the random seeds of layers are restored. Other
    callbacks that count epochs, such as `EarlyStopping`, start over.

    Args:
        data: The adapter that you pass to `fit`.
        backup_dir: The directory of the backup.
        save_freq: "epoch" saves at the end of each epoch. A number `n` also saves after every `n`
            batches within an epoch.
        delete_checkpoint: Whether to delete the backup at the end of training.

    Raises:
        ModuleNotFoundError: If Keras is not installed.
        TypeError: If `data` is not an adapter.
        ValueError: If `save_freq` or `backup_dir` is wrong. Also raised by `fit`, if the backup
            belongs to a different model or different data, or if `steps_per_epoch` is set.

    Examples:
        >>> import keras
        >>> x = np.ones((6, 2), np.float32)
        >>> data = hr.keras.adapter(hr.arrays({"x": x, "y": x[:, :1]}).batch(2), "x", "y")
        >>> model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        >>> model.compile("sgd", "mse")
        >>> backup = hr.keras.BackupAndRestore(data, "backup", save_freq=2)
        >>> history = model.fit(data, epochs=3, callbacks=[backup], verbose=0)
        >>> history.epoch
        [0, 1, 2]
    """

    # Keras sets these.
    model: Any
    params: Any

    def __new__(cls, *_: object, **__: object) -> "BackupAndRestore":
        """Returns an object that is also a Keras callback."""
        callback = keras_module("BackupAndRestore").callbacks.Callback
        return object.__new__(type(cls.__name__, (cls, callback), {}))

    def __init__(
        self,
        data: PipelineAdapter,
        backup_dir: str | os.PathLike[str],
        save_freq: int | str = "epoch",
        delete_checkpoint: bool = True,
    ) -> None:
        super().__init__()
        if not isinstance(data, PipelineAdapter):
            raise TypeError(
                f"{_WHERE}: data is a {type(data).__name__}, expected the adapter that you pass to "
                "fit."
            )
        if save_freq != "epoch" and not (isinstance(save_freq, int) and save_freq > 0):
            raise ValueError(
                f"{_WHERE}: save_freq is {save_freq!r}, expected 'epoch' or a positive number of "
                "batches."
            )
        if not os.fspath(backup_dir) or storage.is_remote(os.fspath(backup_dir)):
            raise ValueError(
                f"{_WHERE}: backup_dir is {os.fspath(backup_dir)!r}, expected a local directory."
            )
        self._data: Final = data
        self._path: Final = os.path.join(backup_dir, _FILE)
        self._num_between: Final = save_freq if isinstance(save_freq, int) else None
        self._deletes: Final = delete_checkpoint
        # The values of the backup, until `fit` begins the first epoch.
        self._stored: Mapping[str, list[npt.NDArray[Any]]] = {}
        self._epoch = 0
        self._data_epoch = 0
        # The number of batches that the model was trained on before `fit` began, and at the last
        # backup, in this epoch.
        self._num_before = 0
        self._num_saved = 0

    def on_train_begin(self, logs: object = None) -> None:
        """Restores the backup, if there is one."""
        if not self.model.built:
            raise ValueError(
                f"{_WHERE}: the model is not built, so its weights cannot be restored. Call "
                "model.build(...), or begin the model with keras.Input."
            )
        if self.params.get("steps") not in (None, self._data.num_batches):
            raise ValueError(
                f"{_WHERE}: steps_per_epoch is {self.params['steps']}, but an epoch of the data "
                f"has {self._data.num_batches or 'an unknown number of'} batches. Leave out "
                "steps_per_epoch."
            )
        if os.path.exists(self._path):
            self._restore()
        if self._num_between is not None:
            self._data.keep_states()

    def on_epoch_begin(self, epoch: int, logs: object = None) -> None:
        """Restores the metrics after `fit` has reset them."""
        self.model._initial_epoch = None
        if self._stored:
            self._restore_metrics(self._stored[_METRICS])
            _set_torch_generators(self._stored[_RANDOM])
            self._stored = {}
        self._epoch, self._data_epoch = epoch, self._data.epoch
        self._num_before = self._num_saved = self._data.num_before

    def on_train_batch_end(self, batch: int, logs: object = None) -> None:
        """Saves after `save_freq` batches."""
        if self._num_between is None:
            return
        num_batches = self._num_before + batch + 1
        state = self._data.state_after(num_batches)
        # Don't save after the last batch: validation comes first, then `on_epoch_end` saves.
        is_last = num_batches == self._data.num_batches
        if num_batches - self._num_saved >= self._num_between and not is_last:
            self._save(self._epoch, self._data_epoch, num_batches, state)
            self._num_saved = num_batches

    def on_epoch_end(self, epoch: int, logs: object = None) -> None:
        """Saves at the end of each epoch."""
        if self._data.epoch != self._data_epoch:  # A callback may stop it early.
            self._save(epoch + 1, self._data.epoch, 0, None)

    def on_train_end(self, logs: object = None) -> None:
        """Deletes the backup."""
        if self._deletes and os.path.exists(self._path):
            os.remove(self._path)

    def _save(
        self, epoch: int, data_epoch: int, num_batches: int, state: Mapping[str, Any] | None
    ) -> None:
        os.makedirs(os.path.dirname(self._path), exist_ok=True)
        values = {
            _MODEL: list(map(_array, self._variables())),
            _METRICS: list(map(_array, self.model.metrics_variables)) if num_batches else [],
            _RANDOM: _torch_generators(),
        }
        metadata = {
            "epoch": epoch,
            "data_epoch": data_epoch,
            "num_batches": num_batches,
            "state": state,
            "variables": {
                kind: [(array.dtype.name, array.shape) for array in arrays]
                for kind, arrays in values.items()
            },
        }
        with replacing(self._path) as file:
            # A file that is only appended to.
            stream: Any = SimpleNamespace(write=file.write, flush=lambda: None)
            with ZipFile(stream, "w") as archive:
                archive.writestr(_METADATA, json.dumps(metadata))
                for kind, arrays in values.items():
                    with archive.open(kind, "w", force_zip64=True) as member:
                        for array in arrays:
                            member.write(array.tobytes())
            file.sync()

    def _restore(self) -> None:
        try:
            with ZipFile(self._path) as archive:
                metadata = json.loads(archive.read(_METADATA))
                stored = {
                    kind: _arrays(archive.read(kind), metadata["variables"][kind])
                    for kind in (_MODEL, _METRICS, _RANDOM)
                }
        except (BadZipFile, KeyError) as error:
            raise DataLossError(
                None,
                None,
                f"{_WHERE}: {self._path}: the backup is damaged: {error}. Remove it to start from "
                "the beginning.",
            ) from error
        _assign(self._path, self._variables(), stored[_MODEL])
        epoch, data = metadata["epoch"], self._data
        if not data.resume(metadata["data_epoch"], metadata["num_batches"], metadata["state"]):
            epoch += 1
            stored[_METRICS] = []
        self._stored = stored
        self.model._initial_epoch = epoch

    def _restore_metrics(self, values: list[npt.NDArray[Any]]) -> None:
        if len(self.model.metrics_variables) < len(values):
            # With TensorFlow, metrics have no variables until the first batch is processed.
            self.model._symbolic_build(data_batch=self._data.first_batch())
        if values:
            _assign(self._path, self.model.metrics_variables, values)

    def _variables(self) -> list[Any]:
        """Returns the variables of the model and its optimizer."""
        optimizer = self.model.optimizer
        if optimizer is not None and not optimizer.built:
            optimizer.build(self.model.trainable_variables)
        return [*self.model.variables, *([] if optimizer is None else optimizer.variables)]


def _array(variable: Any) -> npt.NDArray[Any]:
    """Returns the value of a variable as a contiguous array."""
    array: npt.NDArray[Any] = import_module("keras").ops.convert_to_numpy(variable.value)
    return np.ascontiguousarray(array).reshape(array.shape)


def _torch_generators() -> list[npt.NDArray[Any]]:
    """Returns the states of PyTorch's generators, which Keras uses if it is the backend."""
    if import_module("keras").backend.backend() != "torch":
        return []
    torch: Any = import_module("torch")
    return [state.numpy() for state in (torch.get_rng_state(), *torch.cuda.get_rng_state_all())]


def _set_torch_generators(states: list[npt.NDArray[Any]]) -> None:
    if states and import_module("keras").backend.backend() == "torch":
        torch: Any = import_module("torch")
        cpu, *of_gpus = (torch.from_numpy(state.copy()) for state in states)
        torch.set_rng_state(cpu)
        for number, state in enumerate(of_gpus[: torch.cuda.device_count()]):
            torch.cuda.set_rng_state(state, number)


def _arrays(data: bytes, kinds: Iterable[tuple[str, list[int]]]) -> list[npt.NDArray[Any]]:
    """Returns the arrays stored one after another in the data."""
    arrays, position = [], 0
    for name, shape in kinds:
        dtype = np.dtype(name)
        end = position + dtype.itemsize * int(np.prod(shape))
        arrays.append(np.frombuffer(data[position:end], dtype).reshape(shape))
        position = end
    return arrays


def _assign(path: str, variables: list[Any], values: list[npt.NDArray[Any]]) -> None:
    """Sets the variables.

    Raises:
        ValueError: If the variables don't match the backup.
    """
    shapes = [tuple(variable.shape) for variable in variables]
    if shapes != [value.shape for value in values]:
        raise ValueError(
            f"{_WHERE}: {path}: the backup is from another model: its variables have the shapes "
            f"{[value.shape for value in values]}, but those of this model have {shapes}. Remove "
            "the backup to start from the beginning."
        )
    for variable, value in zip(variables, values, strict=True):
        variable.assign(value)
