"""Batches as Arrow record batches."""

import math
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from headrace.core.optional_dependencies import missing_arrow
from headrace.pipeline.run.batches import Batches
from headrace.pipeline.stages.batch import joined_names
from headrace.pipeline.values.json_values import json_text
from headrace.pipeline.values.types import Json, Spec, Specs, is_carried, is_time

__all__ = ["check_arrow", "record_batches"]


def check_arrow() -> None:
    """Raises ModuleNotFoundError if pyarrow is not installed."""
    missing = missing_arrow()
    if missing is not None:
        raise ModuleNotFoundError(f"to_arrow: {missing}")


def record_batches(batches: Batches, specs: Specs, are_batches: bool) -> Any:
    """Returns a `pyarrow.RecordBatchReader` over an iteration, which it closes at the end.

    Args:
        batches: The iteration.
        specs: The components of the items.
        are_batches: Whether an item is a batch rather than an example.

    Raises:
        TypeError: If the number of axes of a component is unknown, or Arrow doesn't support its
            type.
    """
    pa = import_module("pyarrow")
    joined = joined_names(specs) if are_batches else []
    rows = {}
    for name, spec in specs.items():
        stem = name.rpartition(".")[0]
        if stem in joined:
            rows[stem] = specs[f"{stem}.values"]
        else:
            rows[name] = spec.row() if are_batches else spec
    fields = [pa.field(name, _type(name, spec), nullable=False) for name, spec in rows.items()]
    schema = pa.schema(fields)

    def each() -> Iterator[Any]:
        with batches:
            while (columns := batches.next_columns()) is not None:
                arrays = [_column(name, spec, columns[1]) for name, spec in rows.items()]
                yield pa.record_batch(arrays, schema)

    return pa.RecordBatchReader.from_batches(schema, each())


def _column(name: str, spec: Spec, columns: Mapping[str, Any]) -> Any:
    """Converts a component to an Arrow array. It may consist of values and offsets."""
    if name in columns:
        return _array(spec, columns[name])
    values, offsets = _array(spec.row(), columns[f"{name}.values"]), columns[f"{name}.offsets"]
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != len(values):
        raise TypeError(
            f"to_arrow: '{name}.offsets' does not match the {len(values)} rows of "
            f"'{name}.values'. Rename or drop one of them."
        )
    pa = import_module("pyarrow")
    lists = pa.LargeListArray.from_arrays(pa.array(offsets), values)
    lists.validate(full=True)
    return lists


def _element_type(spec: Spec) -> Any:
    pa = import_module("pyarrow")
    if spec.dtype in (str, Json):
        return pa.large_string()
    if spec.dtype is bytes:
        return pa.large_binary()
    if spec.dtype == np.dtype("datetime64[D]"):
        return pa.date32()
    return pa.from_numpy_dtype(spec.dtype)


def _type(name: str, spec: Spec) -> Any:
    """Returns the Arrow type of a component, with a list per axis, of a fixed size if known."""
    if spec.shape is None:
        raise TypeError(
            f"to_arrow: the component {name!r} has an unknown number of axes, which Arrow does "
            "not support. Reshape it in map, or drop it with select."
        )
    if is_carried(spec.dtype) and not is_time(spec.dtype):
        raise TypeError(
            f"to_arrow: the component {name!r} is {spec}, which Arrow does not support. Convert "
            "it in map, for example value.astype(np.float32), or drop it with select."
        )
    if spec.dtype == np.dtype("timedelta64[D]"):
        raise TypeError(
            f"to_arrow: the component {name!r} is {spec}, which Arrow does not support. Convert "
            "it in map, for example value.astype('timedelta64[s]'), or drop it with select."
        )
    pa = import_module("pyarrow")
    arrow_type = _element_type(spec)
    for size in reversed(spec.shape):
        arrow_type = pa.large_list(arrow_type) if size is None else pa.list_(arrow_type, size)
    return arrow_type


