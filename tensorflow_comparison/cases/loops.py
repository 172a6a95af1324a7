"""Loops in the graph, tensor arrays, and `tf.case`."""

from collections import OrderedDict, namedtuple
from typing import Any

import numpy as np

from tensorflow_comparison.table import case

Pair = namedtuple("Pair", ["a", "b"])


def named(tensors: Any) -> Any:
    """The tensors and their names."""
    flat = tensors if isinstance(tensors, (list, tuple)) else [tensors]
    return tensors, [tensor.name for tensor in flat]


WHILE: list[Any] = [
    (lambda tf: tf.while_loop(lambda i: i < 10, lambda i: i + 1, [0])),
    (lambda tf: tf.while_loop(lambda i: i < 10, lambda i: [i + 1], [tf.constant(0)])),
    (lambda tf: tf.while_loop(lambda i, j: i < 10, lambda i, j: (i + 1, j + i), (0, 1))),
    (lambda tf: tf.while_loop(lambda i, j: i < 10, lambda i, j: [i + 1, j + i], (0, 1.0))),
    (lambda tf: tf.while_loop(lambda i: False, lambda i: i + 1, [0])),
    (lambda tf: tf.while_loop(lambda i: True, lambda i: i + 1, [0], maximum_iterations=7)),
    (lambda tf: tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0], maximum_iterations=7)),
    (
        lambda tf: tf.while_loop(
            lambda i, j: i < 3, lambda i, j: (i + 1, j * 2), (0, 1), maximum_iterations=2
        )
    ),
    (lambda tf: tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0], return_same_structure=True)),
    (lambda tf: tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0], name="count")),
    (lambda tf: tf.while_loop(lambda i: i < 10, lambda i: i + 1, [0], None, 1, False, True, "w")),
]


@case(*[(number,) for number in range(len(WHILE))])
def repeated(tf: Any, number: int) -> Any:
    """Loops with a condition, and the names of their results."""
    return named(WHILE[number](tf))


