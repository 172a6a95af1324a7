"""`adapter`: passes a pipeline to Keras 3 as training data."""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, Final

import numpy as np

from headrace.core.optional_dependencies import missing_keras
from headrace.pipeline import Pipeline
from headrace.pipeline.run.batches import Batches
from headrace.pipeline.stages.components import batch_depth, steps
from headrace.pipeline.stages.schedule import fixed_size
from headrace.pipeline.stages.stage import Effect
from headrace.pipeline.values.types import Spec

__all__ = ["PipelineAdapter", "adapter", "keras_module"]


def adapter(
    pipe: Pipeline,
    x: str | Sequence[str] = ("image",),
    y: str | Sequence[str] = ("label",),
    sample_weight: str | None = None,
) -> Any:
    """Returns a pipeline as training data for `fit`, `evaluate` and `predict` of Keras 3.

    Each epoch of `fit` is the next epoch of the pipeline, so shuffles change. Keras may look at the
    first batch before it trains, but training still begins with epoch 0. If the pipeline knows its
    length, Keras shows it.

    Args:
        pipe: The pipeline, with `batch` and without `epochs`.
        x: The components that the model receives. One name passes the array itself, several names
            pass a tuple.
        y: The components of the targets, in the same way. Without names, batches have no targets.
        sample_weight: The component with a weight for each example.

    Returns:
        A Keras `DataAdapter`. Its `epoch` is the number of the next epoch. Set it if you continue
        training with `fit(initial_epoch=...)`, or use `BackupAndRestore` to resume at any batch.
        Its `pipeline` is `pipe`. You can also iterate over the adapter: the batches are `(x, y)`,
        and each complete iteration is the next epoch.

    Raises:
        ModuleNotFoundError: If Keras is not installed.
        TypeError: If `pipe` is not a pipeline.
        ValueError: If it has no `batch`, or has `epochs`, or lacks a component.

    Examples:
        >>> import keras
        >>> images = np.ones((4, 2), np.float32)
        >>> pipe = hr.arrays({"image": images, "label": [[0.0], [1.0], [0.0], [1.0]]}).batch(2)
        >>> data = hr.keras.adapter(pipe)
        >>> model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        >>> model.compile("sgd", "mse")
        >>> history = model.fit(data, epochs=3, verbose=0)
        >>> data.epoch
        3
    """
    keras_module("adapter")
    if not isinstance(pipe, Pipeline):
        raise TypeError(f"keras.adapter: pipe is a {type(pipe).__name__}, expected a pipeline.")
    if batch_depth(pipe._stages) == 0:
        raise ValueError("keras.adapter: the pipeline has no batches. Call batch(size) at its end.")
    if any(step.effect is Effect.REPEATS for step in steps(pipe._stages)):
        raise ValueError(
            "keras.adapter: the pipeline has epochs(...), but Keras starts the epochs. Remove it."
        )
    return adapter_of(pipe, x, y, sample_weight)


def adapter_of(
    pipe: Pipeline,
    x: str | Sequence[str],
    y: str | Sequence[str],
    sample_weight: str | None = None,
) -> "PipelineAdapter":
    """Returns the adapter of a pipeline. The pipeline may yield examples instead of batches."""
    names = _Names(_listed(x), _listed(y), sample_weight)
    names.check(pipe.spec)
    module = import_module("keras.src.trainers.data_adapters.data_adapter")
    kind = type("PipelineAdapter", (PipelineAdapter, module.DataAdapter), {})
    data: PipelineAdapter = kind(pipe, names)
    return data


def keras_module(where: str) -> Any:
    """Returns the module `keras`.

    Args:
        where: The name in `headrace.keras` that the user called, for the message.

    Raises:
        ModuleNotFoundError: If Keras is not installed.
    """
    if missing := missing_keras():
        raise ModuleNotFoundError(f"keras.{where}: {missing}")
    return import_module("keras")


