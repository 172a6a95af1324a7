"""Arithmetic, comparisons and casts: the result for each type, and rejected types."""

from typing import Any

import numpy as np

from tensorflow_comparison.calls import known, unknown
from tensorflow_comparison.table import case

EXACT = ("abs", "negative", "sign", "square", "ceil", "floor", "round", "logical_not")
ROUNDED = ("exp", "log", "log1p", "sqrt", "rsqrt", "sigmoid", "tanh", "reciprocal")
TESTS = ("is_finite", "is_inf", "is_nan")
ARITHMETIC = ("add", "subtract", "multiply", "div", "divide", "truediv", "floordiv", "mod")
MORE_ARITHMETIC = ("maximum", "minimum", "squared_difference", "realdiv", "div_no_nan", "floormod")
COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")

INTEGERS = ("int32", "int64", "uint8", "int8")
# In TensorFlow, these have no kernel, which is only detected at run time.
WITHOUT_KERNEL = [("realdiv", dtype) for dtype in INTEGERS]
# TensorFlow 2 casts these, but 1.15 does not.
CAST = [("div_no_nan", dtype) for dtype in INTEGERS]


def numbers(dtype: str, first: list[float]) -> Any:
    """Numbers of a type, without negative ones if it is unsigned."""
    if dtype == "string":
        return np.array([str(value).encode() for value in first], object)
    return (np.abs(first) if dtype.startswith("uint") else np.array(first)).astype(dtype)


@case(*[(name, dtype) for name in EXACT for dtype in ("int32", "float32", "uint8", "bool")])
def exactly(tf: Any, name: str, dtype: str) -> Any:
    """Operations on one tensor whose results are exact."""
    return getattr(tf, name)(numbers(dtype, [-2.5, -1, 0, 0.5, 1.5, 3]))


@case(*[(name, dtype) for name in ROUNDED + TESTS for dtype in ("float32", "float64", "int32")
        if (name, dtype) != ("reciprocal", "int32")],
      digits=5)  # fmt: skip
def rounded(tf: Any, name: str, dtype: str) -> Any:
    """Operations on one tensor whose results are rounded."""
    return getattr(tf, name)(numbers(dtype, [0.25, 1, 3, 20]))


@case(*[(name,) for name in ROUNDED + TESTS], digits=5)
def at_the_edges(tf: Any, name: str) -> Any:
    """Infinities, zeros and NaN."""
    return getattr(tf, name)(np.array([np.inf, -np.inf, 0.0, np.nan, -1, 88.8], np.float32))


@case(
    *[
        (name, dtype)
        for name in ARITHMETIC + MORE_ARITHMETIC
        for dtype in ("int32", "int64", "float32", "float64", "uint8", "int8", "string")
        if (name, dtype) not in WITHOUT_KERNEL + CAST
    ],
    digits=6,
)
def of_two(tf: Any, name: str, dtype: str) -> Any:
    """Arithmetic, with signs in all combinations."""
    first, second = numbers(dtype, [7, -7, 7, -7, 120]), numbers(dtype, [2, 2, -2, -3, 100])
    return getattr(tf, name)(tf.constant(first), tf.constant(second))


@case(*WITHOUT_KERNEL)
def without_a_kernel(tf: Any, name: str, dtype: str) -> Any:
    """Types for which TensorFlow has an operation but no kernel."""
    first, second = numbers(dtype, [7, -7]), numbers(dtype, [2, 2])
    return getattr(tf, name)(tf.constant(first), tf.constant(second)), tf.reciprocal([1, 2])


@case(*CAST)
def cast_by_division(tf: Any, name: str, dtype: str) -> Any:
    """Division of integers with float results."""
    return getattr(tf, name)(numbers(dtype, [7, -7]), numbers(dtype, [2, 2]))


@case(*[(name, dtype) for name in COMPARISONS for dtype in ("int32", "float32", "bool", "string")])
def compared(tf: Any, name: str, dtype: str) -> Any:
    """Comparisons of each type."""
    first, second = numbers(dtype, [1, 2, 0]), numbers(dtype, [1, 0, 2])
    return getattr(tf, name)(tf.constant(first), tf.constant(second))


@case(*[(name, values) for name in ("logical_and", "logical_or", "logical_xor") for values in
        (([True, True, False, False], [True, False, True, False]), ([1, 0], [1, 1]))])  # fmt: skip
def logical(tf: Any, name: str, values: Any) -> Any:
    """Truth tables. Integers are rejected."""
    return getattr(tf, name)(*values)


@case(
    *[
        (name, dtype)
        for name in ("floordiv", "mod", "div", "truediv", "divide")
        for dtype in ("int32", "float32")
    ]
)
def by_zero(tf: Any, name: str, dtype: str) -> Any:
    """Division by zero: an error for integers, infinity for the others."""
    return getattr(tf, name)(numbers(dtype, [1, -1, 0]), numbers(dtype, [0, 0, 0]))


@case(
    *[((3, 1), shape) for shape in ((2,), (3, 2), (), (2, 3), (0,), (2, 3, 1), (1, 1, 1, 4))],
    ((2,), (3,)),
    ((0, 2), (1, 2)),
    ((2, 0), (2, 2)),
)
def broadcast(tf: Any, first: tuple[int, ...], second: tuple[int, ...]) -> Any:
    """Compatible and incompatible shapes, known and unknown before the run."""
    arrays = [np.ones(shape, np.int32) for shape in (first, second)]
    return [call(tf, name, *arrays) for call in (known, unknown) for name in ("add", "less")]