REFUSED: list[Any] = [
    (lambda tf: tf.while_loop(1, lambda i: i + 1, [0])),
    (lambda tf: tf.while_loop(lambda i: i < 1, 2, [0])),
    (lambda tf: tf.while_loop(lambda i: i < 1, lambda i: i + 1, [])),
    (lambda tf: tf.while_loop(lambda i: i < 1, lambda i: i + 1, [0], parallel_iterations=0)),
    (lambda tf: tf.while_loop(lambda i: i < 1, lambda i: (i + 1, i), [0])),
    (lambda tf: tf.while_loop(lambda i, j: i < 1, lambda i, j: i + 1, [0, 1])),
    (lambda tf: tf.while_loop(lambda i: i < 1, lambda i: None, [0])),
    (lambda tf: tf.while_loop(lambda i: i < 1, lambda i: tf.cast(i, tf.float32), [0])),
    (lambda tf: tf.while_loop(lambda i: i, lambda i: i + 1, [0])),
    (lambda tf: tf.while_loop(lambda i: tf.less(i, [1]), lambda i: i + 1, [0])),
    (
        lambda tf: tf.while_loop(
            lambda i: i[0] < 9, lambda i: tf.concat([i, i], 0), [tf.constant([1])]
        )
    ),
    (lambda tf: tf.while_loop(lambda i: i < 1, lambda i: i, [0], maximum_iterations=[1])),
    (lambda tf: tf.while_loop(lambda i: i < 1, lambda i: i, tf.constant(0))),
    (lambda tf: tf.while_loop(lambda i: i < 1, lambda i, j: i, [0])),
    (lambda tf: tf.while_loop(lambda i: None, lambda i: i, [0])),
    (
        lambda tf: tf.while_loop(
            lambda i: i[0] < 9,
            lambda i: i,
            [tf.constant([1])],
            shape_invariants=[tf.TensorShape([2])],
        )
    ),
    (
        lambda tf: tf.while_loop(
            lambda i: i[0] < 9,
            lambda i: i,
            [tf.constant([1])],
            shape_invariants=[tf.TensorShape([]), 1],
        )
    ),
    (lambda tf: tf.map_fn(1, [1, 2])),
    (lambda tf: tf.map_fn(lambda x: x, 1)),
    (lambda tf: tf.map_fn(lambda x: x, (1, 2))),
    (
        lambda tf: tf.map_fn(
            lambda x: x[0], (tf.constant([1, 2]), tf.constant([1, 2, 3])), dtype=tf.int32
        )
    ),
    (lambda tf: tf.map_fn(lambda x: tf.cast(x, tf.float32), tf.constant([1, 2]))),
    (lambda tf: tf.map_fn(lambda x: (x, x), tf.constant([1, 2]))),
    (lambda tf: tf.map_fn(lambda x: x, tf.constant([1, 2]), dtype=(tf.int32, tf.int32))),
    (lambda tf: tf.map_fn(lambda x: x, tf.SparseTensor([[0]], tf.constant([1]), [1]))),
    (lambda tf: tf.map_fn(lambda x: tf.range(x + 0), tf.constant([1, 2]))),
    (lambda tf: tf.map_fn(lambda x: tf.range(x + 0), np.zeros([0], np.int32))),
    (lambda tf: tf.scan(1, [1, 2])),
    (lambda tf: tf.scan(lambda a, x: x, 1)),
    (lambda tf: tf.scan(lambda a, x: a + tf.to_float(x), tf.constant([1, 2]))),
    (lambda tf: tf.scan(lambda a, x: tf.stack([a, x]), tf.constant([1, 2]))),
    (lambda tf: tf.scan(lambda a, x: a + x, np.zeros([0], np.int32))),
    (lambda tf: tf.foldl(1, [1, 2])),
    (lambda tf: tf.foldl(lambda a, x: tf.to_float(x), tf.constant([1, 2]))),
    (lambda tf: tf.foldl(lambda a, x: a + x, np.zeros([0], np.int32))),
    (lambda tf: tf.foldr(lambda a, x: a + x, np.zeros([0], np.int32))),
    (lambda tf: tf.foldr(lambda a, x: (a, x), tf.constant([1, 2]))),
]


@case(*[(number,) for number in range(len(REFUSED))])
def refused(tf: Any, number: int) -> Any:
    """Loops that cannot be built or run."""
    return REFUSED[number](tf)


