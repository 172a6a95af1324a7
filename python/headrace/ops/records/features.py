"""The parsing plan for the requested features of an `Example`.

Source: `tf.FixedLenFeature` and similar classes in TensorFlow 1.15.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np

from headrace.core.dtypes import DType, as_dtype, float32, int64, string
from headrace.core.features import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    SparseFeature,
    VarLenFeature,
)
from headrace.core.shapes import TensorShape
from headrace.graph import Tensor, TensorLike
from headrace.ops.array.reshape import reshape
from headrace.ops.framework.conversion import constant, convert_to_tensor
from headrace.ops.sparse.tensor import SparseTensor

__all__ = ["FixedLenFeature", "FixedLenSequenceFeature", "SparseFeature", "VarLenFeature"]

_TYPES: Final = (float32, int64, string)


Feature: TypeAlias = FixedLenFeature | FixedLenSequenceFeature | SparseFeature | VarLenFeature
# Features by name. Type checkers infer the common base class for a dict of several kinds.
Features: TypeAlias = Mapping[str, tuple[Any, ...]]


class DenseFeature(NamedTuple):
    """A feature that becomes a dense tensor.

    Attributes:
        key: Name of the feature.
        dtype: Type of the values.
        shape: Shape of the values. The first dimension is None if the number of rows can vary.
        default: The value of a missing feature, or the value that pads rows, or None.
    """

    key: str
    dtype: DType
    shape: TensorShape
    default: TensorLike | None

    @property
    def has_rows(self) -> bool:
        """Whether the number of rows can vary."""
        return bool(self.shape.rank) and self.shape.as_list()[0] is None


class FeaturePlan:
    """The sparse and dense features to parse, each in the order of their names.

    Args:
        features: The configurations, by feature name.
        of: The message that contains the features: an `Example`, or the context or the lists of a
            `SequenceExample`.

    Attributes:
        sparse: Type of each feature that becomes a `SparseTensor`.
        dense: The features that become dense tensors, by name.
        merged: The `SparseFeature`s, whose parts are in `sparse`.

    Raises:
        TypeError: If a feature has an unsupported type.
        ValueError: If a configuration is not allowed or incomplete, or two contradict each other.
    """

    def __init__(self, features: Features, of: Literal["example", "context", "lists"]) -> None:
        self.sparse: dict[str, DType] = {}
        self.dense: dict[str, DenseFeature] = {}
        self.merged: dict[str, SparseFeature] = {}
        for key in sorted(features):
            feature = features[key]
            if not isinstance(feature, _KINDS):
                raise ValueError(f"Invalid feature {key}:{feature}.")
            if not isinstance(feature, _ALLOWED[of]):
                raise ValueError(f"Unsupported {type(feature).__name__} {feature} for key {key!r}.")
            self._add(key, feature, of)
        self.sparse = dict(sorted(self.sparse.items()))
        self._asked = set(features)
        both = set(self.sparse) & set(self.dense)
        if both:
            raise ValueError(f"Dense and sparse keys must not intersect; intersection: {both}")

    def _add(self, key: str, feature: Feature, of: str) -> None:
        if isinstance(feature, VarLenFeature):
            self._add_sparse(key, _dtype(key, feature))
        elif isinstance(feature, SparseFeature):
            self._add_merged(key, feature)
        elif isinstance(feature, FixedLenFeature):
            dtype, shape = _dtype(key, feature), _shape(key, feature)
            if shape.rank and shape.as_list()[0] is None:
                raise ValueError(
                    f"First dimension of shape for feature {key} unknown. Consider using "
                    f"FixedLenSequenceFeature. Received feature={feature}."
                )
            _check_known(key, feature, shape)
            self.dense[key] = DenseFeature(key, dtype, shape, feature.default_value)
        else:
            dtype, shape = _dtype(key, feature), _shape(key, feature)
            _check_known(key, feature, shape)
            if of == "example":
                if not feature.allow_missing:
                    raise ValueError(
                        "Unsupported: FixedLenSequenceFeature requires allow_missing to be True."
                    )
                shape = TensorShape([None]).concatenate(shape)
            self.dense[key] = DenseFeature(key, dtype, shape, feature.default_value)

    def _add_sparse(self, key: str, dtype: DType) -> None:
        known = self.sparse.setdefault(key, dtype)
        if known != dtype:
            raise ValueError(f"Conflicting type {known.name} vs {dtype.name} for feature {key}.")

    def _add_merged(self, key: str, feature: SparseFeature) -> None:
        if not feature.index_key:
            raise ValueError(f"Missing index_key for SparseFeature {feature}.")
        if not feature.value_key:
            raise ValueError(f"Missing value_key for SparseFeature {feature}.")
        index_keys = feature.index_key
        for index_key in [index_keys] if isinstance(index_keys, str) else index_keys:
            self._add_sparse(index_key, int64)
        self._add_sparse(feature.value_key, _dtype(key, feature))
        self.merged[key] = feature

    def defaults(self) -> list[Tensor]:
        """Returns a default for each dense feature. The default of a required feature is empty."""
        return [_default(feature) for feature in self.dense.values()]

    def attrs(self, prefix: str = "") -> dict[str, Any]:
        """Returns the operation's attributes, with a prefix before each name."""
        dense = list(self.dense.values())
        return {
            f"{prefix}sparse_keys": list(self.sparse),
            f"{prefix}sparse_types": list(self.sparse.values()),
            f"{prefix}dense_keys": [feature.key for feature in dense],
            f"{prefix}dense_types": [feature.dtype for feature in dense],
            f"{prefix}dense_shapes": [feature.shape for feature in dense],
        }

    def outputs(self, batch: TensorShape | None) -> list[tuple[DType, TensorShape]]:
        """Returns the types and static shapes of the operation's outputs.

        Args:
            batch: The number of examples, or of features in a list. None for a single example or
                feature.
        """
        rank = 1 if batch is None else 2
        prefix = TensorShape([]) if batch is None else batch
        indices = [(int64, TensorShape([None, rank]))] * len(self.sparse)
        values = [(dtype, TensorShape([None])) for dtype in self.sparse.values()]
        shapes = [(int64, TensorShape([rank]))] * len(self.sparse)
        dense = [(item.dtype, prefix.concatenate(item.shape)) for item in self.dense.values()]
        return indices + values + shapes + dense

    def restore(self, outputs: list[Tensor]) -> dict[str, Any]:
        """Returns a `SparseTensor` or a tensor for each name, sparse ones first."""
        count = len(self.sparse)
        parts = (outputs[index * count : (index + 1) * count] for index in range(3))
        sparse = [SparseTensor(*part) for part in zip(*parts, strict=True)]
        return dict(zip(self.sparse, sparse, strict=True)) | dict(
            zip(self.dense, outputs[3 * count :], strict=True)
        )

    def without_parts(self, parsed: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the requested features, without the parts of `SparseFeature`s."""
        return {key: value for key, value in parsed.items() if key in self._asked}


_KINDS: Final = (FixedLenFeature, FixedLenSequenceFeature, SparseFeature, VarLenFeature)
_ALLOWED: Final = {
    "example": _KINDS,
    "context": (FixedLenFeature, VarLenFeature),
    "lists": (FixedLenSequenceFeature, VarLenFeature),
}


def _dtype(key: str, feature: Feature) -> DType:
    if not feature.dtype:
        raise ValueError(f"Missing type for feature {key}. Received feature={feature}.")
    dtype = as_dtype(feature.dtype)
    if dtype not in _TYPES:
        allowed = ", ".join(kind.name for kind in _TYPES)
        raise TypeError(
            f"feature {key} has DataType {dtype.name} not in list of allowed values: {allowed}"
        )
    return dtype


def _shape(key: str, feature: FixedLenFeature | FixedLenSequenceFeature) -> TensorShape:
    if feature.shape is None:
        raise ValueError(f"Missing shape for feature {key}. Received feature={feature}.")
    return TensorShape(feature.shape)


def _check_known(
    key: str, feature: FixedLenFeature | FixedLenSequenceFeature, shape: TensorShape
) -> None:
    if not shape.is_fully_defined():
        raise ValueError(
            f"All dimensions of shape for feature {key} need to be known but received "
            f"{feature.shape}."
        )


def _default(feature: DenseFeature) -> Tensor:
    key = "key_" + re.sub(r"[^A-Za-z0-9_.\-/]", "_", feature.key)
    value = feature.default
    if feature.has_rows:
        if value is None:
            value = b"" if feature.dtype == string else 0
        return reshape(convert_to_tensor(value, feature.dtype, name=key), [])
    if value is None:
        return constant(np.array([]), dtype=feature.dtype)
    return reshape(convert_to_tensor(value, feature.dtype, name=key), feature.shape)