def _listed(names: str | Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


class _Names:
    """The components that Keras receives."""

    def __init__(self, x: tuple[str, ...], y: tuple[str, ...], sample_weight: str | None) -> None:
        self.x, self.y, self.sample_weight = x, y, sample_weight

    def check(self, specs: Mapping[str, Spec]) -> None:
        """Raises ValueError if a component is missing."""
        if not self.x:
            raise ValueError("keras.adapter: x has no names, expected at least one component.")
        weights = () if self.sample_weight is None else (self.sample_weight,)
        for name in (*self.x, *self.y, *weights):
            if name not in specs:
                raise ValueError(
                    f"keras.adapter: the pipeline has no component {name!r}, only "
                    f"{', '.join(map(repr, specs))}. Pass the names with x= and y=."
                )

    def of(self, values: Mapping[str, Any]) -> tuple[Any, ...]:
        """Returns the values as Keras expects them: x; x and y; or x, y and weights."""
        results = [self._one(self.x, values)]
        if self.y or self.sample_weight is not None:
            results.append(self._one(self.y, values) if self.y else None)
        if self.sample_weight is not None:
            results.append(values[self.sample_weight])
        return tuple(results)

    @staticmethod
    def _one(names: tuple[str, ...], values: Mapping[str, Any]) -> Any:
        return values[names[0]] if len(names) == 1 else tuple(values[name] for name in names)


class PipelineAdapter:
    """The adapter, which becomes a `DataAdapter` when Keras is loaded.

    Attributes:
        pipeline: The pipeline.
        class_names: The names of the classes, if the adapter reads a directory and has labels.
        file_paths: The paths of the files in their order before shuffling, if the adapter reads a
            directory.
        num_before: How many batches of the next epoch an earlier run has already trained on.
    """

    def __init__(self, pipe: Pipeline, names: _Names) -> None:
        self.pipeline: Final = pipe
        self.class_names: list[str] | None = None
        self.file_paths: list[str] | None = None
        self.num_before = 0
        self._epoch = 0
        self._resumed: Mapping[str, Any] | None = None
        self._names: Final = names
        try:
            self._length: int | None = pipe._epoch_length()
        except TypeError:
            self._length = None
        # The current Keras iteration, and the number of batches that Keras has taken from it in
        # this epoch.
        self._batches: Batches | None = None
        self._num_taken = 0
        # True if Keras has reset its iteration since it took the last batch.
        self._is_reset = False
        # The states after the batches that Keras has taken, by their number; None unless the states
        # are kept. Keras may take batches before it trains on the previous ones.
        self._states: dict[int, Mapping[str, Any]] | None = None

    @property
    def epoch(self) -> int:
        """The number of the next epoch, or of the current one until its last batch."""
        return self._epoch

    @epoch.setter
    def epoch(self, number: int) -> None:
        self._epoch, self._resumed, self.num_before = number, None, 0

    def keep_states(self) -> None:
        """Keeps the states after the batches that Keras takes from now on."""
        self._states = {}

    def state_after(self, num_batches: int) -> Mapping[str, Any]:
        """Returns the state after some batches of this epoch, and drops the earlier states."""
        assert self._states is not None
        self._states = {num: state for num, state in self._states.items() if num >= num_batches}
        return self._states[num_batches]

    def resume(self, epoch: int, num_batches: int, state: Mapping[str, Any] | None) -> bool:
        """Continues an epoch after some of its batches.

        Args:
            epoch: The epoch number.
            num_batches: The number of batches of this epoch that the model has been trained on.
            state: The state after these batches, or None if there are none.

        Returns:
            Whether the epoch has more batches. If not, the next epoch is set.
        """
        self.epoch = epoch
        if state is None:
            return True
        with self.pipeline.resume(state) as batches:
            has_more = self._length is not None or next(batches, None) is not None
        if has_more:
            self._resumed, self.num_before = state, num_batches
        else:
            self.epoch = epoch + 1
        return has_more

    def first_batch(self) -> tuple[Any, ...]:
        """Returns the first batch of the epoch, as Keras expects it."""
        with self.pipeline.epoch(self.epoch) as batches:
            return self._names.of(next(batches))

    def __iter__(self) -> Iterator[Any]:
        """Yields the batches of the next epoch, with targets if there are any."""
        epoch = self.epoch
        with self.pipeline.epoch(epoch) as batches:
            for batch in batches:
                values = self._names.of(batch)
                yield values[0] if len(values) == 1 else values
        self.epoch = epoch + 1

    def __len__(self) -> int:
        if self._length is None:
            raise TypeError("keras.adapter: the number of batches is not known.")
        return self._length

    def _begin(self) -> Iterator[tuple[Any, ...]]:
        """Returns the batches of the next epoch."""
        # If Keras knows the length, it requests the next iterator right after the last batch of an
        # epoch. If it has only looked at the first batch, it resets the iteration before that.
        if self._length == self._num_taken > 0 and not self._is_reset:
            self._end_epoch()
        return self._iterate()

    def _iterate(self) -> Iterator[tuple[Any, ...]]:
        """Yields the batches of an epoch. Nothing starts before the first one is requested."""
        if self._batches is not None:
            self._batches.close()
        state, pipe = self._resumed, self.pipeline
        batches = pipe.epoch(self.epoch) if state is None else pipe.resume(state)
        self._batches, self._num_taken = batches, self.num_before
        if self._states is not None:
            self._states = {}
        with batches:
            for batch in batches:
                self._num_taken += 1
                self._is_reset = False
                if self._states is not None:
                    self._states[self._num_taken] = batches.state()
                yield self._names.of(batch)
        if self._num_taken != self.num_batches and batches is self._batches:
            self._end_epoch()

    def _end_epoch(self) -> None:
        self.epoch += 1
        self._batches, self._num_taken = None, 0

    def on_epoch_begin(self) -> None:
        """Called by Keras before each epoch."""
        # Keras assumes that each epoch is as long as the first one, and has no method to change it.
        frame = inspect.currentframe()
        caller: Any = frame.f_back.f_locals.get("self") if frame and frame.f_back else None
        if hasattr(caller, "_num_batches"):
            length = self.num_batches
            caller._num_batches = None if length is None else length - self.num_before

    def on_epoch_end(self) -> None:
        """Called by Keras after each epoch, and after it has looked at the first batch."""
        self._is_reset = True
        if self._is_lazy and self.num_batches == self._num_taken > 0:
            self._end_epoch()

    def get_numpy_iterator(self) -> Iterator[tuple[Any, ...]]:
        """Returns the batches of the next epoch as NumPy arrays."""
        return self._begin()

    def get_jax_iterator(self) -> Iterator[tuple[Any, ...]]:
        """Returns the batches of the next epoch as NumPy arrays. JAX accepts them."""
        return self._begin()

    def get_torch_dataloader(self) -> Any:
        """Returns the batches of the next epoch as tensors, in a `DataLoader`."""
        data: Any = import_module("torch.utils.data")
        begin = self._begin

        class Data(data.IterableDataset):  # type: ignore[misc]
            """One epoch's batches."""

            def __iter__(self) -> Iterator[tuple[Any, ...]]:
                return begin()

        # Use a separate generator. Otherwise, it would draw from the one that layers use.
        generator = import_module("torch").Generator()
        return data.DataLoader(Data(), batch_size=None, generator=generator)

    def get_tf_dataset(self) -> Any:
        """Returns the batches of the next epoch as a `tf.data.Dataset`."""
        tf: Any = import_module("tensorflow")
        specs = {
            name: tf.TensorSpec(shape=spec.shape, dtype=np.dtype(spec.dtype).name)
            for name, spec in self.pipeline.spec.items()
            if name in (*self._names.x, *self._names.y, self._names.sample_weight)
        }
        return tf.data.Dataset.from_generator(self._begin, output_signature=self._names.of(specs))

    @property
    def num_batches(self) -> int | None:
        """The number of batches in an epoch, or None if it is not known."""
        # With a single batch, looking at the first batch would be mistaken for a whole epoch.
        return None if self._is_lazy and self._length == 1 else self._length

    @property
    def _is_lazy(self) -> bool:
        """Whether Keras starts the next epoch only when it needs its first batch."""
        keras = import_module("keras")
        is_distributed = keras.distribution.distribution() is not None
        return is_distributed or bool(keras.backend.backend() == "tensorflow")

    @property
    def batch_size(self) -> int | None:
        """The batch size, or None if the pipeline does not set it or changes it."""
        sizes = [size for stage in self.pipeline._stages if (size := getattr(stage, "size", None))]
        return fixed_size(sizes[-1]) if sizes else None

    @property
    def has_partial_batch(self) -> bool | None:
        """None, because the last batch may be smaller."""
        return None

    @property
    def partial_batch_size(self) -> int | None:
        """None, because the size of the last batch is not known."""
        return None
