"""Parsing `Example` protocol buffers into tensors.

Source: `tf.parse_example` and `tf.parse_single_example` of TensorFlow 1.15.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from headrace.dtypes import DType, as_dtype, int64, string
from headrace.graph import Operation, Tensor, graph_of, name_scope
from headrace.ops.conversion import constant, convert_to_tensor
from headrace.ops.kernel import Array, NumpyKernel, fail
from headrace.ops.shaping import reshape
from headrace.ops.sparse import SparseTensor
from headrace.shapes import TensorShape

__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "SparseFeature",
    "VarLenFeature",
    "parse_example",
    "parse_single_example",
]

_FEATURE_TYPES = ("float32", "int64", "string")


class FixedLenFeature(NamedTuple):
    """A feature with the same number of values in every example.

    Attributes:
        shape: Shape of the values.
        dtype: float32, int64 or string.
        default_value: Taken where the feature is missing; None if it must be there.
    """

    shape: Any
    dtype: Any
    default_value: Any = None


class VarLenFeature(NamedTuple):
    """A feature with any number of values, parsed into a `SparseTensor`.

    Attributes:
        dtype: float32, int64 or string.
    """

    dtype: Any


class FixedLenSequenceFeature(NamedTuple):
    """A feature with any number of rows, parsed into a tensor with an unknown first dimension.

    Attributes:
        shape: Shape of one row.
        dtype: float32, int64 or string.
        allow_missing: Must be true: a missing feature has no rows.
        default_value: Fills up the shorter sequences of a batch; None for 0 or "".
    """

    shape: Any
    dtype: Any
    allow_missing: bool = False
    default_value: Any = None


class SparseFeature(NamedTuple):
    """A sparse tensor whose indices and values are two features.

    Attributes:
        index_key: Name of the int64 feature with the indices, or a list of one for each dimension.
        value_key: Name of the feature with the values.
        dtype: Type of the values: float32, int64 or string.
        size: Size of the dimension, or a list of one for each.
        already_sorted: Whether the indices are in order; otherwise they are sorted.
    """

    index_key: Any
    value_key: str
    dtype: Any
    size: Any
    already_sorted: bool = False


def parse_single_example(
    serialized: Any,
    features: Mapping[str, Any],
    name: str | None = None,
    example_names: Any = None,
) -> dict[str, Any]:
    """Parses one serialized `Example`. Only the features asked for are decoded.

    Args:
        serialized: A scalar string.
        features: What to parse, by the feature's name: `FixedLenFeature`, `VarLenFeature`,
            `FixedLenSequenceFeature` or `SparseFeature`.
        name: Name of the operation.
        example_names: Accepted for TensorFlow's sake.

    Returns:
        A tensor of the feature's shape for each name, a `SparseTensor` for `VarLenFeature` and
        `SparseFeature`.

    Raises:
        InvalidArgumentError: When run: the bytes are no `Example`, or a feature is missing or of
            another type or number of values.
        ValueError: If `features` is empty or one is incomplete, or `serialized` is no scalar.
    """
    plan = _Plan(features)
    with name_scope(name, "ParseSingleExample", [serialized, example_names]) as scope:
        record = convert_to_tensor(serialized, dtype=string, name="serialized")
        if not record.shape.is_compatible_with([]):
            raise ValueError(f"Input serialized must be a scalar, got shape {record.shape}")
        op = graph_of([record]).create_op(
            "ParseSingleExample",
            [record, *plan.defaults()],
            plan.output_dtypes(),
            output_shapes=plan.output_shapes(None),
            name=f"{scope}ParseSingleExample",
            attrs=plan.attrs(),
        )
        return plan.results(op)


def parse_example(
    serialized: Any,
    features: Mapping[str, Any],
    name: str | None = None,
    example_names: Any = None,
) -> dict[str, Any]:
    """Parses a batch of serialized `Example`s. Only the features asked for are decoded.

    Args:
        serialized: A vector of strings.
        features: As for `parse_single_example`.
        name: Name of the operation.
        example_names: A vector of strings that name the examples in errors, or None.

    Returns:
        As `parse_single_example`, with a new first dimension for the example. Sequences are filled
        up to the longest one of the batch.

    Raises:
        InvalidArgumentError: As `parse_single_example`.
        ValueError: As `parse_single_example`; or if `serialized` is no vector.
    """
    plan = _Plan(features)
    with name_scope(name, "ParseExample", [serialized, example_names]) as scope:
        records = convert_to_tensor(serialized, dtype=string, name="serialized")
        records.shape.with_rank(1)
        names = convert_to_tensor([] if example_names is None else example_names, string, "names")
        rows = None if records.shape.rank is None else records.shape.as_list()[0]
        op = graph_of([records]).create_op(
            "ParseExample",
            [records, names, *plan.defaults()],
            plan.output_dtypes(),
            output_shapes=plan.output_shapes(TensorShape([rows])),
            name=f"{scope}ParseExample",
            attrs=plan.attrs(),
        )
        return plan.results(op)


class _Dense(NamedTuple):
    """A feature parsed into a dense tensor."""

    key: str
    dtype: DType
    # The first dimension is unknown for a sequence.
    shape: TensorShape
    default: Any

    @property
    def is_sequence(self) -> bool:
        return bool(self.shape.rank) and self.shape.as_list()[0] is None


class _Plan:
    """What is to be parsed: sparse and dense features, each in the order of their names."""

    def __init__(self, features: Mapping[str, Any]) -> None:
        if not features:
            raise ValueError("Missing: features was {}." if features == {} else "Missing features.")
        self._sparse: dict[str, DType] = {}
        self._dense: dict[str, _Dense] = {}
        self._merged: dict[str, SparseFeature] = {}
        for key in sorted(features):
            self._add(key, features[key])
        self._sparse = dict(sorted(self._sparse.items()))
        # Outside the features that only carry the parts of a `SparseFeature`.
        self._plain = [key for key in self._sparse if isinstance(features.get(key), VarLenFeature)]

    def _add(self, key: str, feature: Any) -> None:
        if isinstance(feature, VarLenFeature):
            self._add_sparse(key, _feature_dtype(key, feature))
        elif isinstance(feature, SparseFeature):
            self._add_merged(key, feature)
        elif isinstance(feature, FixedLenFeature):
            dtype = _feature_dtype(key, feature)
            shape = _feature_shape(key, feature)
            if shape.rank and shape.as_list()[0] is None:
                raise ValueError(
                    f"First dimension of shape for feature {key} unknown. Consider using "
                    f"FixedLenSequenceFeature. Received feature={feature}."
                )
            _check_known(key, shape)
            self._dense[key] = _Dense(key, dtype, shape, feature.default_value)
        elif isinstance(feature, FixedLenSequenceFeature):
            dtype = _feature_dtype(key, feature)
            row = _feature_shape(key, feature)
            if not feature.allow_missing:
                raise ValueError(
                    "Unsupported: FixedLenSequenceFeature requires allow_missing to be True."
                )
            _check_known(key, row)
            shape = TensorShape([None]).concatenate(row)
            self._dense[key] = _Dense(key, dtype, shape, feature.default_value)
        else:
            raise ValueError(f"Invalid feature {key}:{feature}.")

    def _add_sparse(self, key: str, dtype: DType) -> None:
        known = self._sparse.setdefault(key, dtype)
        if known != dtype:
            raise ValueError(f"Conflicting type {known} vs {dtype} for feature {key}.")

    def _add_merged(self, key: str, feature: SparseFeature) -> None:
        if not feature.index_key:
            raise ValueError(f"Missing index_key for SparseFeature {feature}.")
        if not feature.value_key:
            raise ValueError(f"Missing value_key for SparseFeature {feature}.")
        for index_key in _as_list(feature.index_key):
            self._add_sparse(index_key, int64)
        self._add_sparse(feature.value_key, _feature_dtype(key, feature))
        self._merged[key] = feature

    def defaults(self) -> list[Tensor]:
        """One tensor for each dense feature; one without elements says that it must be there."""
        return [_default(dense) for dense in self._dense.values()]

    def output_dtypes(self) -> list[DType]:
        sparse = list(self._sparse.values())
        dense = [feature.dtype for feature in self._dense.values()]
        return [int64] * len(sparse) + sparse + [int64] * len(sparse) + dense

    def output_shapes(self, batch: TensorShape | None) -> list[TensorShape]:
        """The static shapes; `batch` has the number of examples, None for a single one."""
        rank = 1 if batch is None else 2
        count = len(self._sparse)
        shapes = [TensorShape([None, rank])] * count
        shapes += [TensorShape([None])] * count + [TensorShape([rank])] * count
        prefix = TensorShape([]) if batch is None else batch
        return shapes + [prefix.concatenate(feature.shape) for feature in self._dense.values()]

    def attrs(self) -> dict[str, Any]:
        dense = list(self._dense.values())
        return {
            "sparse_keys": list(self._sparse),
            "sparse_types": list(self._sparse.values()),
            "dense_keys": [feature.key for feature in dense],
            "dense_types": [feature.dtype for feature in dense],
            "dense_shapes": [feature.shape for feature in dense],
        }

    def results(self, op: Operation) -> dict[str, Any]:
        count = len(self._sparse)
        indices, values, shapes = (op.outputs[i * count : (i + 1) * count] for i in range(3))
        sparse = {
            key: SparseTensor(*parts)
            for key, *parts in zip(self._sparse, indices, values, shapes, strict=True)
        }
        merged = {key: _merge(sparse, feature) for key, feature in self._merged.items()}
        found: dict[str, Any] = {key: sparse[key] for key in self._plain} | merged
        result = {key: found[key] for key in sorted(found)}
        return result | dict(zip(self._dense, op.outputs[3 * count :], strict=True))


def _feature_dtype(key: str, feature: Any) -> DType:
    if not feature.dtype:
        raise ValueError(f"Missing type for feature {key}. Received feature={feature}.")
    dtype = as_dtype(feature.dtype)
    if dtype.name not in _FEATURE_TYPES:
        raise TypeError(
            f"feature {key} has DataType {dtype.name} not in list of allowed values: "
            f"{', '.join(_FEATURE_TYPES)}"
        )
    return dtype


def _feature_shape(key: str, feature: Any) -> TensorShape:
    if feature.shape is None:
        raise ValueError(f"Missing shape for feature {key}. Received feature={feature}.")
    return TensorShape(feature.shape)


def _check_known(key: str, shape: TensorShape) -> None:
    if not shape.is_fully_defined():
        raise ValueError(
            f"All dimensions of shape for feature {key} need to be known but received {shape}."
        )


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _default(feature: _Dense) -> Tensor:
    key = "key_" + re.sub(r"[^A-Za-z0-9_.\-/]", "_", feature.key)
    value = feature.default
    if feature.is_sequence:
        if value is None:
            value = b"" if feature.dtype == string else 0
        return reshape(convert_to_tensor(value, feature.dtype, key), [])
    if value is None:
        return constant(np.array([]), dtype=feature.dtype)
    return reshape(convert_to_tensor(value, feature.dtype, key), feature.shape)


def _merge(sparse: Mapping[str, SparseTensor], feature: SparseFeature) -> SparseTensor:
    """Makes one sparse tensor of the features that have its indices and its values."""
    keys = _as_list(feature.index_key)
    values = sparse[feature.value_key]
    parts = [sparse[key] for key in keys]
    sizes = [int(size) for size in _as_list(feature.size)]
    # The values' own indices are the example (in a batch) and the position, which goes.
    rank = len(sizes) + (values.dense_shape.shape.as_list()[0] or 1) - 1
    inputs = [values.indices, values.values, values.dense_shape]
    inputs += [tensor for part in parts for tensor in (part.indices, part.values)]

    def merge(*arrays: Array) -> tuple[Array, Array, Array]:
        return _merge_arrays(arrays, sizes, feature.already_sorted)

    dtypes = [int64, values.values.dtype, int64]
    op = graph_of(inputs).create_op(
        "SparseFeatureMerge",
        inputs,
        dtypes,
        output_shapes=[TensorShape([None, rank]), TensorShape([None]), TensorShape([rank])],
        name="SparseMerge",
        kernel=NumpyKernel(merge, dtypes),
    )
    return SparseTensor(*op.outputs)


def _merge_arrays(
    arrays: Sequence[Array], sizes: list[int], is_sorted: bool
) -> tuple[Array, Array, Array]:
    indices, values, dense_shape, *parts = arrays
    columns = [indices[:, :-1]]
    for places, numbers in zip(parts[::2], parts[1::2], strict=True):
        if len(numbers) != len(values) or not np.array_equal(places, indices):
            fail(
                f"SparseFeature: {len(numbers)} indices for {len(values)} values, expected as many "
                "indices as values in every example."
            )
        columns.append(numbers[:, None])
    merged = np.concatenate(columns, axis=1).astype(np.int64)
    if not is_sorted:
        order = np.lexsort(merged.T[::-1])
        merged, values = merged[order], values[order]
    return merged, values, np.concatenate([dense_shape[:-1], sizes]).astype(np.int64)