MAPS: list[Any] = [
    (lambda tf: tf.map_fn(lambda x: x * 2, tf.constant([1, 2, 3]))),
    (lambda tf: tf.map_fn(lambda x: x * 2, tf.ones([3, 2]), name="double")),
    (lambda tf: tf.map_fn(lambda x: tf.cast(x, tf.float32), tf.constant([1, 2]), dtype=tf.float32)),
    (
        lambda tf: tf.map_fn(
            lambda x: x[0] + x[1], (tf.constant([1, 2]), tf.constant([3, 4])), dtype=tf.int32
        )
    ),
    (lambda tf: tf.map_fn(lambda x: (x, -x), tf.constant([1, 2]), dtype=(tf.int32, tf.int32))),
    (lambda tf: tf.map_fn(lambda x: (x[1], x[0]), (tf.constant([1, 2]), tf.constant([3, 4])))),
    (lambda tf: tf.map_fn(lambda x: [x[1], x[0]], tf.constant([[1, 2], [3, 4]]))),
    (lambda tf: tf.map_fn(lambda x: x, np.zeros([0, 2], np.int32))),
    (lambda tf: tf.map_fn(lambda x: tf.range(3), np.zeros([0], np.int32))),
    (lambda tf: tf.map_fn(lambda x: tf.range(x + 0), tf.constant([2, 2]))),
    (lambda tf: tf.map_fn(lambda x: tf.range(x + 0), tf.constant([2, 2]), infer_shape=False)),
    (lambda tf: tf.map_fn(lambda x: x, tf.placeholder_with_default([1, 2], [None]))),
    (lambda tf: tf.map_fn(lambda x: x, tf.placeholder_with_default([1, 2], None))),
    (
        lambda tf: tf.map_fn(
            lambda x: tf.map_fn(lambda y: y + x[0], x), tf.constant([[1, 2], [3, 4]])
        )
    ),
    (
        lambda tf: tf.map_fn(
            lambda x: tf.cond(x > 1, lambda: x * 10, lambda: x), tf.constant([1, 2, 3])
        )
    ),
    (
        lambda tf: tf.map_fn(
            lambda x: tf.decode_raw(x, tf.uint8), tf.constant(["ab", "cd"]), dtype=tf.uint8
        )
    ),
    (lambda tf: tf.map_fn(lambda x: tf.string_join([x, "!"]), tf.constant(["ab", "c"]))),
    (
        lambda tf: tf.map_fn(
            lambda x: tf.py_func(lambda v: v * 3, [x], tf.int32), tf.constant([1, 2])
        )
    ),
    (
        lambda tf: tf.map_fn(
            lambda x: x + tf.constant([5, 6]), tf.constant([1, 2]), parallel_iterations=1
        )
    ),
    (lambda tf: tf.scan(lambda a, x: a + x, tf.constant([1, 2, 3, 4]))),
    (lambda tf: tf.scan(lambda a, x: a + x, tf.constant([1, 2, 3, 4]), reverse=True)),
    (lambda tf: tf.scan(lambda a, x: a * 2 + x, tf.constant([1, 2, 3]), initializer=5)),
    (
        lambda tf: tf.scan(
            lambda a, x: a * 2 + x, tf.constant([1, 2, 3]), initializer=5, reverse=True
        )
    ),
    (
        lambda tf: tf.scan(
            lambda a, x: (a[0] + x, a[1] * 2), tf.constant([1, 2]), initializer=(0, 1)
        )
    ),
    (
        lambda tf: tf.scan(
            lambda a, x: a + x[0] * x[1], (tf.constant([1, 2]), tf.constant([3, 4])), initializer=0
        )
    ),
    (lambda tf: tf.scan(lambda a, x: a + x, tf.ones([2, 3]), infer_shape=False, name="sums")),
    (lambda tf: tf.scan(lambda a, x: a + x, np.zeros([0], np.int32), initializer=1)),
    (lambda tf: tf.scan(lambda a, x: a + x, tf.constant([7]))),
    (lambda tf: tf.foldl(lambda a, x: a * 2 + x, tf.constant([1, 2, 3]))),
    (lambda tf: tf.foldl(lambda a, x: a * 2 + x, tf.constant([1, 2, 3]), initializer=5, name="f")),
    (lambda tf: tf.foldl(lambda a, x: a + x, np.zeros([0], np.int32), initializer=5)),
    (lambda tf: tf.foldr(lambda a, x: a * 2 + x, tf.constant([1, 2, 3]))),
    (lambda tf: tf.foldr(lambda a, x: a * 2 + x, tf.constant([1, 2, 3]), initializer=5)),
    (lambda tf: tf.foldr(lambda a, x: a + x, tf.constant([7]))),
]


@case(*[(number,) for number in range(len(MAPS))])
def mapped(tf: Any, number: int) -> Any:
    """Maps, scans and folds, and the names of their results."""
    return named(MAPS[number](tf))


STRUCTURES: list[Any] = [
    ((0, (1, 2)), lambda i, v: (i + 1, (v[1], v[0]))),
    ((0, [1, 2]), lambda i, v: (i + 1, [v[1], v[0]])),
    ((0, {"a": 1, "b": 2}), lambda i, v: (i + 1, {"a": v["b"], "b": v["a"]})),
    ((0, Pair(1, 2)), lambda i, v: (i + 1, Pair(v.b, v.a))),
    ((0, Pair(1, (2, 3))), lambda i, v: (i + 1, Pair(v.b[0], (v.a, v.a)))),
    ((0, (1, 2)), lambda i, v: (i + 1, [v[1], v[0]])),
    ((0, (1, 2)), lambda i, v: (i + 1, v[0])),
    ((0, {"a": 1}), lambda i, v: (i + 1, {"b": v["a"]})),
    ((0, OrderedDict([("b", 1), ("a", 2)])), lambda i, v: (i + 1, v)),
]