@case(*[(first, second) for first in ("int32", "float32") for second in
        ("int64", "float64", "float32", 1, 1.5, True, "a", None, [1, 2], [[1.0]])])  # fmt: skip
def of_two_types(tf: Any, first: str, second: Any) -> Any:
    """Whether a tensor and a tensor or value of another type are converted."""
    other = tf.ones([2], second) if isinstance(second, str) and second != "a" else second
    return tf.ones([2], first) + other, other - tf.ones([2], first)


@case(
    *[(text,) for text in (
        "a + b", "a - 1", "2 * a", "a / b", "a // b", "a % b", "-a", "abs(a)", "a ** 2", "a < b",
        "a >= 2", "a == b", "a != b", "~(a < b)", "(a < b) & True", "(a < b) | (b < a)",
        "(a < b) ^ True", "1 / a", "7 // b", "7 % a", "2.0 ** a", "a @ b", "bool(a)",
        "1 - b", "len(a)", "list(a)", "float(a)", "hash(a) == hash(a)", "a and b",
        "a if a else b", "a in [b]", "a.shape[0].value", "[*a]", "not a",
    )]
)  # fmt: skip
def operators(tf: Any, text: str) -> Any:
    """Python's operators."""
    # Only strings from the table above are evaluated.
    return eval(text, {"a": tf.constant([1, -2, 5]), "b": tf.constant([2, 2, -3])})


@case(("a & b",), ("a | b",), ("a ^ b",), ("~a",))
def operators_on_bits(tf: Any, text: str) -> Any:
    """Python's operators between integers, which TensorFlow 1.15 only allows for bools."""
    return eval(text, {"a": tf.constant([1, -2]), "b": tf.constant([2, 2])})


TYPES = ("float16", "float64", "int8", "uint16", "int64", "bool", "complex64", "string")


@case(*[(source, target) for source in ("float32", "int32", "bool", "uint8") for target in TYPES])
def cast(tf: Any, source: str, target: str) -> Any:
    """Casts of values that the target type can represent."""
    return tf.cast(numbers(source, [0, 1.5, 100, 0.4]), target)


@case(*[(name, value) for name in ("to_float", "to_double", "to_int32", "to_int64")
        for value in ([1, 2], [1.9, -1.9], ["a"], True)])  # fmt: skip
def cast_by_name(tf: Any, name: str, value: Any) -> Any:
    """Casts with their own function."""
    return getattr(tf, name)(value)


@case(
    *[((2, 3), (3, 2), {}), ((2, 3), (2, 3), {}), ((3,), (3, 2), {}), ((2, 0), (0, 3), {})],
    *[((2, 3), (2, 3), {name: True}) for name in ("transpose_a", "transpose_b", "adjoint_a")],
    ((2, 2, 3), (2, 3, 1), {}),
    ((2, 2, 3), (3, 3, 1), {}),
    digits=5,
)
def product(tf: Any, first: Any, second: Any, options: dict[str, Any]) -> Any:
    """Matrix products."""
    values = [np.arange(np.prod(s), dtype=np.float32).reshape(s) for s in (first, second)]
    return tf.matmul(*values, **options)


@case(
    *[(dtype,) for dtype in ("int32", "int64", "float32", "float64", "complex64", "bool")], digits=5
)
def product_of(tf: Any, dtype: str) -> Any:
    """The types of matrix products."""
    return tf.matmul(tf.cast([[1, 2], [3, 4]], dtype), tf.cast([[0, 1], [1, 1]], dtype))


@case(
    *[([1.0, 5, 9], low, high) for low, high in ((2.0, 8.0), (8.0, 2.0), (2, 8), ([2.0] * 3, 3))],
    ([1, 5, 9], 2, 8),
    ([1, 5, 9], 2.5, 8),
    ([1, 5, 9], [1, 2], 8),
)
def clipped(tf: Any, values: Any, low: Any, high: Any) -> Any:
    """Values clipped to two bounds."""
    return tf.clip_by_value(values, low, high)


@case(([1, 2],), ([[1, 2], [3, 4]],), ([],), ([1, 2.5],), ([[1], [1, 2]],))
def sum_of(tf: Any, values: Any) -> Any:
    """`add_n` of a list."""
    return tf.add_n(values)


@case(
    *[(2, 10), (-2, 3), (2, -4), (0, 0), (2.0, 0.5), (-2.0, 0.5), (2, 0.5), ([2, 3], [[1], [2]])],
    digits=6,
)
def power(tf: Any, base: Any, exponent: Any) -> Any:
    """Powers. Integers with a negative exponent are rejected."""
    return tf.pow(base, exponent)


@case((True, "x"), (False, "x"), ([True, False], "x"), ([True, True], "x"), ("a", "x"), (1, "x"))
def asserted(tf: Any, condition: Any, data: str) -> Any:
    """`Assert` with a condition."""
    with tf.control_dependencies([tf.Assert(condition, [data])]):
        return tf.constant(1)
