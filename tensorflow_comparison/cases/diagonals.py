"""Diagonals, block matrices, scattered slices, sorting, counting, one-hot rows."""

from typing import Any

import numpy as np

from tensorflow_comparison.calls import known, unknown
from tensorflow_comparison.table import case

GRID = np.arange(6, dtype=np.float32).reshape(2, 3)
CUBE = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
PICTURE = np.arange(64, dtype=np.float32).reshape(1, 4, 4, 4)
MIXED = np.array([[3, -1, 2, -1], [0, 7, 7, -5]])

Call = tuple[str, list[Any], dict[str, Any]]

DIAGONALS: list[Call] = [
    ("diag", [[1.0, 2.0]], {}),
    ("diag", [GRID], {}),
    ("diag", [3.0], {}),
    ("diag", [["a"]], {}),
    ("diag_part", [np.arange(9).reshape(3, 3)], {}),
    ("diag_part", [np.arange(36).reshape(2, 3, 2, 3)], {}),
    ("diag_part", [GRID], {}),
    ("diag_part", [CUBE], {}),
    ("matrix_diag", [GRID], {}),
    ("matrix_diag", [[1, 2]], {}),
    ("matrix_diag", [1.0], {}),
    *[("matrix_diag_part", [value], {}) for value in (GRID, CUBE, [1.0])],
    ("matrix_set_diag", [GRID, [7.0, 8.0]], {}),
    ("matrix_set_diag", [GRID, [7.0, 8.0, 9.0]], {}),
    ("matrix_set_diag", [CUBE, GRID], {}),
    *[
        ("matrix_band_part", [CUBE, low, high], {})
        for low, high in ((0, 0), (-1, 0), (1, -1), (0, 1))
    ],
    ("matrix_band_part", [[1.0], 0, 0], {}),
    *[("matrix_transpose", [value], {}) for value in (GRID, CUBE, [1.0])],
    ("cross", [[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]], {}),
    ("cross", [[[1, 2, 3]], [[4, 5, 7]]], {}),
    ("cross", [[1.0, 2.0], [4.0, 5.0]], {}),
]

BLOCKS: list[Call] = [
    ("depth_to_space", [PICTURE], {"block_size": 2}),
    ("depth_to_space", [PICTURE], {"block_size": 3}),
    ("depth_to_space", [PICTURE], {"block_size": 1}),
    ("depth_to_space", [GRID], {"block_size": 2}),
    ("space_to_depth", [PICTURE], {"block_size": 2}),
    ("space_to_depth", [PICTURE], {"block_size": 4}),
    ("space_to_depth", [PICTURE], {"block_size": 3}),
    ("reverse_sequence", [CUBE, [2, 3]], {"seq_axis": 1, "batch_axis": 0}),
    ("reverse_sequence", [CUBE, [1, 0]], {"seq_axis": 2, "batch_axis": 0}),
    ("reverse_sequence", [CUBE, [1, 2, 0]], {"seq_axis": 0, "batch_axis": 1}),
    ("reverse_sequence", [CUBE, [1, 2, 4]], {"seq_axis": 2, "batch_axis": 1}),
    ("reverse_sequence", [CUBE, [1, 4]], {"seq_axis": 1, "batch_axis": 0}),
    ("reverse_sequence", [CUBE, [1, 2, 2]], {"seq_axis": 1, "batch_axis": 0}),
    ("reverse_sequence", [CUBE, [1, 2]], {"seq_axis": 0, "batch_axis": 0}),
]

PLACES: list[Call] = [
    ("scatter_nd", [[[1], [3], [1]], [1, 2, 3], [5]], {}),
    ("scatter_nd", [[[1, 2], [0, 0]], [1.0, 2.0], [2, 3]], {}),
    ("scatter_nd", [[[1]], [[1.0, 2.0]], [2, 2]], {}),
    ("scatter_nd", [[[2]], [1.0], [2]], {}),
    ("scatter_nd", [[[1]], [1.0, 2.0], [2]], {}),
    *[
        (name, [GRID, indices, updates], {})
        for name in ("tensor_scatter_update", "tensor_scatter_add", "tensor_scatter_sub")
        for indices, updates in (
            ([[1, 1]], [9.0]),
            ([[1]], [[7.0, 8.0, 9.0]]),
            ([[2]], [[7.0, 8.0, 9.0]]),
            ([[0]], [[7.0, 8.0]]),
        )
    ],
    ("batch_gather", [GRID, [[0, 2], [1, 1]]], {}),
    ("batch_gather", [GRID, [[0, 3], [1, 1]]], {}),
    ("unravel_index", [[5, 0], [2, 3]], {}),
    ("unravel_index", [4, [2, 3]], {}),
    ("unravel_index", [[6], [2, 3]], {}),
]

ORDERS: list[Call] = [
    *[
        (name, [MIXED.astype(dtype)], {"axis": axis, "direction": direction})
        for name in ("sort", "argsort")
        for dtype in ("int32", "float32", "int64")
        for axis in (-1, 0)
        for direction in ("ASCENDING", "DESCENDING")
    ],
    ("sort", [np.array([3, 0, 255], np.uint8)], {}),
    ("sort", [np.array([3, np.iinfo(np.int32).min, 7], np.int32)], {}),
    ("sort", [MIXED], {"direction": "UP"}),
    ("sort", [MIXED], {"axis": 2}),
    *[
        ("searchsorted", [[[1.0, 2.0, 2.0, 5.0]], [[2.0, 0.0, 9.0]]], {"side": side})
        for side in ("left", "right", "middle")
    ],
    ("searchsorted", [[1, 2, 5], [3, 5]], {}),
]