def _array(spec: Spec, column: Any) -> Any:
    """Converts the rows of a component to an Arrow array. Numbers are not copied."""
    shape = cast("tuple[int | None, ...]", spec.shape)
    if not isinstance(column, (list, np.ndarray)):
        return column  # Strings are already Arrow arrays.
    if spec.dtype is Json:
        return _texts(list(column), len(shape))
    if spec.is_nested:
        return _lists_of_lists(spec, list(column))
    shapes = {column.shape[1:]} if isinstance(column, np.ndarray) else set(map(np.shape, column))
    if any(not _fits(row, shape) for row in shapes):
        sizes = sorted(shapes)
        raise TypeError(
            f"to_arrow: rows have the shapes {sizes}, expected {shape}. Reshape them in map."
        )
    if isinstance(column, np.ndarray):
        return _nested(spec, column, shape)
    return _ragged(spec, column, shape)


def _texts(objects: Sequence[Any], ndim: int) -> Any:
    """Converts objects to JSON texts, or to lists of texts for a batch."""
    pa = import_module("pyarrow")
    if ndim:
        return pa.array([_texts(row, ndim - 1).to_pylist() for row in objects], _lists(ndim))
    texts = [json_text("to_arrow", "", value).decode() for value in objects]
    return pa.array(texts, pa.large_string())


def _lists(ndim: int) -> Any:
    pa = import_module("pyarrow")
    arrow_type = pa.large_string()
    for _ in range(ndim):
        arrow_type = pa.large_list(arrow_type)
    return arrow_type


def _lists_of_lists(spec: Spec, rows: Sequence[Any]) -> Any:
    pa = import_module("pyarrow")
    lists, ends = list(rows), []
    for axis in range(len(spec.shape or ())):
        lengths = [len(items) for items in lists]
        ends.append(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))
        if axis + 1 < len(spec.shape or ()):
            lists = [inner for outer in lists for inner in outer]
    dtype = object if isinstance(spec.dtype, type) else spec.dtype
    array = _flat(spec, np.concatenate([np.empty(0, dtype), *lists]).astype(dtype, copy=False))
    for offsets in reversed(ends):
        array = pa.LargeListArray.from_arrays(pa.array(offsets), array)
    return array


def _fits(row: Sequence[int], shape: Sequence[int | None]) -> bool:
    """Returns whether a row of shape `row` fits into a column of shape `shape`."""
    return len(row) == len(shape) and all(
        size in (actual, None) for actual, size in zip(row, shape, strict=True)
    )


def _ragged(spec: Spec, rows: Sequence[Any], shape: Sequence[int | None]) -> Any:
    """Converts rows of different shapes to lists, or to nested lists if they have several axes."""
    pa = import_module("pyarrow")
    dtype = object if isinstance(spec.dtype, type) else spec.dtype
    arrays = [np.asarray(row, dtype) for row in rows]
    array = _flat(spec, np.concatenate([row.ravel() for row in arrays]))
    for axis in range(len(shape) - 1, -1, -1):
        size = shape[axis]
        if size is None:
            num_lists = [math.prod(row.shape[:axis]) for row in arrays]
            lengths = np.repeat([row.shape[axis] for row in arrays], num_lists)
            ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
            array = pa.LargeListArray.from_arrays(pa.array(ends), array)
        else:
            array = pa.FixedSizeListArray.from_arrays(array, size)
    return array


def _flat(spec: Spec, values: npt.NDArray[Any]) -> Any:
    return import_module("pyarrow").array(values, _element_type(spec))


def _nested(spec: Spec, rows: npt.NDArray[Any], shape: Sequence[int | None]) -> Any:
    """Converts rows of one shape to lists, with a fixed size if `shape` has one."""
    pa = import_module("pyarrow")
    array = _flat(spec, rows.ravel())
    for axis in range(rows.ndim - 1, 0, -1):
        size = rows.shape[axis]
        if shape[axis - 1] is None:
            num_lists = int(np.prod(rows.shape[:axis], dtype=np.int64))
            ends = np.arange(num_lists + 1, dtype=np.int64) * size
            array = pa.LargeListArray.from_arrays(pa.array(ends), array)
        else:
            array = pa.FixedSizeListArray.from_arrays(array, size)
    return array
