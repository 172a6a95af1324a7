"""Sessions: fetches and feeds in all structures, and rejected ones."""

import contextlib
from collections import OrderedDict, namedtuple
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from tensorflow_comparison.table import case

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
    """Time limits of runs, as an option of the session and of the run."""
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
    tensor = tf.placeholder(tf.int32, [None, 2], name="p")
    twice = tf.multiply(tensor, 2, name="twice")
    with tf.Session() as session:
        return session.run(twice, FEEDS[number](tf, tensor))


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
    """Values whose type differs from the placeholder's."""
    tensor = tf.placeholder(dtype)
    with tf.Session() as session:
        return session.run(tf.identity(tensor), {tensor: value})


@case()
def fed_with_too_large_a_number(tf: Any) -> Any:
    """A list with a number that the placeholder's type cannot represent."""
    tensor = tf.placeholder(tf.int32, [2])
    with tf.Session() as session:
        return session.run(tensor + 1, {tensor: [2**40, 1]})


WAITING: list[Any] = [
    lambda tf, p, q: tf.constant(5),
    lambda tf, p, q: tf.identity(q),
    lambda tf, p, q: tf.group(q),
    lambda tf, p, q: tf.cond(q > 0, lambda: q, lambda: -q),
    lambda tf, p, q: p + q,
]


@case(*[(number, is_fed) for number in range(len(WAITING)) for is_fed in (True, False)])
def waits_for_a_placeholder(tf: Any, number: int, is_fed: bool) -> Any:
    """Operations with a control dependency on a placeholder, with and without feeding it."""
    inputs, other = tf.placeholder(tf.int32, []), tf.placeholder(tf.int32, [])
    with tf.control_dependencies([inputs]):
        fetch = WAITING[number](tf, inputs, other)
    with tf.Session() as session:
        return session.run(fetch, {other: 2, inputs: 1} if is_fed else {other: 2})


@case(("computed",), ("variable",), ("default",), ("one of two",))
def waits_for_what_is_fed(tf: Any, what: str) -> Any:
    """A control dependency on another operation, whose output is fed."""
    variable = tf.Variable(1)
    parts = tf.split([1, 2], 2)
    default = tf.placeholder_with_default(3, [])
    added = variable.assign_add(1)
    fed = {"computed": added, "variable": variable, "default": default, "one of two": parts[0]}
    with tf.control_dependencies([fed[what]]):
        after = tf.constant(5)
    with tf.Session() as session:
        session.run(variable.initializer)
        value = [7] if what == "one of two" else 7
        return session.run(after, {fed[what]: value}), session.run(variable)


MISFITS: list[tuple[str, Any]] = [
    ("uint8", [300]), ("uint8", [-1]), ("int8", np.array([200])), ("int32", [1.5]), ("int32", -3.7),
    ("int32", [2**40]), ("int32", np.array([[2**40 + 1, 5]])), ("int32", np.int64(2**32 + 5)),
    ("int64", np.array([2**63 + 1], np.uint64)), ("uint64", np.array([-1])),
    ("float16", [1e6, 1.0]), ("float32", np.array([1e300])), ("float32", 1e300),
]  # fmt: skip


@case(*MISFITS)
def fed_with_what_does_not_fit(tf: Any, dtype: str, value: Any) -> Any:
    """Numbers that the placeholder's type cannot represent."""
    tensor = tf.placeholder(dtype)
    with tf.Session() as session:
        return session.run(tf.identity(tensor), {tensor: value})


@case(*MISFITS)
def fed_with_what_does_not_fit_but_may_be_fed(tf: Any, dtype: str, value: Any) -> Any:
    """The same in a session that allows it, like every session in TensorFlow."""
    tensor = tf.placeholder(dtype)
    config = tf.ConfigProto()
    with contextlib.suppress(AttributeError):
        config.allow_lossy_feeds = True
    with tf.Session(config=config) as session:
        return session.run(tf.identity(tensor), {tensor: value})


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


@case(("nested",), ("after another",), ("around another",), ("crossing",), ("crossing defaults",))
def entered(tf: Any, what: str) -> Any:
    """`with` blocks of one session, and of two."""
    tensor = tf.constant(3)
    first, second = tf.Session(), tf.Session()
    blocks = [first, second]
    if what == "crossing defaults":
        blocks = [first.as_default(), second.as_default()]
    if what.startswith("crossing"):
        return in_a_thread(lambda: cross(*blocks))
    if what == "around another":
        with first, second, first:
            return second.run(tensor)
    if what == "after another":
        with first:
            with second:
                value = second.run(tensor)
            return value, first.run(tensor), tf.get_default_session() is first
    with first, first:
        return first.run(tensor)


# Blocks that are never left. TensorFlow would leave them during garbage collection.
_left_open: list[Any] = []


def cross(first: Any, second: Any) -> None:
    """Leaves the first block inside the second."""
    _left_open.extend([first, second])
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)


def in_a_thread(function: Any) -> Any:
    """Calls a function in its own thread. Its defaults end with the thread."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(function).result(20)


@case(("close",), ("other graph",), ("finalized",), ("two closes",), ("with twice",))
def refused(tf: Any, what: str) -> Any:
    """A closed session, tensors of another graph, and finalized graphs."""
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
    arguments = {name: tf.placeholder(tf.int32, [], name=name) for name in ("a", "b")}
    with tf.Session() as session:
        call = session.make_callable(
            arguments["a"] - arguments["b"] if names == ["a", "b"] else arguments["a"] + 1,
            [arguments[name] for name in names],
        )
        return call(*range(5, 5 + len(names)))


@case(([1, 2],), ([1],), ([1, 2, 3],), ("a",))
def fed_instead_of_a_default(tf: Any, values: Any) -> Any:
    """A placeholder with a default value."""
    tensor = tf.placeholder_with_default([0, 0], [2])
    with tf.Session() as session:
        return session.run(tensor + 1), session.run(tensor + 1, {tensor: values})


@case(("product",), ("branch",), ("variable",), ("queue",))
def traced(tf: Any, what: str) -> Any:
    """The operations in the trace of a run, and the results."""
    fed = tf.placeholder(tf.float32, [1, 2], name="fed")
    queue = tf.FIFOQueue(3, tf.int32, [[]])
    variable = tf.Variable([1, 2, 3], name="variable")
    fetches = {
        "product": tf.matmul(fed, [[1.0], [2.0]], name="product"),
        "branch": tf.cond(fed[0, 0] > 0, lambda: tf.negative(fed, "yes"), lambda: fed * 3),
        "variable": variable,
        "queue": queue.dequeue(name="taken"),
    }
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    with tf.Session() as session:
        session.run([variable.initializer, queue.enqueue(5)])
        value = session.run(fetches[what], {fed: [[1.0, 2.0]]}, options, metadata)
    (device,) = metadata.step_stats.dev_stats
    expected = ("product", "cond/yes", "variable", "taken")
    told = [
        (node.node_name, [_described(output) for output in node.output])
        for node in device.node_stats
        if node.node_name in expected
    ]
    return value, device.device, told


def _described(output: Any) -> Any:
    tensor = output.tensor_description
    bytes_ = tensor.allocation_description.requested_bytes
    return output.slot, tensor.dtype, [dim.size for dim in tensor.shape.dim], bytes_
