"""Random numbers.

Each operation has its own sequence in each session. With a seed, the sequence is the same in all
sessions, and the same as in TensorFlow.

Source: `tf.random` in TensorFlow 1.15.
"""

from __future__ import annotations

from headrace.core import dtypes
from headrace.core.dtypes import DType, DTypeLike, as_dtype
from headrace.graph import Tensor, TensorLike, define, name_scope
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.conversion import constant_value_as_shape, convert_to_tensor
from headrace.ops.framework.elementwise import FLOATS, INDEX_TYPES
from headrace.ops.framework.inference import ShapeConflict, check_rank
from headrace.ops.math.arithmetic import add, multiply, subtract
from headrace.ops.random.seeds import seed_attrs

__all__ = ["random_normal", "random_uniform", "truncated_normal"]


def random_uniform(
    shape: TensorLike,
    minval: TensorLike = 0,
    maxval: TensorLike | None = None,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns random numbers from a uniform distribution.

    Args:
        shape: The shape, an integer vector.
        minval: The start of the range, which is included.
        maxval: The end of the range, which is excluded. It defaults to 1 for floats and is required
            for integers. For integers, both limits are scalars.
        dtype: The type of the numbers: float16, float32, float64, int32 or int64.
        seed: Only used in TensorFlow 1 graphs. In a pipeline, set the seed of `map` instead.
        name: Name of the operation.

    Returns:
        A tensor of this shape and type.

    Raises:
        InvalidArgumentError: At run time, if an integer range is empty.
        TypeError: If a limit does not fit the type.
        ValueError: If the type is not supported, or `maxval` is missing for integers.
    """
    kind = as_dtype(dtype)
    if kind not in (*FLOATS, *INDEX_TYPES):
        raise ValueError(f"Invalid dtype {kind!r}")
    if maxval is None:
        if kind.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {kind!r}")
        maxval = 1
    with name_scope(name, "random_uniform", [shape, minval, maxval]) as scope:
        sizes = _as_sizes(shape)
        low = convert_to_tensor(minval, dtype=kind, name="min")
        high = convert_to_tensor(maxval, dtype=kind, name="max")
        if kind.is_integer:
            limits = [Input("minval", low, var="Tout"), Input("maxval", high, var="Tout")]
            return _draw("RandomUniformInt", sizes, kind, seed, limits, name=scope)
        numbers = _draw("RandomUniform", sizes, kind, seed)
        scaled = multiply(numbers, subtract(high, low, name="sub"), name="mul")
        return add(scaled, low, name=scope)


def random_normal(
    shape: TensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns random numbers from a normal distribution.

    Args:
        shape: The shape, an integer vector.
        mean: The mean of the distribution.
        stddev: The standard deviation of the distribution.
        dtype: The type of the numbers: float16, float32 or float64.
        seed: Only used in TensorFlow 1 graphs. In a pipeline, set the seed of `map` instead.
        name: Name of the operation.

    Examples:
        >>> @hr.native
        ... def add_noise(example):
        ...     return {"x": example["x"] + hr.ops.random_normal([3])}
        >>> pipe = hr.arrays({"x": np.zeros((2, 3), np.float32)}).map(add_noise, seed=7)
        >>> next(iter(pipe.batch(2)))["x"].shape
        (2, 3)
    """
    parameters = shape, mean, stddev, as_dtype(dtype), seed, name
    return _draw_normal("random_normal", "RandomStandardNormal", *parameters)


def truncated_normal(
    shape: TensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns normally distributed random numbers within two standard deviations of the mean.

    Args:
        shape: The shape, an integer vector.
        mean: The mean of the distribution.
        stddev: The standard deviation of the distribution before it is truncated.
        dtype: The type of the numbers: float16, float32 or float64.
        seed: Only used in TensorFlow 1 graphs. In a pipeline, set the seed of `map` instead.
        name: Name of the operation.
    """
    parameters = shape, mean, stddev, as_dtype(dtype), seed, name
    return _draw_normal("truncated_normal", "TruncatedNormal", *parameters)


def _draw_normal(
    default_name: str,
    op_type: str,
    shape: TensorLike,
    mean: TensorLike,
    stddev: TensorLike,
    dtype: DType,
    seed: int | None,
    name: str | None,
) -> Tensor:
    with name_scope(name, default_name, [shape, mean, stddev]) as scope:
        sizes = _as_sizes(shape)
        center = convert_to_tensor(mean, dtype=dtype, name="mean")
        scale = convert_to_tensor(stddev, dtype=dtype, name="stddev")
        numbers = _draw(op_type, sizes, dtype, seed)
        return add(multiply(numbers, scale, name="mul"), center, name=scope)


def _draw(
    op_type: str,
    sizes: Tensor,
    dtype: DType,
    seed: int | None,
    limits: list[Input] | None = None,
    name: str | None = None,
) -> Tensor:
    def infer(sizes: Tensor, *limits: Tensor) -> Outputs:
        check_rank(sizes.shape, 1)
        for tensor, what in zip(limits, ("minval", "maxval"), strict=False):
            if tensor.shape.rank not in (None, 0):
                shape = tensor.shape.as_list()
                raise ShapeConflict(f"{what} must be a scalar; got a tensor of shape {shape}")
        return [(dtype, constant_value_as_shape(sizes))]

    inputs = [Input("shape", sizes, var="T", allowed=INDEX_TYPES), *(limits or [])]
    attrs = seed_attrs(seed)
    if limits is None:
        attrs["dtype"] = dtype
    return apply_op(op_type, inputs, infer, name=name, attrs=attrs).outputs[0]


def _as_sizes(shape: TensorLike) -> Tensor:
    is_empty = isinstance(shape, (list, tuple)) and not shape
    return convert_to_tensor(shape, dtype=dtypes.int32 if is_empty else None, name="shape")


define("RandomStandardNormal", is_stateful=True, is_random=True)
define("RandomUniform", is_stateful=True, is_random=True)
define("RandomUniformInt", is_stateful=True, is_random=True)
define("TruncatedNormal", is_stateful=True, is_random=True)
