"""Summaries, compared as serialized messages."""

from pathlib import Path
from typing import Any

import numpy as np

from tensorflow_comparison.table import case


def fields_of(tf: Any, serialized: bytes) -> list[Any]:
    """The values of a summary. Messages are formatted as text, so that floats are exact."""
    values = tf.Summary.FromString(serialized).value
    return [(v.tag, str(v.simple_value), str(v.histo), v.WhichOneof("value")) for v in values]


@case(*[(name, family) for name in ("a", "a b", "/a/b", "x*y.z-") for family in (None, "f", "g h")])
def scalar(tf: Any, name: str, family: str | None) -> Any:
    """Names and tags of summaries."""
    with tf.name_scope("scope"):
        summaries = [tf.summary.scalar(name, 1.5, family=family) for _ in range(2)]
    with tf.Session() as session:
        written = [fields_of(tf, value) for value in session.run(summaries)]
    return [summary.name for summary in summaries], written


@case(*[(value,) for value in (3, 2.5, "text", True, [1.0], [1.0, 2.0], None, np.uint8(7))])
def scalar_of(tf: Any, value: Any) -> Any:
    """Values that can be summarized."""
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
    """Merged summaries, by collection."""
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


def _add_scalar(tf: Any, writer: Any) -> None:
    writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="a", simple_value=2.5)]), 3)


def _add_bytes(tf: Any, writer: Any) -> None:
    summary = tf.Summary(value=[tf.Summary.Value(tag="a", simple_value=2.5)])
    writer.add_summary(summary.SerializeToString(), np.int64(4))


def _add_event(tf: Any, writer: Any) -> None:
    writer.add_event(tf.Event(wall_time=1.5, step=7))


def _add_log(tf: Any, writer: Any) -> None:
    writer.add_session_log(tf.SessionLog(status=tf.SessionLog.START), 5)


WRITES: list[list[Any]] = [
    [_add_scalar, _add_bytes],
    [lambda tf, writer: writer.add_summary(tf.Summary())],
    [lambda tf, writer: writer.add_summary(b"junk", 1)],
    [_add_event, _add_log],
    [_add_scalar, lambda tf, writer: writer.flush(), _add_scalar],
    [_add_scalar, lambda tf, writer: writer.close(), lambda tf, writer: writer.close()],
    [lambda tf, writer: writer.add_graph(tf.get_default_graph(), 2)],
    [lambda tf, writer: writer.add_graph(3)],
]


@case(*[(number,) for number in range(len(WRITES))], with_files=True)
def written(tf: Any, number: int, directory: Path) -> Any:
    """The contents of event files, without times."""
    writer = tf.summary.FileWriter(str(directory / "logs"))
    for write in WRITES[number]:
        write(tf, writer)
    writer.close()
    paths = sorted((directory / "logs").iterdir())
    # File names have a common prefix and contain the time.
    starts = [path.name.split(".tfevents.")[0] for path in paths]
    results = [
        (event.step, event.WhichOneof("what"), event.file_version, bool(event.wall_time))
        for path in paths
        for event in tf.train.summary_iterator(str(path))
    ]
    return starts[:1], writer.get_logdir().replace(str(directory), ""), results


@case(("text",), (3,), (None,), with_files=True)
def written_without_a_summary(tf: Any, value: Any, directory: Path) -> Any:
    """Invalid summaries."""
    with tf.summary.FileWriter(str(directory)) as writer:
        writer.add_summary(value, 1)


@case(with_files=True)
def not_written(tf: Any, directory: Path) -> Any:
    """The files of a writer without events."""
    with tf.summary.FileWriter(str(directory)):
        pass
    return len(list(directory.iterdir()))


@case(("suffix",), ("graph",), ("file",), with_files=True)
def writers(tf: Any, what: str, directory: Path) -> Any:
    """The arguments of a writer."""
    tf.constant(1, name="c")
    if what == "file":
        (directory / "file").touch()
        return tf.summary.FileWriter(str(directory / "file")).get_logdir()
    options = {"filename_suffix": ".mine"} if what == "suffix" else {}
    path = str(directory / "a" / "b")
    with tf.summary.FileWriter(path, tf.get_default_graph(), **options):
        pass
    (written,) = (directory / "a" / "b").iterdir()
    kinds = [event.WhichOneof("what") for event in tf.train.summary_iterator(str(written))]
    return written.name.endswith(".mine"), kinds[:2]