@case(*[(number,) for number in range(len(STRUCTURES))])
def nested_variables(tf: Any, number: int) -> Any:
    """Loop variables in structures."""
    first, body = STRUCTURES[number]
    result = tf.while_loop(lambda i, v: i < 3, body, first)
    return result[0], list(result[1].values()) if isinstance(result[1], dict) else result[1]


@case(([None],), ([1],), (None,), ([2],))
def varying_shapes(tf: Any, shape: Any) -> Any:
    """Shapes that differ between iterations."""
    invariants = [tf.TensorShape([]), tf.TensorShape(shape)]
    return tf.while_loop(
        lambda i, x: i < 3,
        lambda i, x: (i + 1, tf.concat([x, x], 0)),
        [0, tf.constant([1])],
        invariants,
    )


@case()
def sparse_variables(tf: Any) -> Any:
    """A sparse tensor as a loop variable."""
    sparse = tf.SparseTensor([[0], [2]], [1, 2], [4])

    def body(i: Any, s: Any) -> Any:
        return i + 1, tf.SparseTensor(s.indices, s.values * 2, s.dense_shape)

    return tf.while_loop(lambda i, s: i < 3, body, [0, sparse])


@case(("assigned",), ("read",), ("dequeued",), ("enqueued",), ("waits",), ("closed",))
def effects(tf: Any, what: str) -> Any:
    """Side effects in iterations."""
    variable = tf.Variable(1)
    queue = tf.FIFOQueue(10, [tf.int32], [[]])
    fill = queue.enqueue_many([[1, 2, 3]])

    def body(i: Any, total: Any) -> Any:
        if what == "assigned":
            with tf.control_dependencies([variable.assign_add(i)]):
                return i + 1, tf.identity(total)
        if what == "read":
            with tf.control_dependencies([variable.assign_add(1)]):
                return i + 1, total + tf.identity(i)
        if what in ("dequeued", "waits", "closed"):
            return i + 1, total + queue.dequeue()
        with tf.control_dependencies([queue.enqueue([i])]):
            return i + 1, tf.identity(total)

    done = tf.while_loop(lambda i, total: i < (4 if what == "closed" else 3), body, [0, 0])
    with tf.Session() as session:
        session.run(variable.initializer)
        if what == "waits":
            return session.run([done, fill])[0], session.run(queue.size())
        if what in ("dequeued", "closed"):
            session.run(fill)
        if what == "closed":
            session.run(queue.close())
        values = session.run(done)
        return values, session.run([variable, queue.size()])


@case(("outside",), ("fetched",), ("fed",), ("other",), ("control",), ("pruned",))
def borders(tf: Any, what: str) -> Any:
    """Values from outside a loop."""
    results: list[Any] = []
    outer = tf.Variable(0)
    before = outer.assign_add(5)

    def body(i: Any) -> Any:
        if what == "pruned":
            outer.assign_add(7)
        if what == "control":
            with tf.control_dependencies([before]):
                results.append(tf.add(i, 1))
        else:
            results.append(tf.add(i, 1))
        return results[0]

    done = tf.while_loop(lambda i: i < 3, body, [0])
    if what == "outside":
        return results[0] + 1
    if what == "other":
        return tf.while_loop(lambda i: i < 3, lambda i: i + results[0], [0])
    with tf.Session() as session:
        session.run(outer.initializer)
        if what == "fetched":
            return session.run(results[0])
        if what == "fed":
            return session.run(done, {results[0]: 3})
        return session.run(done), session.run(outer)


@case((1,), (2,), (5,), (None,))
def cases(tf: Any, value: Any) -> Any:
    """The first true condition."""
    x = tf.placeholder_with_default(0 if value is None else value, [])
    pairs = [
        (x < 1, lambda: tf.constant(1)),
        (x < 2, lambda: tf.constant(2)),
        (x < 4, lambda: tf.constant(3)),
    ]
    return named([tf.case(pairs, default=lambda: tf.constant(-1)), tf.case(pairs, name="c")])


