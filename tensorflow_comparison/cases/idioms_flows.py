"""`switch` and `merge`, and transformed images."""

from typing import Any

import numpy as np

from tensorflow_comparison.cases.idioms_queues import set_up
from tensorflow_comparison.table import case


def flows(tf: Any) -> Any:
    """Returns the module with `switch` and `merge`, which is not public in either library."""
    if hasattr(tf, "contrib"):
        from headrace.tf1.ops.control import switch  # noqa: PLC0415

        return switch
    from tensorflow.python.ops import control_flow_ops  # noqa: PLC0415

    return control_flow_ops


@case(*[(number,) for number in range(4)])
def way_chosen_by_a_number(tf: Any, number: int) -> Any:
    """Takes one of four branches, without side effects of the others."""
    choice = tf.placeholder(tf.int32, [])
    counts = [tf.Variable(0) for _ in range(4)]
    image = tf.constant([1.0, 2.0])

    def way(value: Any, index: int) -> Any:
        larger = value * 10.0
        with tf.control_dependencies([larger]):
            counted = counts[index].assign_add(1)
        with tf.control_dependencies([counted]):
            return larger + index

    switched = [flows(tf).switch(image, tf.equal(choice, i))[1] for i in range(4)]
    merged = flows(tf).merge([way(value, i) for i, value in enumerate(switched)])
    with set_up(tf) as session:
        values = session.run([merged[0] + 1, merged[1]], {choice: number})
        return values, session.run(counts), merged[0].shape.as_list(), merged[1].dtype.name


@case()
def effect_that_waits_for_a_switch(tf: Any) -> Any:
    """An operation that depends on an output without a value, but does not read it."""
    count = tf.Variable(0)
    _, right = flows(tf).switch(tf.constant(1), tf.placeholder_with_default(False, []))
    with tf.control_dependencies([right]):
        counted = count.assign_add(1)
    with set_up(tf) as session:
        session.run(counted.op)
        return session.run(count)


@case((True,), (False,))
def ways_inside_each_other(tf: Any, flag: bool) -> Any:
    """A branch that branches again, and the fields of the results of `switch` and `merge`."""
    outer, inner = tf.placeholder(tf.bool, []), tf.placeholder(tf.bool, [])
    left, right = flows(tf).switch(tf.constant(1), outer)
    first = flows(tf).switch(right, inner)
    joined = flows(tf).merge([first.output_false + 10, first.output_true + 20])
    uninterrupted = flows(tf).merge([left, joined.output])
    with set_up(tf) as session:
        runs = [(flag, True), (flag, False)]
        return [session.run(uninterrupted.output, {outer: a, inner: b}) for a, b in runs]


@case(("left",), ("right",), ("merged",), ("derived",))
def way_not_taken(tf: Any, fetch: str) -> Any:
    """The value of a branch that was not taken cannot be fetched."""
    left, right = flows(tf).switch(tf.constant(1), tf.placeholder_with_default(True, []))
    merged = flows(tf).merge([left, left + 1])
    parts = {"left": left * 1, "right": right * 1, "merged": merged[0], "derived": left + right}
    return parts[fetch]


@case((1, 3), (1, [True]), (1, "yes"))
def switched_wrongly(tf: Any, data: Any, pred: Any) -> Any:
    """Invalid predicates."""
    return len(flows(tf).switch(data, pred))


def moved(tf: Any, images: Any, rows: Any, interpolation: str, size: Any) -> Any:
    """Images after a perspective transform."""
    if hasattr(tf, "contrib"):
        return tf.contrib.image.transform(images, rows, interpolation, output_shape=size)
    return tf.raw_ops.ImageProjectiveTransformV2(
        images=images, transforms=rows, output_shape=size, interpolation=interpolation
    )


ROWS: list[list[float]] = [
    [1, 0, 0, 0, 1, 0, 0, 0],
    [1, 0, 1.5, 0, 1, -2, 0, 0],
    [0.8, -0.3, 2.1, 0.4, 0.7, -0.9, 0, 0],
    [0, -1, 5, 1, 0, 0, 0, 0],
    [1, 0.1, -1, 0.2, 1.1, 0.3, 0.05, -0.02],
    [1, 0, 0, 0, 1, 0, -1, 0],
    [-1, 0, 6, 0, -1, 4, 0, 0],
]


@case(
    *[
        (row, dtype, interpolation)
        for row in ROWS
        for dtype in ("uint8", "float32", "int64", "float64")
        for interpolation in ("NEAREST", "BILINEAR")
    ],
    digits=4,
)
def pictures_moved(tf: Any, row: list[float], dtype: str, interpolation: str) -> Any:
    """Rotation, translation, reflection and perspective, with one transform for two images."""
    numbers = np.arange(2 * 5 * 7 * 2).reshape(2, 5, 7, 2) * 3 % 251
    images = tf.constant(numbers.astype(dtype))
    return moved(tf, images, np.array([row], np.float32), interpolation, [5, 7])


@case((3, 9), (8, 2), (1, 1))
def pictures_moved_to_another_size(tf: Any, height: int, width: int) -> Any:
    """One transform per image."""
    images = tf.reshape(tf.range(60.0), [3, 4, 5, 1])
    return moved(tf, images, np.array(ROWS[1:4], np.float32), "BILINEAR", [height, width])


@case(([0],), ([0, 1],), ([-1],), (0,), digits=5)
def mean_and_variance(tf: Any, axes: Any) -> Any:
    """Means and variances over some axes, with and without keeping them."""
    table = tf.constant([[1.0, 2.5, 4.0], [0.5, 3.0, 8.0]])
    kept = tf.nn.moments(table, axes, keep_dims=True)
    half = tf.nn.moments(tf.cast(table, tf.float16), axes)
    return tf.nn.moments(table, axes=axes), kept, half


@case()
def sizes_of_a_sparse_tensor(tf: Any) -> Any:
    """The elements of a sparse tensor, explicit or not, and its axes."""
    words = tf.string_split(["a b c", "d"])
    return tf.size(words), tf.rank(words), tf.size(words, out_type=tf.int64), tf.shape(words)
