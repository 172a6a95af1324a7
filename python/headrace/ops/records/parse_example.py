"""Parsing `Example` protocol buffers into tensors.

Source: `tf.parse_example` and `tf.parse_single_example` in TensorFlow 1.15.
"""

from __future__ import annotations

from typing import Any

from headrace.core.dtypes import string
from headrace.core.shapes import TensorShape
from headrace.graph import Tensor, TensorLike, define, graph_of, name_scope
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.records.features import FeaturePlan, Features
from headrace.ops.sparse.merge import merge_sparse_feature

__all__ = ["parse_example", "parse_single_example"]


def parse_single_example(
    serialized: TensorLike,
    features: Features,
    example_names: TensorLike | None = None,
    name: str | None = None,
) -> dict[str, Any]:
    """Parses one serialized `tf.train.Example`. Only the requested features are decoded.

    Args:
        serialized: A scalar string.
        features: The features to parse, by name: `FixedLenFeature`, `VarLenFeature`,
            `FixedLenSequenceFeature` or `SparseFeature`.
        example_names: Accepted for compatibility with TensorFlow, but has no effect.
        name: Name of the operation.

    Returns:
        A dict with a tensor for each name, with the shape of the feature. `VarLenFeature` and
        `SparseFeature` return a `SparseTensor`.

    Raises:
        InvalidArgumentError: At run time, if the bytes are not an `Example`, or a feature is
            missing or has the wrong type or number of values.
        ValueError: If `features` is empty or incomplete, or `serialized` is not a scalar.
    """
    if not features:
        raise ValueError("Missing features.")
    plan = FeaturePlan(features, "example")
    with name_scope(name, "ParseSingleExample", [serialized, example_names]):
        record = convert_to_tensor(serialized, dtype=string, name="serialized")
        if not record.shape.is_compatible_with([]):
            raise ValueError(f"Input serialized must be a scalar, got shape {record.shape}")
        inputs = [record, *plan.defaults()]
        outputs = _add("ParseSingleExample", inputs, plan, None)
    return _merged(plan, outputs)


def parse_example(
    serialized: TensorLike,
    features: Features,
    example_names: TensorLike | None = None,
    name: str | None = None,
) -> dict[str, Any]:
    """Parses a batch of serialized `Example`s. Only the requested features are decoded.

    Args:
        serialized: A vector of strings.
        features: See `parse_single_example`.
        example_names: A vector of strings that name the examples in errors, or None.
        name: Name of the operation.

    Returns:
        The same as from `parse_single_example`, with a new first dimension over the examples.
        Sequences are padded to the longest one in the batch.

    Raises:
        InvalidArgumentError: See `parse_single_example`.
        ValueError: See `parse_single_example`. Also raised if `serialized` is not a vector.
    """
    if not features:
        raise ValueError(f"Missing: features was {features}.")
    plan = FeaturePlan(features, "example")
    with name_scope(name, "ParseExample", [serialized, example_names]):
        records = convert_to_tensor(serialized, dtype=string, name="serialized")
        records.shape.with_rank(1)
        names = convert_to_tensor(
            [] if example_names is None else example_names, string, name="names"
        )
        rows = None if records.shape.rank is None else records.shape.as_list()[0]
        inputs = [records, names, *plan.defaults()]
        outputs = _add("ParseExample", inputs, plan, TensorShape([rows]))
    return _merged(plan, outputs)


def _add(
    op_type: str, inputs: list[Tensor], plan: FeaturePlan, batch: TensorShape | None
) -> list[Tensor]:
    outputs = plan.outputs(batch)
    op = graph_of(inputs).create_op(
        op_type,
        inputs,
        [dtype for dtype, _ in outputs],
        output_shapes=[shape for _, shape in outputs],
        name=op_type,
        attrs=plan.attrs(),
    )
    return op.outputs


def _merged(plan: FeaturePlan, outputs: list[Tensor]) -> dict[str, Any]:
    parsed = plan.restore(outputs)
    merged = {key: merge_sparse_feature(parsed, feature) for key, feature in plan.merged.items()}
    return plan.without_parts(parsed | merged)


define("ParseExample", is_own=True)
define("ParseSingleExample", is_own=True)
