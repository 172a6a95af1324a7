"""Images that lose detail like a JPEG of low quality."""

from typing import Any

import numpy as np

from tensorflow_comparison.table import case


@case(
    *[
        (dtype, channels, q)
        for dtype in ("uint8", "float32")
        for channels in (1, 3)
        for q in (5, 60, 95)
    ],
    digits=4,
)
def worse_jpegs(tf: Any, dtype: str, channels: int, quality: int) -> Any:
    """`tf.image.adjust_jpeg_quality` with a known and a computed quality."""
    rows = np.linspace(0, 1, 24 * 16 * channels).reshape(24, 16, channels)
    image = (rows * 255).astype(dtype) if dtype == "uint8" else rows.astype(dtype)
    changed = tf.image.adjust_jpeg_quality(image, quality)
    computed = tf.image.adjust_jpeg_quality(image, tf.identity(quality))
    with tf.Session() as session:
        return changed.shape.as_list()[-1], session.run([changed, computed])


@case((-1, 20), (20, 20), (20, 101))
def jpegs_of_no_quality(tf: Any, low: int, high: int) -> Any:
    """Invalid quality ranges."""
    return tf.image.random_jpeg_quality(np.zeros([4, 4, 3], np.uint8), low, high)


@case((101, 3), (-1, 3), (50, 2), (50, 4))
def jpegs_that_cannot_be(tf: Any, quality: int, channels: int) -> Any:
    """A quality and a number of channels that JPEG does not support."""
    return tf.image.adjust_jpeg_quality(np.zeros([4, 4, channels], np.uint8), quality)
