"""Array operations: shapes, rows, joining, repeating, filling."""

from typing import Any

import numpy as np

from tensorflow_comparison.calls import known, unknown
from tensorflow_comparison.table import case, generated

GRID = np.arange(6, dtype=np.int32).reshape(2, 3)
CUBE = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
WORDS = [["a", "bc"], ["", "d"]]

# An operation, its tensors and its other arguments. A tuple means a list of tensors.
Call = tuple[str, list[Any], dict[str, Any]]

SHAPING: list[Call] = [
    *[("reshape", [CUBE, shape], {}) for shape in ([4, 6], [-1], [2, -1, 2], [24, 1, 1])],
    *[("reshape", [CUBE, shape], {}) for shape in ([5, 5], [-1, -1], [-1, 7], [-2, 12])],
    ("reshape", [[7], np.array([], np.int32)], {}),
    ("reshape", [np.zeros([0, 3], np.int32), [-1, 3]], {}),
    ("reshape", [np.zeros([0, 3], np.int32), [-1, 0]], {}),
    *[("expand_dims", [GRID, axis], {}) for axis in (0, 1, 2, -1, -3, 3, -4)],
    *[("squeeze", [np.ones([1, 2, 1])], {"axis": axis}) for axis in (None, 0, [0, 2], [-1], 1, 3)],
    *[("transpose", [CUBE], {"perm": perm}) for perm in (None, [2, 0, 1], [0, 0, 1], [0, 1])],
    *[(name, [CUBE], {}) for name in ("shape", "size", "rank", "identity", "zeros_like")],
    ("shape", [CUBE], {"out_type": "int64"}),
    ("size", [WORDS], {"out_type": "int64"}),
    *[("broadcast_to", [[[1], [2]], shape], {}) for shape in ([2, 3], [4, 2, 1], [3, 3], [2])],
    ("reverse", [CUBE, [0]], {}),
    ("reverse", [CUBE, [-1, 1]], {}),
    ("reverse", [CUBE, [1, -2]], {}),
    ("reverse", [CUBE, [3]], {}),
]

JOINING: list[Call] = [
    ("concat", [(GRID, GRID)], {"axis": 0}),
    ("concat", [(GRID, GRID[:, :1])], {"axis": 1}),
    ("concat", [(GRID, GRID[:, :1])], {"axis": -1}),
    ("concat", [(GRID, GRID[:, :1])], {"axis": 0}),
    ("concat", [(GRID, [1, 2, 3])], {"axis": 0}),
    ("concat", [(GRID,)], {"axis": 2}),
    ("concat", [(GRID, GRID)], {"axis": -3}),
    ("concat", [(1, 2)], {"axis": 0}),
    ("concat", [(WORDS, WORDS[:1])], {"axis": 0}),
    ("concat", [(GRID, CUBE[0, :2, :3])], {"axis": 0}),
    ("concat", [(GRID, np.zeros([2, 0], np.int32))], {"axis": 1}),
    *[("stack", [(GRID, GRID + 6)], {"axis": axis}) for axis in (0, 1, -1, -3, 3, -4)],
    ("stack", [(GRID, [1])], {}),
    ("stack", [(1, 2, 3)], {}),
    *[("unstack", [GRID], {"axis": axis}) for axis in (0, 1, -1, 2)],
    ("unstack", [GRID], {"num": 2}),
    ("unstack", [GRID], {"num": 3}),
    ("unstack", [3], {}),
    ("split", [CUBE, 2], {}),
    *[("split", [CUBE], {"num_or_size_splits": n, "axis": 2}) for n in (2, 3, [1, 3], [1, -1])],
    ("split", [CUBE], {"num_or_size_splits": [1, 1], "axis": 1}),
    ("split", [CUBE], {"num_or_size_splits": [-1, -1], "axis": 1}),
    ("split", [CUBE], {"num_or_size_splits": [1, 2], "axis": 5}),
    ("split", [WORDS], {"num_or_size_splits": 2, "axis": -1}),
]

