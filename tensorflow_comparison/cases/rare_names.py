"""Rarely used names: image similarity, padded suppression, partitioners and seeking."""

from pathlib import Path
from typing import Any

import numpy as np

from tensorflow_comparison.table import case


def images_of(shape: list[int], kind: str, seed: int) -> Any:
    """Returns images with some structure, which are equal in both libraries."""
    drawn = np.random.default_rng(seed).uniform(size=shape)
    rows = np.linspace(0, 6, shape[-3])[:, None, None]
    smooth = 0.5 + 0.4 * np.sin(rows + seed) + 0.1 * (drawn - 0.5)
    values = np.broadcast_to(smooth, shape)
    return (values * 255).astype(np.uint8) if kind == "uint8" else values.astype(kind)


@case(
    *(
        ([2, 16, 19, 3], "float32", 1.0),
        ([13, 14, 1], "uint8", 255),
        ([2, 3, 12, 12, 2], "uint8", 255),
    ),
    *(
        ([1, 11, 11, 3], "float64", 1.0),
        ([1, 10, 19, 3], "float32", 1.0),
        ([16, 19], "float32", 1.0),
    ),
    digits=4,
)
def structural_similarity(tf: Any, shape: list[int], kind: str, max_val: Any) -> Any:
    """`tf.image.ssim`; images smaller than the window are an error."""
    first, second = images_of(shape, kind, 1), images_of(shape, kind, 2)
    return tf.image.ssim(first, second, max_val), tf.image.ssim(first, first, max_val)


@case((7, 0.8, 0.02, 0.05), (4, 1.5, 0.01, 0.03), digits=4)
def structural_similarity_in_another_window(tf: Any, *window: Any) -> Any:
    """Sizes, widths and constants of the window. Leading axes are broadcast."""
    first, second = (
        images_of([1, 3, 9, 12, 2], "float32", 3),
        images_of([2, 1, 9, 12, 2], "float32", 4),
    )
    return tf.image.ssim(first, second, 1.0, *window)


@case(
    *(([2, 180, 176, 3], "float32", 1.0), ([181, 179, 1], "uint8", 255)),
    *(([1, 170, 200, 1], "float32", 1.0), ([2, 200, 200], "uint8", 255)),
    digits=3,
)
def structural_similarity_at_several_scales(tf: Any, shape: list[int], kind: str, peak: Any) -> Any:
    """`tf.image.ssim_multiscale`; images that become too small are an error."""
    first, second = images_of(shape, kind, 1), images_of(shape, kind, 7)
    return tf.image.ssim_multiscale(first, second, peak)


@case((0.5, 0.3), (1.0, 0.0), digits=3)
def structural_similarity_with_other_powers(tf: Any, *powers: float) -> Any:
    """Two scales."""
    first, second = images_of([2, 23, 25, 2], "float32", 1), images_of([2, 23, 25, 2], "float32", 5)
    return tf.image.ssim_multiscale(first, second, 1.0, powers)


@case((3, False), (3, True), (9, False), (9, True), (0, True), (-1, True))
def suppression_with_padding(tf: Any, most: int, is_padded: bool) -> Any:
    """`tf.image.non_max_suppression_padded`."""
    corners = [
        [0, 0, 1, 1],
        [0, 0.1, 1, 1.1],
        [0, -0.1, 1, 0.9],
        [0, 10, 1, 11],
        [0, 10.1, 1, 11.1],
    ]
    scores = [0.9, 0.75, 0.6, 0.95, 0.5]
    boxes = tf.constant(corners, tf.float32)
    chosen = tf.image.non_max_suppression_padded(
        boxes, tf.constant(scores), most, pad_to_max_output_size=is_padded
    )
    return list(chosen)


@case(
    ("bilinear", False), ("area", False), ("nearest", False), ("lanczos3", True), ("bicubic", True)
)
def resized_with_pad_as_in_2(tf: Any, method: str, antialias: bool) -> Any:
    """`compat.v2.image.resize_with_pad`."""
    if tf.__name__.startswith("headrace"):
        v2 = tf.compat.v2
    else:
        import tensorflow as v2  # noqa: PLC0415
    image = tf.constant(images_of([9, 5, 2], "float32", 1))
    return [
        tf.cast(tf.round(v2.image.resize_with_pad(image, *size, method, antialias) * 1e4), tf.int32)
        for size in ((6, 8), (12, 4))
    ]


@case(([10, 4], "float32"), ([3, 2, 5], "string"), ([7], "int64"))
def parts_of_variables(tf: Any, sizes: list[int], dtype: str) -> Any:
    """The partitioners."""
    partitioners = [
        *(tf.fixed_size_partitioner(3), tf.variable_axis_size_partitioner(24, max_shards=5)),
        tf.min_max_variable_partitioner(4, min_slice_size=16),
    ]
    shape = tf.TensorShape(sizes)
    return [one(shape=shape, dtype=tf.as_dtype(dtype)) for one in partitioners]


@case((0,), (1,), (2,))
def variables_that_must_have_values(tf: Any, count: int) -> Any:
    """`assert_variables_initialized`, before and after."""
    for number in range(count):
        tf.Variable(tf.zeros([2] * number), name=f"v{number}")
    checked = tf.assert_variables_initialized()
    if checked is None:
        return "none"
    with tf.Session() as session:
        try:
            session.run(checked)
        except tf.errors.FailedPreconditionError:
            session.run(tf.global_variables_initializer())
            return session.run(checked)
    return "no error"


@case(({},), ({"max_to_keep": 3, "keep_checkpoint_every_n_hours": 2.5},), ({"sharded": True},))
def savers_as_messages(tf: Any, options: dict[str, Any]) -> Any:
    """`Saver.as_saver_def`."""
    tf.Variable(1.0)
    saver = tf.train.Saver(**options)
    message = saver.as_saver_def()
    again = saver.to_proto().max_to_keep
    hours = message.keep_checkpoint_every_n_hours
    return message.max_to_keep, message.sharded, hours, message.version, again


@case(
    *(({"offset": 5},), ({"position": 7},), ({"offset": 2, "whence": 1},)),
    *(({"offset": -3, "whence": 2},), ({},), ({"offset": 1, "position": 2},)),
    *(({"offset": 1, "whence": 7},), ({"offset": -1},)),
    with_files=True,
)
def seeks(tf: Any, arguments: dict[str, int], directory: Path) -> Any:
    """`GFile.seek` and `seekable`."""
    path = directory / "file"
    path.write_bytes(bytes(range(65, 91)))
    with tf.gfile.GFile(str(path)) as file:
        file.read(3)
        file.seek(**arguments)
        return file.seekable(), file.tell(), file.read(2)
