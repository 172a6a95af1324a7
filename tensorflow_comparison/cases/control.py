"""The order of operations, conditions, and coordinators."""

import threading
from typing import Any

import numpy as np

from tensorflow_comparison.table import case


@case(*[(condition, taken) for condition in (True, False) for taken in ("fed", "constant")])
def cond(tf: Any, condition: bool, taken: str) -> Any:
    """Only one of two branches runs, without the other's side effects."""
    tensor = (
        tf.placeholder_with_default(condition, []) if taken == "fed" else tf.constant(condition)
    )
    first, second = tf.Variable(0), tf.Variable(0)
    result = tf.cond(tensor, lambda: first.assign_add(1) + 10, lambda: second.assign_add(1) + 20)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(result), session.run([first, second])


BRANCHES: list[Any] = [
    (lambda tf: (tf.constant(1), tf.constant(2))),
    (lambda tf: (tf.constant(1), tf.constant(2.0))),
    (lambda tf: (tf.constant([1]), tf.constant([1, 2]))),
    (lambda tf: ([tf.constant(1), tf.constant("a")], [tf.constant(2), tf.constant("b")])),
    (lambda tf: ((tf.constant(1),), (tf.constant(2),))),
    (lambda tf: ([tf.constant(1)], [tf.constant(1), tf.constant(2)])),
    (lambda tf: ([tf.constant(1)], tf.constant(1))),
    (lambda tf: (1, 2)),
    (lambda tf: (None, tf.constant(1))),
    (lambda tf: (tf.no_op(), tf.no_op())),
    (lambda tf: ({"a": tf.constant(1)}, {"a": tf.constant(2)})),
    (lambda tf: ("a", tf.constant("b"))),
    (lambda tf: ([], [])),
]


@case(*[(number, strict) for number in range(len(BRANCHES)) for strict in (False, True)])
def branches(tf: Any, number: int, strict: bool) -> Any:
    """Possible results of branches."""
    output = BRANCHES[number](tf)
    tensor = tf.placeholder_with_default(True, [])
    result = tf.cond(tensor, lambda: output[0], lambda: output[1], strict=strict)
    if isinstance(result, tf.Operation) or result is None:
        return type(result).__name__
    return result


@case((1,), ([True],), ("a",), (None,), (True,), (np.bool_(False),))
def condition(tf: Any, value: Any) -> Any:
    """Possible values of a condition."""
    return tf.cond(value, lambda: tf.constant(1), lambda: tf.constant(2))


@case(("group",), ("tuple",), ("dependencies",), ("none",), ("wrong",), ("nested",))
def ordered(tf: Any, what: str) -> Any:
    """The order of operations."""
    variable = tf.Variable(0)
    add = variable.assign_add(1)
    if what == "group":
        last = tf.group(add, tf.no_op())
    elif what == "tuple":
        last = tf.tuple([tf.constant(5), None], control_inputs=[add.op])
        last = [item for item in last if item is not None]
    elif what == "wrong":
        with tf.control_dependencies([3]):
            return tf.constant(1)
    elif what == "none":
        with tf.control_dependencies([add]), tf.control_dependencies(None):
            last = tf.constant(5)
    elif what == "nested":
        with tf.control_dependencies([add]), tf.control_dependencies([variable.initializer]):
            last = tf.constant(5)
            return [sorted(op.name for op in last.op.control_inputs)]
    else:
        with tf.control_dependencies([add]):
            last = tf.identity(tf.constant(5))
    with tf.Session() as session:
        session.run(variable.initializer)
        return session.run(last), session.run(variable)