CASES: list[Any] = [
    (lambda tf, no, yes: tf.case([(yes, lambda: 1), (yes, lambda: 2)], exclusive=True)),
    (lambda tf, no, yes: tf.case([(yes, lambda: 1), (no, lambda: 2)], exclusive=True)),
    (lambda tf, no, yes: tf.case([(no, lambda: 1), (no, lambda: 2)])),
    (lambda tf, no, yes: tf.case([(no, lambda: 1)])),
    (lambda tf, no, yes: tf.case([(yes, lambda: 1)])),
    (lambda tf, no, yes: tf.case([(yes, lambda: 1)], default=3)),
    (lambda tf, no, yes: tf.case([(yes, 1)])),
    (lambda tf, no, yes: tf.case([[yes, lambda: 1]])),
    (lambda tf, no, yes: tf.case([(1, lambda: 1)])),
    (lambda tf, no, yes: tf.case([(True, lambda: 1)])),
    (lambda tf, no, yes: tf.case(1)),
    (lambda tf, no, yes: tf.case([])),
    (lambda tf, no, yes: tf.case(((yes, lambda: 1), (no, lambda: 2)))),
    (lambda tf, no, yes: tf.case([(no, lambda: [1]), (yes, lambda: [2])], strict=True)),
    (lambda tf, no, yes: tf.case([(no, lambda: (1, 2)), (yes, lambda: (2, 3))])),
    (lambda tf, no, yes: tf.case([(no, lambda: 1), (yes, lambda: 2.0)], default=lambda: 1)),
    (lambda tf, no, yes: tf.case(OrderedDict([(yes, lambda: 1), (no, lambda: 2)]))),
    (lambda tf, no, yes: tf.case({yes: lambda: 1, no: lambda: 2}, exclusive=True)),
]


@case(*[(number,) for number in range(len(CASES))])
def odd_cases(tf: Any, number: int) -> Any:
    """Unusual and rejected conditions and functions."""
    no = tf.placeholder_with_default(False, [], name="no")
    yes = tf.placeholder_with_default(True, [], name="yes")
    return CASES[number](tf, no, yes)


def twice_read(tf: Any, clears: Any) -> Any:
    """An element that is read twice."""
    array = tf.TensorArray(tf.int32, 2, clear_after_read=clears).write(0, 5)
    first = array.read(0)
    with tf.control_dependencies([first]):
        return first, array.identity().read(0)


def collected(tf: Any) -> Any:
    """Elements that a loop writes."""
    return tf.while_loop(
        lambda i, a: i < 3,
        lambda i, a: (i + 1, a.write(i, tf.fill([2], i))),
        (0, tf.TensorArray(tf.int32, 3)),
    )[1]


