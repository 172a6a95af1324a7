"""Patches, gradients and overlaps of images, tensors as messages, and slices with indices."""

from typing import Any

import numpy as np

from tensorflow_comparison.calls import known
from tensorflow_comparison.table import case

PICTURE = np.round(np.arange(2 * 5 * 6 * 2, dtype=np.float32).reshape(2, 5, 6, 2) ** 1.5)
BYTES = np.arange(48, dtype=np.uint8).reshape(1, 4, 4, 3)


@case(
    *[
        ([1, rows, columns, 1], [1, *steps, 1], [1, gap, gap, 1], padding)
        for rows, columns in ((1, 1), (2, 3), (3, 3))
        for steps in ((1, 1), (2, 3))
        for gap in (1, 2)
        for padding in ("SAME", "VALID")
    ],
    ([2, 1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1], "SAME"),
    ([1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1], "SAME"),
    ([1, 9, 9, 1], [1, 1, 1, 1], [1, 1, 1, 1], "VALID"),
    ([1, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1], "same"),
    (3, [1, 1, 1, 1], [1, 1, 1, 1], "SAME"),
)
def patches(tf: Any, sizes: Any, steps: Any, gaps: Any, padding: str) -> Any:
    """`extract_image_patches`."""
    result = tf.extract_image_patches(PICTURE, sizes, steps, gaps, padding)
    unknown = tf.placeholder_with_default(BYTES, None)
    return result, tf.image.extract_image_patches(unknown, sizes, steps, gaps, padding)


@case(
    *[
        (name, picture)
        for name in ("total_variation", "image_gradients", "sobel_edges")
        for picture in (PICTURE, PICTURE[0], PICTURE[0, 0])
    ],
    digits=5,
)
def neighbours(tf: Any, name: str, picture: Any) -> Any:
    """Differences between neighbouring pixels."""
    return getattr(tf.image, name)(tf.constant(picture))


@case(
    *[(a, b, peak) for a, b in ((BYTES, BYTES[:, ::-1]), (BYTES, BYTES)) for peak in (255, 1)],
    (PICTURE, PICTURE / 2, 100.0),
    (PICTURE, PICTURE[:, :2], 100.0),
    (PICTURE[0, 0], PICTURE[0, 0], 1.0),
    digits=4,
)
def noise(tf: Any, a: Any, b: Any, peak: float) -> Any:
    """`psnr`."""
    return tf.image.psnr(tf.constant(a), tf.constant(b), peak)


BOXES = [[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11], [1, 10.1, 0, 11.1]]
SCORES = [0.9, 0.75, 0.6, 0.95, 0.5]


@case(
    *[(3, arguments) for arguments in ({}, {"iou_threshold": 0.9}, {"score_threshold": 0.7})],
    (0, {}),
    (9, {"iou_threshold": 0.0}),
    (3, {"iou_threshold": 1.5}),
    (-1, {}),
)
def suppressed(tf: Any, number: int, arguments: Any) -> Any:
    """`non_max_suppression`."""
    boxes = tf.constant(BOXES, tf.float32)
    return tf.image.non_max_suppression(boxes, SCORES, number, **arguments)


@case((3, 0.5), (2, 0.05), (9, 0.2))
def suppressed_by_table(tf: Any, number: int, threshold: float) -> Any:
    """`non_max_suppression_overlaps`."""
    table = np.array([[1, 0.6, 0], [0.6, 1, 0.1], [0, 0.1, 1]], np.float32)
    result = tf.image.non_max_suppression_overlaps(table, [0.5, 0.9, 0.7], number, threshold)
    return result, known(tf, "image.non_max_suppression_overlaps", table, [0.5, 0.9], number)


VALUES: list[Any] = [
    *(1, 1.5, True, "a", b"\xff", [1, 2], [[1.5]], ["a", "bc"], [], np.float64(3)),
    *(np.arange(6).reshape(2, 3), np.array([1 + 2j]), np.array([1, 2], np.float16), None, [1, "a"]),
]


@case(*[(value,) for value in VALUES])
def messages(tf: Any, value: Any) -> Any:
    """`make_tensor_proto` and `make_ndarray`."""
    message = tf.make_tensor_proto(value)
    array = tf.make_ndarray(message)
    return str(message), array.dtype.kind, array.shape, array.tolist()


@case(
    ([1, 2], {"dtype": np.float32}),
    ([1.5], {"dtype": np.int32}),
    (7, {"shape": [2, 3]}),
    ([1, 2, 3, 4], {"shape": [2, 2]}),
    ([1, 2, 3], {"shape": [2]}),
    ([[1, 2]], {"shape": [2], "verify_shape": True}),
)
def messages_of_a_shape(tf: Any, value: Any, arguments: Any) -> Any:
    """Messages whose type or shape differs from the value's."""
    message = tf.make_tensor_proto(value, **arguments)
    return str(message), tf.make_ndarray(message).tolist()


@case()
def slices(tf: Any) -> Any:
    """`IndexedSlices` as a tensor, and its parts."""
    rows = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    tensor = tf.IndexedSlices(rows, tf.constant([2, 0, 2]), tf.constant([4, 2]))
    without = tf.IndexedSlices(rows, tf.constant([2, 0, 2]))
    same = tf.convert_to_tensor_or_indexed_slices(tensor) is tensor
    other = tf.convert_to_tensor_or_indexed_slices([1, 2])
    return tf.convert_to_tensor(tensor), (-tensor).values, without.dense_shape, same, other


@case()
def slices_of_no_shape(tf: Any) -> Any:
    """Slices without a known shape cannot be converted to a tensor."""
    rows = tf.constant([[1.0, 2.0]])
    return tf.convert_to_tensor(tf.IndexedSlices(rows, tf.constant([2])))