@case(
    *[(kind, asked) for kind in ("ValueError", "OutOfRangeError", "CancelledError")
      for asked in ("stop", "stop_on_exception", "before")]
)  # fmt: skip
def stopped(tf: Any, kind: str, asked: str) -> Any:
    """The error of `join` after threads ended in various ways."""
    clean = asked == "before"
    kinds = (tf.errors.OutOfRangeError, tf.errors.CancelledError) if clean else None
    coord = tf.train.Coordinator(kinds)
    errors = {
        "ValueError": ValueError("wrong"),
        "OutOfRangeError": tf.errors.OutOfRangeError(None, None, "end"),
        "CancelledError": tf.errors.CancelledError(None, None, "cancelled"),
    }

    def work() -> None:
        with coord.stop_on_exception():
            if asked == "stop_on_exception":
                raise errors[kind]
            try:
                raise errors[kind]
            except Exception as error:
                coord.request_stop(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(20)
    before = coord.should_stop(), coord.joined
    coord.request_stop(KeyError("later"))
    try:
        coord.join([thread])
    except Exception as error:
        return before, type(error).__name__, coord.joined
    coord.clear_stop()
    return before, coord.should_stop(), coord.joined


@case()
def stopped_with_an_error_that_is_not_handled(tf: Any) -> Any:
    """An error that is reported outside an except block."""
    coord = tf.train.Coordinator()
    coord.request_stop(KeyError("why"))
    return coord.join([])


@case((0.1,), (None,))
def stop_of_a_thread_that_goes_on(tf: Any, interval: Any) -> Any:
    """A thread that does not stop within the grace period."""
    coord = tf.train.Coordinator()
    end = threading.Event()
    thread = threading.Thread(target=end.wait, args=(20,))
    thread.start()
    coord.request_stop()
    try:
        coord.join(
            [thread],
            stop_grace_period_secs=0.05,
            ignore_live_threads=interval is None,
        )
    except RuntimeError as error:
        return str(error)
    finally:
        end.set()
        thread.join(20)
    return coord.joined


@case(("ends",), ("fails",), ("no ops",), ("no queue",), ("twice",))
def runner(tf: Any, what: str) -> Any:
    """Runs a queue runner until it ends."""
    queue = tf.FIFOQueue(3, [tf.int32], [()], name="q")
    source = tf.train.range_input_producer(5, 1, shuffle=False).dequeue()
    if what == "fails":
        with tf.control_dependencies([tf.Assert(source < 3, ["large"])]):
            source = tf.identity(source)
    enqueue = queue.enqueue(source)
    if what == "no ops":
        return tf.train.QueueRunner(queue, [])
    if what == "no queue":
        return tf.train.QueueRunner(None, [enqueue])
    output = tf.train.QueueRunner(queue, [enqueue] * (2 if what == "twice" else 1))
    tf.train.add_queue_runner(output)
    size, seen = queue.dequeue(), []
    coord = tf.train.Coordinator()
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        threads = tf.train.start_queue_runners(session, coord)
        try:
            while True:
                seen.append(int(session.run(size)))
        except tf.errors.OpError as error:
            seen.append(type(error).__name__)
        coord.request_stop()
        try:
            coord.join(threads, stop_grace_period_secs=20)
        except tf.errors.OpError as error:
            seen.append(type(error).__name__)
    numbers = sorted(item for item in seen if isinstance(item, int))
    return numbers, [item for item in seen if isinstance(item, str)], len(threads), output.name


@case((lambda: 3,), (lambda: [1, 2],), (lambda: "a",), (lambda: np.float32(2),), (lambda: 1 / 0,),
      (lambda: None,), (lambda: (1, 2),))  # fmt: skip
def function_of_python(tf: Any, function: Any) -> Any:
    """Possible results of a Python function in the graph."""
    return tf.py_func(function, [], tf.int32)


RAISED: list[Any] = [
    lambda tf: ValueError("text"),
    lambda tf: UnicodeDecodeError("utf8", b"", 0, 1, "text"),
    lambda tf: TypeError("text"),
    lambda tf: StopIteration("text"),
    lambda tf: MemoryError("text"),
    lambda tf: NotImplementedError("text"),
    lambda tf: StopAsyncIteration("text"),
    lambda tf: KeyError("text"),
    lambda tf: RuntimeError("text"),
    lambda tf: OSError("text"),
    lambda tf: TimeoutError("text"),
    lambda tf: AssertionError("text"),
]


@case(*[(number,) for number in range(len(RAISED))])
def function_of_python_that_raises(tf: Any, number: int) -> Any:
    """The class of the error that a function's exception causes."""

    def fail() -> None:
        raise RAISED[number](tf)

    return tf.py_func(fail, [], tf.int32)


@case()
def function_of_python_that_raises_an_error_of_the_library(tf: Any) -> Any:
    """The error could be mistaken for one of the library itself."""

    def fail() -> None:
        raise tf.errors.OutOfRangeError(None, None, "text")

    return tf.py_func(fail, [], tf.int32)


@case((["a", 1], {}), ([1.5], {}), ([[1, 2], "b"], {}), ([], {}))
def arguments_of_python(tf: Any, values: list[Any], options: dict[str, Any]) -> Any:
    """The arguments with which a Python function is called."""

    def describe(*items: Any) -> str:
        return " ".join(f"{type(item).__name__} {item!r}" for item in items)

    return tf.py_func(describe, values, tf.string, **options)


@case()
def function_of_python_that_returns_an_object(tf: Any) -> Any:
    """An object that cannot be converted to a tensor."""
    return tf.py_func(object, [], tf.int32)
