"""Random draws of classes, which equal TensorFlow's for a seed if one thread draws them."""

from typing import Any

import numpy as np

from tensorflow_comparison.table import case

_LOGITS: list[Any] = [
    *([[0.0, 1.0, 2.0]], np.log([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0], [1.0, 1.0, 1.0]]).tolist()),
    *([[-1.0] * 6] * 4, [[1.0, float("nan"), 2.0]], [[1.0, float("inf")]], [[-1e30, 0.0]]),
    [[0.0]] * 3,
]


@case(*[(number, count) for number in range(len(_LOGITS)) for count in (1, 7, 9)])
def drawn(tf: Any, number: int, count: int) -> Any:
    """Two runs of the same operation, and one with another seed."""
    tf.set_random_seed(3)
    result = tf.multinomial(_LOGITS[number], count, seed=5)
    other = tf.random.categorical(_LOGITS[number], count, dtype=tf.int32, seed=1)
    names = [(one.name, one.dtype.name, str(one.shape)) for one in (result, other)]
    with tf.Session() as session:
        return names, [session.run(one).tolist() for one in (result, result, other)]


@case(
    ("rank",), ("count",), ("text",), ("negative",), ("dtype",), ("none",), ("fed",), ("no rows",)
)
def drawn_wrongly(tf: Any, what: str) -> Any:
    """Invalid arguments."""
    fed = tf.placeholder(tf.float32)
    makers: dict[str, Any] = {
        "rank": lambda: tf.multinomial([1.0, 2.0], 3),
        "count": lambda: tf.multinomial([[1.0, 2.0]], [3]),
        "text": lambda: tf.multinomial([["a"]], 3),
        "negative": lambda: tf.multinomial([[1.0, 2.0]], -1),
        "dtype": lambda: tf.random.categorical([[1.0, 2.0]], 3, dtype=tf.float32),
        "none": lambda: tf.multinomial(tf.zeros([2, 0]), 1),
        "fed": lambda: tf.multinomial(fed, 2),
        "no rows": lambda: tf.multinomial(tf.zeros([0, 2]), 3),
    }
    drawn = makers[what]()
    with tf.Session() as session:
        return session.run(drawn, {fed: [1.0]}).tolist()
