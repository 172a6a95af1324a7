"""Parsing `SequenceExample` protocol buffers into tensors.

Source: `tf.parse_single_sequence_example` of TensorFlow 1.15.
"""

from __future__ import annotations

from typing import Any

from headrace.dtypes import string
from headrace.graph import TensorLike, define, graph_of, name_scope
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.records.features import FeaturePlan, Features, FixedLenSequenceFeature
from headrace.shapes import TensorShape

__all__ = ["parse_single_sequence_example"]


def parse_single_sequence_example(
    serialized: TensorLike,
    context_features: Features | None = None,
    sequence_features: Features | None = None,
    example_name: TensorLike | None = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parses one serialized `SequenceExample`. Only the features asked for are decoded.

    Args:
        serialized: A scalar string.
        context_features: What to parse of the context, by the feature's name: `FixedLenFeature` or
            `VarLenFeature`.
        sequence_features: What to parse of the lists: `FixedLenSequenceFeature`, without a default
            value, or `VarLenFeature`.
        example_name: A scalar string that names the example in errors, or None.
        name: Name of the operation.

    Returns:
        What was parsed of the context, as `parse_single_example` returns it, and of the lists: for
        a `FixedLenSequenceFeature` a tensor with a row for each feature in the list, none if it is
        missing and may be; for a `VarLenFeature` a `SparseTensor` of rank 2, with such rows.

    Raises:
        InvalidArgumentError: When run: the bytes are no `SequenceExample`, or a feature or list is
            missing or of another type or number of values.
        ValueError: If nothing is asked for, a feature is incomplete or of another kind, or
            `serialized` is no scalar.
    """
    if not (context_features or sequence_features):
        raise ValueError("Missing features.")
    context = FeaturePlan(context_features or {}, "context")
    lists = FeaturePlan(sequence_features or {}, "lists")
    for feature in lists.dense.values():
        if feature.default is not None:
            raise ValueError(
                f"Value feature_list_dense_defaults[{feature.key}] must be None, got "
                f"{feature.default!r}."
            )
    given = sequence_features or {}
    optional = [key for key in lists.dense if _may_be_missing(given[key])]
    outputs = [*context.outputs(None), *lists.outputs(TensorShape([None]))]
    with name_scope(name, "ParseSingleSequenceExample", [serialized]):
        record = convert_to_tensor(serialized, dtype=string, name="serialized")
        if not record.shape.is_compatible_with([]):
            raise ValueError(f"Input serialized must be a scalar, got shape {record.shape}")
        debug_name = "" if example_name is None else example_name
        label = convert_to_tensor(debug_name, dtype=string, name="debug_name")
        inputs = [record, label, *context.defaults()]
        op = graph_of(inputs).create_op(
            "ParseSingleSequenceExample",
            inputs,
            [dtype for dtype, _ in outputs],
            output_shapes=[shape for _, shape in outputs],
            name="ParseSingleSequenceExample",
            attrs={
                **context.attrs("context_"),
                **lists.attrs("feature_list_"),
                "feature_list_dense_missing_assumed_empty": optional,
            },
        )
    split = 3 * len(context.sparse) + len(context.dense)
    return context.restore(op.outputs[:split]), lists.restore(op.outputs[split:])


def _may_be_missing(feature: object) -> bool:
    return isinstance(feature, FixedLenSequenceFeature) and bool(feature.allow_missing)


define("ParseSingleSequenceExample", is_own=True)
