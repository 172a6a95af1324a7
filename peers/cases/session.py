"""Sessions: what can be fetched and fed, in which structures, and what is refused."""

from collections import OrderedDict, namedtuple
from typing import Any

import numpy as np

from peers.table import case

Pair = namedtuple("Pair", ["first", "second"])

FETCHES: list[Any] = [
    lambda tf, t: t,
    lambda tf, t: [t],
    lambda tf, t: [],
    lambda tf, t: (),
    lambda tf, t: {},
    lambda tf, t: (t, t),
    lambda tf, t: {"a": t, "b": [t, {"c": t}]},
    lambda tf, t: OrderedDict([("z", t), ("a", t)]),
    lambda tf, t: Pair(t, [t]),
    lambda tf, t: [t.op, t],
    lambda tf, t: t.op,
    lambda tf, t: t.name,
    lambda tf, t: "t",
    lambda tf, t: "t:1",
    lambda tf, t: "nothing:0",
    lambda tf, t: "nothing",
    lambda tf, t: "a:b:c",
    lambda tf, t: "",
    lambda tf, t: None,
    lambda tf, t: [None],
    lambda tf, t: 3,
    lambda tf, t: [t, 3.5],
    lambda tf, t: {"a": None},
    lambda tf, t: tf.SparseTensor([[0, 1]], [5], [2, 2]),
    lambda tf, t: [tf.SparseTensor([[0, 1]], [5], [2, 2]), t],
    lambda tf, t: (item for item in [t]),
    lambda tf, t: {t},
    lambda tf, t: np.array([1]),
    lambda tf, t: b"t:0",
    lambda tf, t: tf.no_op(),
    lambda tf, t: tf.group(t, tf.no_op()),
    lambda tf, t: tf.tuple([t, t + 1]),
    lambda tf, t: tf.get_default_graph(),
    lambda tf, t: tf.TensorShape([1]),
    lambda tf, t: tf.float32,
]


@case(*[(number,) for number in range(len(FETCHES))])
def fetched(tf: Any, number: int) -> Any:
    """Structures of tensors, operations and names."""
    tensor = tf.constant([1, 2], name="t")
    with tf.Session() as session:
        values = session.run(FETCHES[number](tf, tensor))
    return type(values).__name__, values


@case(*[(ms,) for ms in (10**22, 2**63, 2**63 - 1, 10**18, 0, -5, 1.5, "5", True, None)])
def limited_to(tf: Any, ms: Any) -> Any:
    """Times that a run may take, as an option of the session and of the run."""
    value = tf.constant(1)
    outcomes = []
    for arguments in ({"operation_timeout_in_ms": ms}, {}):
        options = tf.RunOptions() if arguments else tf.RunOptions(timeout_in_ms=ms)
        with tf.Session(config=tf.ConfigProto(**arguments)) as session:
            outcomes.append(session.run(value, options=options))
    return outcomes


FEEDS: list[Any] = [
    lambda tf, p: {p: [[1, 2]]},
    lambda tf, p: {p: np.ones([3, 2])},
    lambda tf, p: {p: np.ones([0, 2], np.int64)},
    lambda tf, p: {p: [[1.5, 2]]},
    lambda tf, p: {p: [[1.0, 2.0]]},
    lambda tf, p: {p: [1, 2]},
    lambda tf, p: {p: [[1, 2, 3]]},
    lambda tf, p: {p: [[1, 2], [3]]},
    lambda tf, p: {p: "text"},
    lambda tf, p: {p: [["a", "b"]]},
    lambda tf, p: {p: None},
    lambda tf, p: {p: 2**40},
    lambda tf, p: {p: [[True, False]]},
    lambda tf, p: {p: tf.constant([[1, 2]])},
    lambda tf, p: {"p:0": [[1, 2]]},
    lambda tf, p: {"p": [[1, 2]]},
    lambda tf, p: {"q:0": [[1, 2]]},
    lambda tf, p: {p.op: [[1, 2]]},
    lambda tf, p: {3: [[1, 2]]},
    lambda tf, p: {None: 1},
    lambda tf, p: {},
    lambda tf, p: None,
    lambda tf, p: [(p, [[1, 2]])],
    lambda tf, p: "p:0",
    lambda tf, p: {p: [[1, 2]], "p:0": [[3, 4]]},
    lambda tf, p: {(p, p): ([[1, 2]], [[3, 4]])},
    lambda tf, p: {p: [[1, 2]], tf.get_default_graph().get_tensor_by_name("twice:0"): 9},
    lambda tf, p: {tf.get_default_graph().get_tensor_by_name("twice:0"): [[7]]},
    lambda tf, p: {tf.placeholder(tf.int32, [], name="other"): 1, p: [[5, 6]]},
]


