"""Operations on arrays, images, strings and queues, with the types that they mostly have."""

from collections.abc import Iterator
from typing import Any

import numpy as np

import headrace.tf1 as tf
from benchmarks.typical.data import encoded, photo

SHAPE = (64, 500)
FLOATS = ["float32", "float64"]
NUMBERS = [*FLOATS, "int32", "int64"]
OF_FLOATS = [
    *("exp", "log", "log1p", "sqrt", "rsqrt", "tanh", "sigmoid", "floor", "ceil", "round", "rint"),
    *("sin", "cos", "tan", "is_nan", "is_finite", "reciprocal"),
]
OF_NUMBERS = ["abs", "negative", "sign", "square"]
OF_TWO = [
    *("add", "subtract", "multiply", "maximum", "minimum", "floordiv", "squared_difference"),
    *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
]
REDUCTIONS = ["reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod"]
FILTERS = ["bilinear", "nearest_neighbor", "bicubic", "area"]


def run(scale: float) -> None:
    """Runs each operation.

    Args:
        scale: Of how often, times the usual.
    """
    with tf.Graph().as_default(), tf.Session() as session:
        made = list(_operations(np.random.default_rng(1)))
        session.run(tf.global_variables_initializer())
        session.run(tf.tables_initializer())
        for _ in range(max(1, round(scale * 30))):
            for each in made:
                session.run(each)


def _operations(rng: np.random.Generator) -> Iterator[Any]:
    for dtype in [*NUMBERS, "uint8"]:
        values = [_variable(rng.integers(1, 100, SHAPE).astype(dtype)) for _ in range(2)]
        yield from _of_any_type(*values)
        yield [tf.cast(values[0], each) for each in [*NUMBERS, "uint8", "bool"]]
        if dtype in NUMBERS:
            yield from _of_numbers(*values)
        if dtype in FLOATS:
            yield from _of_floats(values[0])
    yield from _of_images(rng)
    yield from _of_strings(rng)
    yield from _of_sparse_tensors(rng)
    yield from _random()


def _variable(value: Any) -> Any:
    """What is constant would be computed only once."""
    return tf.Variable(value, trainable=False)


def _of_any_type(a: Any, b: Any) -> Iterator[Any]:
    yield [tf.concat([a, b], 0), tf.stack([a, b], 1), tf.split(a, 4), tf.unstack(a, axis=1)[:3]]
    yield [tf.transpose(a), tf.reshape(a, [-1]), tf.tile(a, [2, 1]), tf.reverse(a, [1])]
    yield [a[1:5, ::2], tf.pad(a, [[1, 2], [3, 0]]), tf.gather(a, [5, 3, 1, 60])]
    yield [tf.gather(a, [5, 3, 1, 60], axis=1), tf.gather_nd(a, [[1, 2], [3, 4]])]
    yield [tf.where(tf.equal(a, b), a, b), tf.boolean_mask(a, tf.equal(a, b)), tf.unique(a[0])]
    yield [tf.expand_dims(a, 0), tf.ones_like(a), tf.argmax(tf.cast(a, "float32"), 1)]


def _of_numbers(a: Any, b: Any) -> Iterator[Any]:
    rows = [b, b[0], b[:, :1], b[0, 0]]
    yield [getattr(tf.math, name)(a, row) for name in OF_TWO for row in rows]
    yield [getattr(tf.math, name)(a) for name in OF_NUMBERS]
    yield [getattr(tf, name)(a, axis) for name in REDUCTIONS for axis in (None, 0, 1, [0, 1])]
    yield [tf.cumsum(a, 1), tf.clip_by_value(a, 3, 70), tf.add_n([a, b, a]), tf.one_hot([1, 5], 9)]
    yield [tf.sort(a), tf.argsort(a), tf.nn.top_k(a, 5)]
    ids = np.arange(64) // 7
    yield [tf.segment_sum(a, ids), tf.unsorted_segment_sum(a, ids, 10)]


