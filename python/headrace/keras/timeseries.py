"""`timeseries_dataset_from_array`: windows of a time series, for Keras."""

from collections.abc import Mapping
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from headrace.graph import Tensor
from headrace.keras.adapter import adapter_of, keras_module
from headrace.keras.class_directory import check_format
from headrace.pipeline.native_functions import native
from headrace.pipeline.source_functions import arrays

__all__ = ["timeseries_dataset_from_array"]

_WHERE: Final = "keras.timeseries_dataset_from_array"
_LARGEST_SEED: Final = 10**6


def timeseries_dataset_from_array(
    data: npt.ArrayLike,
    targets: npt.ArrayLike | None,
    sequence_length: int,
    sequence_stride: int = 1,
    sampling_rate: int = 1,
    batch_size: int | None = 128,
    shuffle: bool = False,
    seed: int | None = None,
    start_index: int | None = None,
    end_index: int | None = None,
    format: Literal["tf"] = "tf",
) -> Any:
    """Yields windows of a time series, like the `keras.utils` function of the same name.

    The windows are views of the array, so they need no memory of their own. With `shuffle`, each
    epoch shuffles all windows, in an order that depends only on the seed.

    Args:
        data: The time series. Its first axis is the time.
        targets: The target of the window that starts at each step, or None.
        sequence_length: The number of steps in a window.
        sequence_stride: The number of steps between the starts of two windows.
        sampling_rate: The number of steps between two steps of a window.
        batch_size: The number of windows in a batch, or None for single windows.
        shuffle: Whether to shuffle the windows.
        seed: The seed of the shuffle. If None, a random seed is drawn. Pass a seed to resume in
            another process.
        start_index: The first step to use.
        end_index: The step before which the last window ends.
        format: Only "tf" is supported. You still get an adapter.

    Returns:
        An adapter for `fit`; see `adapter`. The components are `data` and `targets`. Lists become
        float32 and int32, and arrays keep their type.

    Raises:
        ModuleNotFoundError: If Keras is not installed.
        ValueError: If an argument is wrong. The message names it.

    Examples:
        >>> series = np.arange(6)
        >>> data = hr.keras.timeseries_dataset_from_array(series, None, 3, batch_size=2)
        >>> next(iter(data))
        array([[0, 1, 2],
               [1, 2, 3]])
    """
    keras_module("timeseries_dataset_from_array")
    check_format(_WHERE, format)
    series = _series("data", data)
    for name, number in (
        ("sequence_length", sequence_length),
        ("sequence_stride", sequence_stride),
        ("sampling_rate", sampling_rate),
    ):
        if not 0 < number <= len(series) - (name != "sequence_length"):
            raise ValueError(
                f"{_WHERE}: {name} is {number}, expected a positive number"
                f"{'' if name == 'sequence_length' else ' below the length of the data'}, which "
                f"has {len(series)} steps."
            )
    begin, end = _range(len(series), start_index, end_index)
    # This is Keras' own formula. It ignores start_index for the targets.
    num_starts = end - begin - (sequence_length - 1) * sampling_rate
    columns = {}
    if targets is not None:
        of_starts = _series("targets", targets)
        num_starts = min(num_starts, len(of_starts))
        of_starts = of_starts[begin:end]
        num_windows = len(range(0, num_starts, sequence_stride))
        if num_windows > len(of_starts[::sequence_stride]):
            raise ValueError(
                f"{_WHERE}: targets has {len(of_starts)} steps from start_index={begin} on, but "
                f"there are windows up to step {num_starts - 1}. Pass one target for each step of "
                "data, or an earlier end_index."
            )
        columns["targets"] = of_starts[::sequence_stride][:num_windows]
    if num_starts <= 0:
        raise ValueError(
            f"{_WHERE}: no window of sequence_length={sequence_length} with sampling_rate="
            f"{sampling_rate} fits into the steps from {begin} to {end}. Pass a shorter one."
        )
    span = (sequence_length - 1) * sampling_rate + 1
    views = np.lib.stride_tricks.sliding_window_view(series[begin:end], span, axis=0)
    columns["data"] = np.moveaxis(views[:num_starts:sequence_stride], -1, 1)
    pipe = arrays(columns)
    if shuffle:
        pipe = pipe.shuffle(seed=int(np.random.randint(_LARGEST_SEED)) if seed is None else seed)
    if sampling_rate > 1:

        def every_step(example: Mapping[str, Tensor]) -> dict[str, Tensor]:
            return {**example, "data": example["data"][::sampling_rate]}

        pipe = pipe.map(native(every_step))
    if batch_size is not None:
        pipe = pipe.batch(batch_size)
    return adapter_of(pipe, "data", () if targets is None else "targets")


def _series(name: str, values: npt.ArrayLike) -> npt.NDArray[Any]:
    """Converts an array to the type that TensorFlow would use, with contiguous steps."""
    array = np.asarray(values)
    if array.ndim == 0:
        raise ValueError(f"{_WHERE}: {name} is {values!r}, expected an array with a time axis.")
    if isinstance(values, (list, tuple)):
        smaller = {"float64": np.float32, "int64": np.int32}.get(array.dtype.name, array.dtype)
        array = array.astype(smaller)
    return np.ascontiguousarray(array)


def _range(length: int, start_index: int | None, end_index: int | None) -> tuple[int, int]:
    """Returns the first step, and the step after the last one."""
    if start_index and not 0 < start_index < length:
        raise ValueError(
            f"{_WHERE}: start_index is {start_index}, expected 0 or more, below the length of the "
            f"data, which has {length} steps."
        )
    begin = start_index or 0
    if end_index and not begin < end_index < length:
        raise ValueError(
            f"{_WHERE}: end_index is {end_index}, expected more than start_index={begin} and less "
            f"than the length of the data, which has {length} steps."
        )
    return begin, length if end_index is None else end_index
