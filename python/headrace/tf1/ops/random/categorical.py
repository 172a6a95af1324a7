"""Draws classes at random.

Source: `tf.random.categorical` and `tf.multinomial` in TensorFlow 1.15.
"""

from __future__ import annotations

from headrace.core.dtypes import DTypeLike, as_dtype, int32, int64
from headrace.core.shapes import TensorShape
from headrace.graph import Tensor, TensorLike, define, name_scope
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.conversion import constant_value, convert_to_tensor
from headrace.ops.framework.elementwise import REALS
from headrace.ops.framework.inference import ShapeConflict, check_rank
from headrace.ops.random.seeds import seed_attrs

__all__ = ["categorical", "multinomial"]


def categorical(
    logits: TensorLike,
    num_samples: TensorLike,
    dtype: DTypeLike | None = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draws random classes. Each row has its own probabilities.

    Args:
        logits: The logarithms of the probabilities, up to a constant for each row: (rows, classes).
            Classes whose logit is not finite are never drawn.
        num_samples: The number of classes to draw for each row, a scalar int32.
        dtype: int32 or int64. Defaults to int64.
        seed: The seed of the operation. Together with the seed of the graph, it determines the
            sequence; see `headrace.graph.get_seed`.
        name: Name of the scope.

    Returns:
        The class numbers: (rows, samples).

    Raises:
        InvalidArgumentError: At run time, if `logits` has no classes, or `num_samples` is negative.
        TypeError: If `logits` are not real numbers.
        ValueError: If a shape or `dtype` is wrong.
    """
    return _drawn("categorical", logits, num_samples, dtype, seed, name)


def multinomial(
    logits: TensorLike,
    num_samples: TensorLike,
    seed: int | None = None,
    output_dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Draws random classes. This is the old name of `categorical`."""
    return _drawn("multinomial", logits, num_samples, output_dtype, seed, name)


def _drawn(
    scope: str,
    logits: TensorLike,
    num_samples: TensorLike,
    dtype: DTypeLike | None,
    seed: int | None,
    name: str | None,
) -> Tensor:
    kind = int64 if dtype is None else as_dtype(dtype)
    if kind not in (int32, int64):
        raise ValueError(
            f"Argument `dtype` got invalid value {kind!r}. Accepted dtypes are (tf.int32, "
            "tf.int64)."
        )

    def infer(rows: Tensor, count: Tensor) -> Outputs:
        check_rank(rows.shape, 2)
        check_rank(count.shape, 0)
        value = constant_value(count)
        if value is not None and value < 0:
            raise ShapeConflict(
                f"Dimension size, given by scalar input 1, must be non-negative but is {value}"
            )
        num_rows = None if rows.shape.rank is None else rows.shape[0].value
        return [(kind, TensorShape([num_rows, None if value is None else int(value)]))]

    with name_scope(name, scope, [logits]):
        inputs = [
            Input("logits", convert_to_tensor(logits, name="logits"), allowed=REALS),
            Input("num_samples", num_samples, dtype=int32),
        ]
        attrs = {**seed_attrs(seed), "output_dtype": kind}
        return apply_op("Multinomial", inputs, infer, attrs=attrs).outputs[0]


define("Multinomial", is_stateful=True, is_random=True)