def _of_floats(a: Any) -> Iterator[Any]:
    yield [getattr(tf.math, name)(a) for name in OF_FLOATS]
    yield [
        a / tf.reduce_max(a),
        a**2,
        tf.nn.relu(a),
        tf.nn.softmax(a),
        tf.matmul(a, tf.transpose(a)),
    ]
    yield [tf.nn.moments(a, [0]), tf.reduce_logsumexp(a, 1), tf.nn.l2_normalize(a, 1)]


def _of_images(rng: np.random.Generator) -> Iterator[Any]:
    picture = photo(rng, 160, 120)
    for kind in ("png", "jpeg", "bmp", "gif"):
        data = tf.placeholder_with_default(encoded(picture, kind), [])
        decoded = tf.image.decode_image(data)
        yield decoded
    pixels = tf.image.decode_png(
        tf.placeholder_with_default(encoded(picture, "png"), []), channels=3
    )
    yield [tf.image.encode_png(pixels), tf.image.encode_jpeg(pixels)]
    floats = tf.image.convert_image_dtype(pixels, tf.float32)
    for image in (pixels, floats):
        yield [getattr(tf.image, f"resize_{name}")(image[None], [90, 200]) for name in FILTERS]
        yield [tf.image.flip_left_right(image), tf.image.flip_up_down(image), tf.image.rot90(image)]
        yield [tf.image.random_flip_left_right(image), tf.random_crop(image, [90, 90, 3])]
        yield [
            tf.image.resize_image_with_crop_or_pad(image, 100, 300),
            tf.image.central_crop(image, 0.5),
        ]
        yield [tf.image.adjust_brightness(image, 0.1), tf.image.adjust_contrast(image, 1.2)]
        yield [tf.image.adjust_hue(image, 0.1), tf.image.adjust_saturation(image, 0.7)]
        yield [tf.image.rgb_to_grayscale(image), tf.image.per_image_standardization(image)]
        yield tf.image.crop_and_resize(image[None], [[0.1, 0.2, 0.8, 0.9]], [0], [80, 80])
    yield [tf.image.rgb_to_hsv(floats), tf.image.hsv_to_rgb(floats), tf.image.rgb_to_yuv(floats)]


def _of_strings(rng: np.random.Generator) -> Iterator[Any]:
    numbers = np.linspace(0, 1, 2_000)
    texts = tf.placeholder_with_default([f"a{n:.3f} b" for n in numbers], [None])
    yield [tf.string_split(texts), tf.strings.lower(texts), tf.strings.length(texts)]
    yield [tf.regex_replace(texts, "[0-9]+", "x"), tf.substr(texts, 1, 2), texts + texts]
    yield [tf.string_to_hash_bucket_fast(texts, 100), tf.strings.strip(texts)]
    written = tf.placeholder_with_default([f"{n:.4f}" for n in numbers], [None])
    yield [tf.string_to_number(written), tf.as_string(tf.string_to_number(written))]
    table = tf.contrib.lookup.index_table_from_tensor([f"{n:.4f}" for n in numbers[:1_000]])
    yield table.lookup(written)


def _of_sparse_tensors(rng: np.random.Generator) -> Iterator[Any]:
    dense = np.where(rng.random((100, 40)) < 0.2, rng.random((100, 40)), 0).astype(np.float32)
    indices = tf.placeholder_with_default(np.argwhere(dense), [None, 2])
    values = tf.placeholder_with_default(dense[dense != 0], [None])
    sparse = tf.SparseTensor(indices, values, [100, 40])
    yield [tf.sparse_tensor_to_dense(sparse), tf.sparse_reduce_sum(sparse, 1)]
    yield [tf.sparse_concat(0, [sparse, sparse]), tf.sparse_reorder(sparse)]
    yield [tf.serialize_many_sparse(sparse), tf.sparse_fill_empty_rows(sparse, 0.0)[0]]


def _random() -> Iterator[Any]:
    yield [tf.random_uniform(SHAPE), tf.random_normal(SHAPE), tf.truncated_normal(SHAPE)]
    yield [
        tf.random_uniform([1_000], maxval=10, dtype=tf.int32),
        tf.random_shuffle(tf.range(1_000)),
    ]
