"""Summaries, as the bytes of their messages."""

from typing import Any

import numpy as np

from peers.table import case


def fields_of(tf: Any, serialized: bytes) -> list[Any]:
    """The values of a summary; messages are written as text, so that floats are exact."""
    values = tf.Summary.FromString(serialized).value
    return [(v.tag, str(v.simple_value), str(v.histo), v.WhichOneof("value")) for v in values]


@case(*[(name, family) for name in ("a", "a b", "/a/b", "x*y.z-") for family in (None, "f", "g h")])
def scalar(tf: Any, name: str, family: str | None) -> Any:
    """Names and tags."""
    with tf.name_scope("scope"):
        summaries = [tf.summary.scalar(name, 1.5, family=family) for _ in range(2)]
    with tf.Session() as session:
        written = [fields_of(tf, value) for value in session.run(summaries)]
    return [summary.name for summary in summaries], written


@case(*[(value,) for value in (3, 2.5, "text", True, [1.0], [1.0, 2.0], None, np.uint8(7))])
def scalar_of(tf: Any, value: Any) -> Any:
    """What may be summarized."""
    return tf.summary.scalar("a", value)


@case(
    ([],), ([0.0],), ([-0.0],), ([5.0, 5.0, 5.0],), ([1.0, 2, 2, -3, 0],), (np.arange(10),),
    ([1e30, -1e30, 1e-30, 0, 1e308],), ([-1e-13, 1e-13],), ([float("nan")],), ([float("inf")],),
    (np.linspace(-2, 2, 100),), (np.int32(4),), ("text",),
)  # fmt: skip
def histogram(tf: Any, values: Any) -> Any:
    """The buckets of a histogram."""
    summary = tf.summary.histogram("h", np.array(values) if isinstance(values, list) else values)
    with tf.Session() as session:
        return fields_of(tf, session.run(summary))


@case((None,), ("mine",))
def merged(tf: Any, name: str | None) -> Any:
    """Summaries put together, and of which collection."""
    parts = [tf.summary.scalar("a", 1.0), tf.summary.histogram("b", [1.0])]
    tensor = tf.summary.merge(parts, collections=["c"], name=name)
    both = tf.summary.merge_all(name=name)
    names = tensor.name, both.name, len(tf.get_collection("c")), tf.summary.merge_all("none")
    with tf.Session() as session:
        return names, [fields_of(tf, value) for value in session.run([tensor, both])]


@case()
def merged_twice(tf: Any) -> Any:
    """A tag that occurs twice."""
    summary = tf.summary.scalar("a", 1.0)
    return tf.summary.merge([summary, summary])
