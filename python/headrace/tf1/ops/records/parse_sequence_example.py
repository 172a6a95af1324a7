"""Parses `SequenceExample` messages into tensors.

Source: `tf.parse_single_sequence_example` and `tf.io.parse_sequence_example` in TensorFlow 1.15.
"""

from __future__ import annotations

from typing import Any

from headrace.core.dtypes import DType, int64, string
from headrace.core.shapes import TensorShape
from headrace.graph import Tensor, TensorLike, define, graph_of, name_scope
from headrace.ops.array.shape import shape
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.math.cast import cast
from headrace.ops.records.features import FeaturePlan, Features, FixedLenSequenceFeature
from headrace.ops.sparse.tensor import SparseTensor

__all__ = ["parse_sequence_example", "parse_single_sequence_example"]


def parse_single_sequence_example(
    serialized: TensorLike,
    context_features: Features | None = None,
    sequence_features: Features | None = None,
    example_name: TensorLike | None = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parses one serialized `SequenceExample`. Only the requested features are decoded.

    Args:
        serialized: A scalar string.
        context_features: The context features, by name: `FixedLenFeature` or `VarLenFeature`.
        sequence_features: The list features, by name: `FixedLenSequenceFeature` without a default
            value, or `VarLenFeature`.
        example_name: A scalar string that names the example in errors, or None.
        name: Name of the operation.

    Returns:
        The context values, in the form of `parse_single_example`, and the list values. A
        `FixedLenSequenceFeature` returns a tensor with one row for each feature in the list, or no
        rows if the list is missing and may be missing. A `VarLenFeature` returns a `SparseTensor`
        of rank 2 with the same rows.

    Raises:
        InvalidArgumentError: At run time, if the bytes are not a `SequenceExample`, or a feature or
            list is missing, or has the wrong type or number of values.
        ValueError: If no features are requested, a feature is incomplete or not supported, or
            `serialized` is not a scalar.
    """
    if not (context_features or sequence_features):
        raise ValueError("Missing features.")
    plan = _Plan(context_features, sequence_features)
    with name_scope(name, "ParseSingleSequenceExample", [serialized]):
        record = convert_to_tensor(serialized, dtype=string, name="serialized")
        if not record.shape.is_compatible_with([]):
            raise ValueError(f"Input serialized must be a scalar, got shape {record.shape}")
        debug_name = "" if example_name is None else example_name
        label = convert_to_tensor(debug_name, dtype=string, name="debug_name")
        outputs = [*plan.context.outputs(None), *plan.lists.outputs(TensorShape([None]))]
        result = plan.add("ParseSingleSequenceExample", [record, label], outputs)
    return plan.restore(result)


def parse_sequence_example(
    serialized: TensorLike,
    context_features: Features | None = None,
    sequence_features: Features | None = None,
    example_names: TensorLike | None = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Tensor]]:
    """Parses a vector of serialized `SequenceExample`s. Only the requested features are decoded.

    Args:
        serialized: Strings, (batch,). A scalar is parsed as a single example.
        context_features: See `parse_single_sequence_example`.
        sequence_features: See `parse_single_sequence_example`.
        example_names: The name of each example in errors, or None.
        name: Name of the operation.

    Returns:
        The context values and the list values, by name, each with one more leading dimension than
        from `parse_single_sequence_example`. Also the number of rows of each
        `FixedLenSequenceFeature` in each example, int64, (batch,). Shorter lists are padded with
        zeros or empty strings to the longest list in the batch.

    Raises:
        InvalidArgumentError: When run; see `parse_single_sequence_example`.
        ValueError: If no features are requested, a feature is incomplete or not supported, or
            `serialized` has more than one dimension.
    """
    if not (context_features or sequence_features):
        raise ValueError(
            "Both `context_features` and `sequence_features` argument are None, but at least one "
            "should have values."
        )
    records = convert_to_tensor(serialized, dtype=string, name="serialized")
    if records.shape.rank == 0:
        context, lists = parse_single_sequence_example(
            records, context_features, sequence_features, example_names, name
        )
        sizes = {
            key: cast(shape(value)[0], int64)
            for key, value in lists.items()
            if not isinstance(value, SparseTensor)
        }
        return context, lists, sizes
    records.shape.assert_has_rank(1)
    plan = _Plan(context_features, sequence_features)
    with name_scope(name, "ParseSequenceExample", [records]):
        items = [] if example_names is None else example_names
        names = convert_to_tensor(items, dtype=string, name="debug_name")
        [rows] = [None] if records.shape.rank is None else records.shape.as_list()
        outputs = [*plan.context.outputs(TensorShape([rows])), *plan.batched_lists(rows)]
        outputs += [(int64, TensorShape([rows]))] * len(plan.lists.dense)
        result = plan.add("ParseSequenceExample", [records, names], outputs)
    split = len(result) - len(plan.lists.dense)
    lengths = dict(zip(plan.lists.dense, result[split:], strict=True))
    return *plan.restore(result[:split]), lengths


class _Plan:
    """The requested features of contexts and feature lists.

    Raises:
        ValueError: If a feature is incomplete or has an unsupported kind.
    """

    def __init__(
        self, context_features: Features | None, sequence_features: Features | None
    ) -> None:
        features = sequence_features or {}
        self.context = FeaturePlan(context_features or {}, "context")
        self.lists = FeaturePlan(features, "lists")
        for feature in self.lists.dense.values():
            if feature.default is not None:
                raise ValueError(
                    f"Value feature_list_dense_defaults[{feature.key}] must be None, got "
                    f"{feature.default!r}."
                )
        self._optional = [key for key in self.lists.dense if _may_be_missing(features[key])]

    def batched_lists(self, rows: int | None) -> list[tuple[DType, TensorShape]]:
        """Returns the dtypes and static shapes of the feature lists of a batch."""
        sparse = self.lists.sparse
        return [
            *((int64, TensorShape([None, 3])) for _ in sparse),
            *((dtype, TensorShape([None])) for dtype in sparse.values()),
            *((int64, TensorShape([3])) for _ in sparse),
            *(
                (feature.dtype, TensorShape([rows, None]).concatenate(feature.shape))
                for feature in self.lists.dense.values()
            ),
        ]

    def add(
        self, op_type: str, inputs: list[Tensor], outputs: list[tuple[DType, TensorShape]]
    ) -> list[Tensor]:
        """Adds the operation and returns its outputs."""
        inputs = [*inputs, *self.context.defaults()]
        op = graph_of(inputs).create_op(
            op_type,
            inputs,
            [dtype for dtype, _ in outputs],
            output_shapes=[shape for _, shape in outputs],
            name=op_type,
            attrs={
                **self.context.attrs("context_"),
                **self.lists.attrs("feature_list_"),
                "feature_list_dense_missing_assumed_empty": self._optional,
            },
        )
        return op.outputs

    def restore(self, outputs: list[Tensor]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Returns the parsed features of the context and of the feature lists, by name."""
        split = 3 * len(self.context.sparse) + len(self.context.dense)
        return self.context.restore(outputs[:split]), self.lists.restore(outputs[split:])


def _may_be_missing(feature: object) -> bool:
    return isinstance(feature, FixedLenSequenceFeature) and bool(feature.allow_missing)


define("ParseSequenceExample", is_own=True)
define("ParseSingleSequenceExample", is_own=True)