SELECTION: list[Call] = [
    ("gather", [GRID, [1, 0, 1]], {}),
    ("gather", [GRID, [[2], [0]]], {"axis": 1}),
    ("gather", [GRID, 1], {"axis": -1}),
    ("gather", [WORDS, np.array([1], np.int64)], {}),
    ("gather", [GRID, [2]], {}),
    ("gather", [GRID, [-1]], {}),
    ("gather", [GRID, [0.5]], {}),
    ("gather", [3, [0]], {}),
    ("gather", [GRID, np.zeros([0], np.int32)], {}),
    ("gather_nd", [GRID, [[0, 1], [1, 2]]], {}),
    ("gather_nd", [GRID, [[1]]], {}),
    ("gather_nd", [GRID, [[0, 3]]], {}),
    ("gather_nd", [GRID, [[0, 1, 2]]], {}),
    ("gather_nd", [CUBE, [1, 2]], {}),
    ("boolean_mask", [GRID, [True, False]], {}),
    ("boolean_mask", [[1, 2, 3], [True, False, True]], {}),
    ("boolean_mask", [GRID, [[True, False, True], [False, False, True]]], {}),
    ("boolean_mask", [GRID, [True, False, True]], {"axis": 1}),
    ("boolean_mask", [GRID, [True, False, True]], {}),
    ("boolean_mask", [GRID, True], {}),
    ("where", [[[True, False], [False, True]]], {}),
    ("where", [[0, 3, 0, -1]], {}),
    ("where", [True], {}),
    ("where", [[True, False], [1, 2], [3, 4]], {}),
    ("where", [[True, False], GRID, -GRID], {}),
    ("where", [True, GRID, -GRID], {}),
    ("where", [[True, False, True], GRID, -GRID], {}),
    ("where", [[True, False], [1, 2], [3, 4, 5]], {}),
    ("where", [[True, False], [1, 2]], {}),
    ("slice", [CUBE, [0, 1, 2], [2, 1, 2]], {}),
    ("slice", [CUBE, [1, 0, 1], [-1, 2, -1]], {}),
    ("slice", [CUBE, [0, 0, 3], [1, 1, 2]], {}),
    ("slice", [CUBE, [0, 0], [1, 1]], {}),
    ("slice", [CUBE, [0, -1, 0], [1, 1, 1]], {}),
    ("slice", [WORDS, [1, 0], [1, 2]], {}),
    ("strided_slice", [CUBE, [0, 2], [2, 0], [1, -1]], {}),
    ("strided_slice", [CUBE, [1], [2]], {"shrink_axis_mask": 1}),
    ("strided_slice", [CUBE, [1], [9]], {"begin_mask": 1}),
    ("strided_slice", [CUBE, [0], [2], [0]], {}),
    ("strided_slice", [CUBE, [0, 0, 0, 0], [1, 1, 1, 1]], {}),
]

