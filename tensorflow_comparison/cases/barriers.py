"""Barriers: order, closing, operation names and errors."""

from typing import Any

from tensorflow_comparison.table import case


def barrier_of(tf: Any, *args: Any, **options: Any) -> Any:
    """Returns a barrier."""
    if tf.__name__.startswith("headrace"):
        from headrace.tf1.ops.queues import Barrier  # noqa: PLC0415
    else:
        from tensorflow.python.ops.data_flow_ops import Barrier  # noqa: PLC0415
    return Barrier(*args, **options)


def _taken(taken: Any) -> list[Any]:
    return [taken[0].tolist(), taken[1].tolist(), [value.tolist() for value in taken[2]]]


@case((1, False), (2, False), (3, True), (7, True))
def taken_in_order(tf: Any, count: int, small: bool) -> Any:
    """Components in any order, keys with several insertions, and ties."""
    barrier = barrier_of(tf, [tf.int32, tf.string], [[], [2]])
    take = barrier.take_many(count, allow_small_batch=small)
    expected = [(tensor.name, tensor.dtype.name, str(tensor.shape)) for tensor in take[2]]
    results: list[Any] = []
    with tf.Session() as session:
        for keys in (["d", "b"], ["a"], ["e", "c", "f"]):
            session.run(barrier.insert_many(0, keys, list(range(len(keys)))))
        for keys in (["a", "f", "b"], ["c", "d", "e"]):
            session.run(barrier.insert_many(1, keys, [[key, key] for key in keys]))
            results.append(session.run([barrier.ready_size(), barrier.incomplete_size()]))
        session.run(barrier.insert_many(0, ["a"], [9]))
        session.run(barrier.close())
        session.run(barrier.insert_many(1, ["a"], [["x", "y"]]))
        for _ in range(7 // count):
            results.append(_taken(session.run(take)))
        try:
            session.run(take)
        except tf.errors.OutOfRangeError:
            results.append("the end")
        return expected, results


@case()
def operations_of_a_barrier(tf: Any) -> Any:
    """The names and types of all operations, in order."""
    with tf.name_scope("outer"):
        barrier = barrier_of(tf, (tf.float32, tf.string), shapes=((), (2,)), name="mine")
        barrier.insert_many(0, ["a"], [1.0])
        barrier.insert_many(0, ["a"], [1.0], name="in")
        barrier.take_many(3)
        barrier.take_many(tf.placeholder(tf.int32, []), True, None, "out")
        barrier.close()
        barrier.close(True, "end")
        barrier.ready_size()
        barrier.incomplete_size()
    ref = barrier.barrier_ref
    operations = tf.get_default_graph().get_operations()
    listed = [(op.name, op.type, [str(o.shape) for o in op.outputs]) for op in operations]
    groups = [(op.name, op.colocation_groups()) for op in operations]
    return barrier.name, ref.name, ref.dtype.name, str(ref.shape), listed, groups


_WRONG = [
    *("component", "keys", "key", "values", "fewer", "empty shape", "unknown shape"),
    *("timeout", "small", "cancel", "count"),
]


@case(*[(what,) for what in _WRONG])
def wrong_arguments_of_a_barrier(tf: Any, what: str) -> Any:
    """Invalid arguments."""
    barrier = barrier_of(tf, [tf.int32])
    makers: dict[str, Any] = {
        "component": lambda: barrier.insert_many("x", ["a"], [1]),
        "keys": lambda: barrier.insert_many(0, [1], [1]),
        "key": lambda: barrier.insert_many(0, "a", [1]),
        "values": lambda: barrier.insert_many(0, ["a"], 1),
        "fewer": lambda: barrier.insert_many(0, ["a", "b"], [1]),
        "empty shape": lambda: barrier_of(tf, [tf.int32], [[0]]),
        "unknown shape": lambda: barrier_of(tf, [tf.int32], [[None]]),
        "timeout": lambda: barrier.take_many(1, timeout=3),
        "small": lambda: barrier.take_many(1, allow_small_batch="x"),
        "cancel": lambda: barrier.close("x"),
        "count": lambda: barrier.take_many("x"),
    }
    return makers[what]()


_REFUSED = [
    *(
        "component",
        "type",
        "twice",
        "no elements",
        "closed",
        "new key",
        "cancelled",
        "twice closed",
    ),
    *("too many", "none ready", "shared types", "shared shapes", "one of a queue"),
]


@case(*[(what,) for what in _REFUSED])
def refused_by_a_barrier(tf: Any, what: str) -> Any:
    """Errors at run time."""
    barrier = barrier_of(tf, [tf.int32, tf.float32], [[], []], shared_name="b")
    ph = tf.placeholder(tf.int32)
    with tf.Session() as session:
        session.run(barrier.insert_many(0, ["a"], [1]))
        if what in ("closed", "new key", "too many", "none ready", "twice closed"):
            session.run(barrier.close())
        if what == "cancelled":
            session.run(barrier.close(True))
        if what in ("closed", "too many"):
            session.run(barrier.insert_many(1, ["a"], [1.0]))
        runs: dict[str, Any] = {
            "component": lambda: barrier.insert_many(5, ["a"], [1]),
            "type": lambda: barrier.insert_many(1, ["a"], [1]),
            "twice": lambda: barrier.insert_many(0, ["b", "a"], [1, 2]),
            "no elements": lambda: barrier.insert_many(0, ["b"], ph),
            "closed": lambda: barrier.insert_many(0, ["a"], [1]),
            "new key": lambda: barrier.insert_many(0, ["b"], [1]),
            "cancelled": lambda: barrier.insert_many(0, ["a"], [1]),
            "twice closed": barrier.close,
            "too many": lambda: barrier.take_many(2),
            "none ready": lambda: barrier.take_many(2, True),
            "shared types": lambda: barrier_of(
                tf, [tf.int32, tf.int32], [[], []], shared_name="b"
            ).ready_size(),
            "shared shapes": lambda: barrier_of(
                tf, [tf.int32, tf.float32], [[], [2]], shared_name="b"
            ).ready_size(),
            "one of a queue": lambda: barrier_of(tf, [tf.int32], shared_name=3),
        }
        return session.run(runs[what](), {ph: [[]]})