@case(*[(number,) for number in range(len(FEEDS))])
def fed(tf: Any, number: int) -> Any:
    """Values for a placeholder and for other tensors."""
    given = tf.placeholder(tf.int32, [None, 2], name="p")
    twice = tf.multiply(given, 2, name="twice")
    with tf.Session() as session:
        return session.run(twice, FEEDS[number](tf, given))


@case(
    *[(dtype, value) for dtype, value in (
        ("float32", 1), ("float32", "x"), ("float32", np.float64(0.1)), ("float32", True),
        ("float64", np.float32(0.1)), ("int32", np.int64(3)), ("int32", 3.7), ("uint8", 300),
        ("uint8", -1), ("int8", np.int32(5)), ("bool", 1), ("bool", 0.5), ("bool", "a"),
        ("string", "a"), ("string", b"a"), ("string", 5), ("string", ["a", b"b"]),
        ("string", np.array(["a", "bcd"])), ("string", np.array([b"a\0"])),
        ("string", [["\u00e9"]]), ("complex64", 1), ("complex64", 1j),
        ("int64", 2**63), ("int64", [[1]]),
    )]
)  # fmt: skip
def fed_type(tf: Any, dtype: str, value: Any) -> Any:
    """Values of another type than the placeholder's."""
    given = tf.placeholder(dtype)
    with tf.Session() as session:
        return session.run(tf.identity(given), {given: value})


@case()
def fed_with_too_large_a_number(tf: Any) -> Any:
    """A list with a number that the type of the placeholder does not have."""
    given = tf.placeholder(tf.int32, [2])
    with tf.Session() as session:
        return session.run(given + 1, {given: [2**40, 1]})


@case(("eval",), ("run",), ("eval of none",), ("run of none",), ("as default",))
def with_a_default_session(tf: Any, what: str) -> Any:
    """`Tensor.eval` and `Operation.run` with and without a session."""
    tensor, operation = tf.constant(3) + 1, tf.no_op()
    if what.endswith("none"):
        return tensor.eval() if what.startswith("eval") else operation.run()
    with tf.Session() as session:
        if what == "as default":
            return tf.get_default_session() is session, session.graph is tf.get_default_graph()
        return tensor.eval() if what == "eval" else operation.run()


@case(("close",), ("other graph",), ("finalized",), ("two closes",), ("with twice",))
def refused(tf: Any, what: str) -> Any:
    """A session after its end, tensors of another graph, graphs that are complete."""
    tensor = tf.constant(3)
    session = tf.Session()
    if what == "other graph":
        with tf.Graph().as_default():
            return session.run(tf.constant(3))
    if what == "finalized":
        tf.get_default_graph().finalize()
        session.run(tensor)
        return tf.constant(4)
    if what == "with twice":
        with session:
            session.run(tensor)
        with session:
            return session.run(tensor)
    session.close()
    return session.close() if what == "two closes" else session.run(tensor)


@case((["a", "b"],), (["a"],), ([],))
def callable_of(tf: Any, names: list[str]) -> Any:
    """`make_callable` with feeds."""
    given = {name: tf.placeholder(tf.int32, [], name=name) for name in ("a", "b")}
    with tf.Session() as session:
        call = session.make_callable(
            given["a"] - given["b"] if names == ["a", "b"] else given["a"] + 1,
            [given[name] for name in names],
        )
        return call(*range(5, 5 + len(names)))


@case(([1, 2],), ([1],), ([1, 2, 3],), ("a",))
def fed_instead_of_a_default(tf: Any, values: Any) -> Any:
    """A placeholder with a default."""
    given = tf.placeholder_with_default([0, 0], [2])
    with tf.Session() as session:
        return session.run(given + 1), session.run(given + 1, {given: values})