ARRAYS: list[Any] = [
    (lambda tf: tf.TensorArray(tf.int32, 3).unstack([1, 2, 3]).stack()),
    (lambda tf: tf.TensorArray(tf.int32, 3).unstack([1, 2, 3]).read(1)),
    (lambda tf: tf.TensorArray(tf.int32, 2).unstack([1, 2, 3]).stack()),
    (lambda tf: tf.TensorArray(tf.int32, 3, True).unstack([1, 2, 3]).size()),
    (lambda tf: tf.TensorArray(tf.int32, 0, True).unstack([1, 2, 3]).size()),
    (lambda tf: tf.TensorArray(tf.int32, 0, dynamic_size=True).write(2, 5).size()),
    (lambda tf: tf.TensorArray(tf.int32, 2).write(2, 5).size()),
    (lambda tf: tf.TensorArray(tf.int32, 2).write(-1, 5).size()),
    (lambda tf: tf.TensorArray(tf.int32, 2).write(0, 5).write(0, 6).size()),
    (lambda tf: tf.TensorArray(tf.int32, 2).write(0, 5).write(1, [6]).size()),
    (lambda tf: tf.TensorArray(tf.int32, 2, infer_shape=False).write(0, 5).write(1, [6]).read(1)),
    (lambda tf: tf.TensorArray(tf.int32, 2).write(0, 5.5)),
    (lambda tf: tf.TensorArray(tf.float32, 2).write(0, 5).read(0)),
    (lambda tf: tf.TensorArray(tf.int32, 2).read(0)),
    (lambda tf: tf.TensorArray(tf.int32, 2, element_shape=[2]).read(0)),
    (lambda tf: tf.TensorArray(tf.int32, 2, element_shape=[2]).write(0, [1])),
    (lambda tf: tf.TensorArray(tf.string, 2, element_shape=[]).read(0)),
    (lambda tf: tf.TensorArray(tf.int32, 2).read(2)),
    (lambda tf: tf.TensorArray(tf.int32, 2).write(0, 1).stack()),
    (lambda tf: tf.TensorArray(tf.int32, 0).stack()),
    (lambda tf: tf.TensorArray(tf.int32, 0, element_shape=[2]).stack()),
    (lambda tf: tf.TensorArray(tf.int32, 0, element_shape=[None, 2]).concat()),
    (lambda tf: tf.TensorArray(tf.int32, 0).concat()),
    (lambda tf: tf.TensorArray(tf.int32, 3).unstack([[1], [2], [3]]).concat()),
    (lambda tf: tf.TensorArray(tf.int32, 3).unstack([1, 2, 3]).concat()),
    (lambda tf: tf.TensorArray(tf.int32, 3).unstack([1, 2, 3]).gather([2, 0])),
    (lambda tf: tf.TensorArray(tf.int32, 3).unstack([1, 2, 3]).gather([2, 3])),
    (lambda tf: tf.TensorArray(tf.int32, 3).scatter([2, 0], [7, 8]).read(0)),
    (lambda tf: tf.TensorArray(tf.int32, 3).scatter([2, 0], [7, 8, 9]).read(0)),
    (lambda tf: tf.TensorArray(tf.int32, 3).scatter([0], 7).read(0)),
    (lambda tf: tf.TensorArray(tf.int32, 2, infer_shape=False).split([1, 2, 3], [1, 2]).read(1)),
    (lambda tf: tf.TensorArray(tf.int32, 2).split([1, 2, 3, 4], [2, 2]).concat()),
    (lambda tf: tf.TensorArray(tf.int32, 2, infer_shape=False).split([1, 2], [1, 2]).read(1)),
    (lambda tf: tf.TensorArray(tf.int32, 3, infer_shape=False).split([1, 2], [1, 1]).read(1)),
    (lambda tf: twice_read(tf, None)),
    (lambda tf: twice_read(tf, True)),
    (lambda tf: twice_read(tf, False)),
    (lambda tf: collected(tf).stack()),
    (lambda tf: collected(tf).concat()),
    (lambda tf: collected(tf).read(2)),
    (lambda tf: tf.TensorArray(tf.int32)),
    (lambda tf: tf.TensorArray(tf.int32, 1, handle=tf.constant(1))),
    (lambda tf: tf.TensorArray(tf.int32, handle=1)),
    (lambda tf: tf.TensorArray(tf.int32, -1).size()),
    (lambda tf: tf.TensorArray(tf.int32, 3).close()),
    (lambda tf: tf.TensorArray(tf.int32, 3, name="a").write(0, 1, name="w").read(0, name="r")),
]


@case(*[(number,) for number in range(len(ARRAYS))])
def arrays(tf: Any, number: int) -> Any:
    """Tensor arrays."""
    result = ARRAYS[number](tf)
    if isinstance(result, tf.TensorArray):
        return result.dtype.name
    if isinstance(result, tf.Operation):
        return result.name
    return named(result)


@case()
def array_facts(tf: Any) -> Any:
    """The properties of an array."""
    array = tf.TensorArray(tf.float32, 2, dynamic_size=True, clear_after_read=False)
    written = array.write(0, [1.0, 2.0])
    names = [array.handle.name, array.flow.name, written.flow.name, written.handle.name]
    return names, array.dtype.name, str(written.element_shape), written.dynamic_size