COUNTS: list[Call] = [
    ("histogram_fixed_width", [[-1.0, 0.0, 1.5, 2.0, 5.0, 15.0], [0.0, 5.0]], {"nbins": 5}),
    ("histogram_fixed_width", [[1, 2, 3], [0, 4]], {"nbins": 3}),
    ("histogram_fixed_width", [[1.0], [2.0, 2.0]], {"nbins": 3}),
    ("histogram_fixed_width", [[1.0], [0.0, 2.0]], {"nbins": 0}),
    ("histogram_fixed_width_bins", [[-1.0, 0.0, 1.5, 2.0, 5.0, 15.0], [0.0, 5.0]], {"nbins": 5}),
]

SEGMENTS: list[Call] = [
    *[
        (f"segment_{how}", [rows, numbers], {})
        for how in ("sum", "prod", "mean", "max", "min")
        for rows, numbers in (
            ([1.0, 2.0, 3.0, 4.0], [0, 0, 1, 3]),
            ([[1, 2], [3, 4]], [0, 0]),
            ([1.0, 2.0], [1, 0]),
            ([1.0, 2.0], [0]),
        )
    ],
    *[
        (f"unsorted_segment_{how}", [rows, numbers], {"num_segments": 3})
        for how in ("sum", "prod", "max", "min")
        for rows, numbers in (
            ([1.0, 2.0, 3.0], [2, 0, 2]),
            ([[1, 2], [3, 4]], [1, -1]),
            ([[1.0, 2.0], [3.0, 4.0]], [[0, 1], [1, 0]]),
            ([1.0, 2.0], [0, 3]),
            ([1.0, 2.0], [0, 1, 2]),
        )
    ],
    *[
        (f"unsorted_segment_{how}", [[[1.0, 2.0], [3.0, 4.0]], [1, 1]], {"num_segments": 2})
        for how in ("mean", "sqrt_n")
    ],
]


@case(*[(call,) for call in DIAGONALS + BLOCKS + PLACES + ORDERS + COUNTS + SEGMENTS], digits=6)
def of_known(tf: Any, call: Call) -> Any:
    """Operations on constants."""
    return known(tf, call[0], *call[1], **call[2])


@case(*[(call,) for call in DIAGONALS + BLOCKS + PLACES + COUNTS + SEGMENTS], digits=6)
def of_unknown(tf: Any, call: Call) -> Any:
    """Operations on tensors whose values and shapes are unknown in the graph."""
    return unknown(tf, call[0], *call[1], **call[2])


@case(
    *[
        (numbers, arguments)
        for numbers in ([1, 5, 1, 2], [], [[1, 2], [3, 1]], [-1, 2])
        for arguments in ({}, {"minlength": 8}, {"maxlength": 3}, {"dtype": np.int64})
    ]
)
def counted(tf: Any, numbers: Any, arguments: Any) -> Any:
    """`bincount`, whose length is only known in later versions of TensorFlow."""
    tensor = tf.placeholder_with_default(np.array(numbers, np.int32), None)
    result = tf.bincount(tensor, **arguments)
    result.set_shape([None])
    with tf.Session() as session:
        return session.run(result)


@case(([1, 2, 2], [0.5, 1.0, 2.0]), ([1, 2], [1, 2]))
def counted_with_weights(tf: Any, numbers: Any, weights: Any) -> Any:
    """`bincount` with weights."""
    with tf.Session() as session:
        return session.run(tf.bincount(numbers, weights=weights))


@case(
    *[
        (labels, predictions, arguments)
        for labels, predictions in (
            ([1, 2, 4], [2, 2, 4]),
            ([[1], [0]], [1, 1]),
            ([0, 1], [-1, 0]),
            ([0, 1, 1], [0, 1]),
        )
        for arguments in ({}, {"num_classes": 5}, {"num_classes": 2}, {"dtype": np.float32})
    ],
    ([0, 1], [1, 1], {"weights": [2, 3]}),
    ([0, 1], [1, 1], {"weights": [2.5, 3], "dtype": np.float32, "num_classes": 3}),
    ([0, 1], [1, 1], {"weights": [2.5, 3, 1]}),
)
def confused(tf: Any, labels: Any, predictions: Any, arguments: Any) -> Any:
    """`confusion_matrix`."""
    with tf.Session() as session:
        return session.run(tf.confusion_matrix(labels, predictions, **arguments))


SEQUENCES = {
    "abc": ([[0, 0], [0, 1], [0, 2]], ["a", "b", "c"], [2, 3]),
    "ac and d": ([[0, 0], [0, 1], [1, 0]], ["a", "c", "d"], [2, 2]),
    "none": (np.zeros([0, 2], np.int64), np.array([], object), [2, 2]),
}


@case(*[(a, b, n) for a in SEQUENCES for b in SEQUENCES for n in (True, False)])
def distances(tf: Any, hypothesis: str, truth: str, normalize: bool) -> Any:
    """`edit_distance`."""
    first, second = (
        tf.SparseTensor(indices, tf.constant(values, tf.string), shape)
        for indices, values, shape in (SEQUENCES[hypothesis], SEQUENCES[truth])
    )
    return tf.edit_distance(first, second, normalize)