REPEATING: list[Call] = [
    *[("tile", [GRID, multiples], {}) for multiples in ([2, 1], [0, 3], [1, 2], [2], [-1, 1])],
    ("tile", [WORDS, [1, 2]], {}),
    *[
        ("pad", [GRID, [[1, 0], [2, 1]]], {"mode": mode})
        for mode in ("CONSTANT", "reflect", "SYMMETRIC", "bogus")
    ],
    ("pad", [GRID, [[0, 0], [2, 2]]], {"mode": "REFLECT"}),
    ("pad", [GRID, [[0, 0], [3, 0]]], {"mode": "REFLECT"}),
    ("pad", [GRID, [[0, 0], [3, 0]]], {"mode": "SYMMETRIC"}),
    ("pad", [GRID, [[0, 0], [4, 0]]], {"mode": "SYMMETRIC"}),
    ("pad", [GRID, [[1, 1]]], {}),
    ("pad", [GRID, [[-1, 1], [0, 0]]], {}),
    ("pad", [GRID, [[1, 1], [0, 0]]], {"constant_values": 7}),
    ("one_hot", [[0, 2, -1, 5], 3], {}),
    ("one_hot", [[[0], [1]], 2], {"axis": 0}),
    ("one_hot", [[0, 1], 2], {"axis": 1, "on_value": 5, "off_value": -1}),
    ("one_hot", [[0, 1], 2], {"on_value": "yes", "off_value": "no", "dtype": "string"}),
    ("one_hot", [[0, 1], 2], {"dtype": "bool"}),
    ("one_hot", [[0, 1], 2], {"on_value": 5.0, "off_value": 1}),
    ("one_hot", [[0, 1], -1], {}),
    ("one_hot", [[0, 1], 2], {"axis": 3}),
    ("one_hot", [[0.5], 2], {}),
    ("fill", [[2, 2], "x"], {}),
    ("fill", [[2, 0], 1.5], {}),
    ("fill", [[-1], 1], {}),
    ("fill", [[[1]], 1], {}),
    ("fill", [[1], [1, 2]], {}),
    ("zeros", [[2, 3]], {"dtype": "string"}),
    ("ones", [[2]], {"dtype": "bool"}),
    ("ones", [[2]], {"dtype": "string"}),
    ("ones_like", [GRID], {"dtype": "float64"}),
    ("range", [5], {}),
    ("range", [2, 9, 3], {}),
    ("range", [9, 2, -3], {}),
    ("range", [1, 9, 0], {}),
    ("range", [9, 2], {}),
    ("range", [0, 1, 0.25], {}),
    ("range", [0.5, 3], {}),
]

CALLS = SHAPING + JOINING + SELECTION + REPEATING


@case(*CALLS)
def called(tf: Any, name: str, values: list[Any], options: dict[str, Any]) -> Any:
    """Operations on known values."""
    return known(tf, name, *values, **options)


@case(*CALLS)
def of_unknown_shape(tf: Any, name: str, values: list[Any], options: dict[str, Any]) -> Any:
    """Operations on tensors of which only the type is known before they run."""
    return unknown(tf, name, *values, **options)


@case((1,), (5,), (0,))
def linspace_of_unknown(tf: Any, num: int) -> Any:
    """Evenly spaced numbers between two that are only known at run time."""
    return unknown(tf, "linspace", 1.0, 2.0, num)


@case((1,), (5,))
def linspace(tf: Any, num: int) -> Any:
    """Evenly spaced numbers between two others."""
    return tf.linspace(1.0, 2.0, num)


@case()
def range_of_another_type(tf: Any) -> Any:
    """A range up to an integer tensor, requested as floats."""
    return unknown(tf, "range", 3, dtype="float64")


@case()
def one_hot_of_an_integer_as_a_fraction(tf: Any) -> Any:
    """A value of a different type than the requested one."""
    return tf.one_hot([0, 1], 2, on_value=5, dtype="float32")


INDICES: list[tuple[Any]] = [
    (0,),
    (-1,),
    (2,),
    (slice(1, None),),
    (slice(None, None, -1),),
    (slice(5, 1, -2),),
    ((0, 2),),
    ((slice(None), 1, slice(0, 2)),),
    ((Ellipsis, 0),),
    ((0, Ellipsis),),
    ((None, 0),),
    ((Ellipsis, None),),
    ((0, Ellipsis, Ellipsis),),
    ((0, 0, 0, 0),),
    (0.5,),
    ("a",),
    ([0, 1],),
    (slice(None, None, 0),),
    (slice(0.5, 1),),
    ((slice(0, 0),),),
    ((slice(None), slice(None), -5),),
]


@case(*INDICES)
def indexed(tf: Any, index: Any) -> Any:
    """`tensor[index]`."""
    return tf.constant(CUBE)[index]


@case(*INDICES)
def indexed_of_unknown_shape(tf: Any, index: Any) -> Any:
    """`tensor[index]` of a tensor whose shape is only known at run time."""
    return tf.placeholder_with_default(CUBE, None)[index]


@generated("indices")
def indexed_by_any(tf: Any, index: Any) -> Any:
    """Indices generated by Hypothesis."""
    return [
        tensor[index] for tensor in (tf.constant(CUBE), tf.placeholder_with_default(CUBE, None))
    ]


@case((1, 2), (0, 0), (-2, 3), (2, 1))
def indexed_by_tensors(tf: Any, first: int, last: int) -> Any:
    """`tensor[index]` with tensors in the index."""
    cube, first, last = tf.constant(CUBE), tf.constant(first), tf.constant(last)
    return cube[:, first:last], cube[first % 2, ..., last]


@case(
    ((3,), "float32"),
    ((None, 2), "int32"),
    (None, "string"),
    ((), "bool"),
    ((2, 2), "int32"),
    ((3, 2), "bogus"),
)
def placeholder_of(tf: Any, shape: Any, dtype: str) -> Any:
    """The static properties of a placeholder and of tensors computed from it."""
    tensor = tf.placeholder(dtype, shape, name="given")
    stacked = tf.stack([tensor, tensor])
    return [(t.name, t.dtype.name, str(t.shape)) for t in (tensor, stacked, tf.shape(tensor))]


@case(
    *[
        (name, axis, keepdims)
        for name in ("reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod")
        for axis, keepdims in ((None, False), (1, True), ([0, -1], False), (3, False), ([], False))
    ],
    *[(name, axis, False) for name in ("reduce_any", "reduce_all") for axis in (None, 0, [1, 1])],
    ("reduce_sum", "a", False),
    ("reduce_sum", [0, 3], True),
    ("reduce_max", -4, True),
    digits=6,
)
def reduced(tf: Any, name: str, axis: Any, keepdims: bool) -> Any:
    """Reductions of known and unknown shapes."""
    values = CUBE % 2 == 0 if name in {"reduce_any", "reduce_all"} else CUBE + 1
    unknown_shape = tf.placeholder_with_default(values, None)
    function = getattr(tf, name)
    return [function(array, axis, keepdims=keepdims) for array in (values, unknown_shape)]


@case(*[(name, dtype) for name in ("reduce_sum", "reduce_mean", "reduce_max", "reduce_prod")
        for dtype in ("int8", "uint8", "int64", "float16", "bool", "string", "complex64")]
)  # fmt: skip
def reduced_type(tf: Any, name: str, dtype: str) -> Any:
    """The types that reductions accept, and how integers overflow."""
    array = tf.constant(["a", "b"]) if dtype == "string" else tf.cast([100, 100, 1, 3], dtype)
    return getattr(tf, name)(array)


@case(*[(name, axis) for name in ("reduce_sum", "reduce_mean", "reduce_max", "reduce_prod",
                                  "reduce_min", "argmax") for axis in (0, 1)])  # fmt: skip
def reduced_nothing(tf: Any, name: str, axis: int) -> Any:
    """Reductions over an axis without elements, and over the other axis."""
    return getattr(tf, name)(np.zeros([0, 2], np.float32), axis)


@case(*[(name, axis, output) for name in ("argmax", "argmin") for axis in (None, 0, 2, -1, 3)
        for output in ("int64", "int32")])  # fmt: skip
def extreme(tf: Any, name: str, axis: int | None, output: str) -> Any:
    """The positions of the largest and the smallest element, or of the first of several."""
    return getattr(tf, name)(CUBE % 5, axis, output_type=output)


@case(
    *[({"axis": axis, "keepdims": keepdims},) for axis in (None, 1) for keepdims in (False, True)],
    ({"dtype": "int32"},),
    ({"axis": 4},),
)
def nonzero_of(tf: Any, options: dict[str, Any]) -> Any:
    """The number of nonzero elements."""
    return tf.count_nonzero(CUBE % 3, **options), tf.count_nonzero([0, 7, -1])


@generated("small_arrays")
def reductions_of(tf: Any, rows: list[list[int]]) -> Any:
    """Sums, products and extremes over each axis and over all axes."""
    array = tf.constant(rows, tf.int32, shape=[len(rows), len(rows[0])])
    return [
        function(array, axis=axis, keepdims=keepdims)
        for function in (tf.reduce_sum, tf.reduce_prod, tf.reduce_max, tf.reduce_min)
        for axis in (None, 0, 1, [0, 1])
        for keepdims in (False, True)
    ]
