"""Staging areas: order, limits, operation names and errors."""

from typing import Any

from tensorflow_comparison.table import case


def area_of(tf: Any, *args: Any, **options: Any) -> Any:
    """Returns a staging area. TensorFlow 2 has no `contrib`, but still has the class."""
    if tf.__name__.startswith("headrace"):
        return tf.contrib.staging.StagingArea(*args, **options)
    from tensorflow.python.ops import data_flow_ops  # noqa: PLC0415

    return data_flow_ops.StagingArea(*args, **options)


@case((None, None), (["b", "a"], None), (None, [[], []]), (["b", "a"], [[], [None]]))
def staged(tf: Any, names: list[str] | None, shapes: Any) -> Any:
    """`put`, `peek`, `get`, `size` and `clear`."""
    area = area_of(tf, [tf.int32, tf.int64], shapes, names)
    number = tf.placeholder(tf.int32, [])
    values = [number, tf.fill([2], tf.cast(number, tf.int64))]
    if shapes == [[], []]:
        values[1] = tf.cast(number, tf.int64)
    put = area.put(values if names is None else dict(zip(names, values, strict=True)))
    get, peek, size, clear = area.get(), area.peek(1), area.size(), area.clear()
    tensors = get if names is None else [get[name] for name in names]
    expected = [(tensor.name, tensor.dtype.name, str(tensor.shape)) for tensor in tensors]
    with tf.Session() as session:
        for n in range(4):
            session.run(put, {number: n})
        result = [session.run(peek), session.run(get), session.run(get), session.run(size)]
        session.run(clear)
        return expected, result, session.run(size), [put.name, size.name, clear.name]


@case((3, 0), (0, 15), (2, 100))
def staged_within_limits(tf: Any, capacity: int, memory_limit: int) -> Any:
    """As many elements as fit, and one that is larger than the area."""
    area = area_of(tf, [tf.int32], capacity=capacity, memory_limit=memory_limit)
    put, get = area.put([tf.constant(1)]), area.get()
    large = area.put([tf.zeros([40], tf.int32)])
    with tf.Session() as session:
        for _ in range(2):
            session.run(put)
        values = [session.run(get), session.run(area.size())]
        if memory_limit:
            session.run(large)
        return values


@case()
def operations_of_a_staging_area(tf: Any) -> Any:
    """The names and types of all operations."""
    with tf.name_scope("outer"):
        area = area_of(tf, [tf.int32])
        area.put([tf.constant(1)])
        area.put(tf.constant(1), name="mine")
        area.get()
        area.peek(0)
        area.size()
        area.clear(name="empty")
    other = area_of(tf, [tf.int32], shared_name="s")
    other.get()
    operations = tf.get_default_graph().get_operations()
    return area.name, other.name, [(op.name, op.type) for op in operations]


_WRONG = ["type", "shape", "number", "dict", "no dict", "key", "names", "shapes", "shared_name"]


@case(*[(what,) for what in [*_WRONG, "capacity"]])
def wrong_arguments_of_a_staging_area(tf: Any, what: str) -> Any:
    """Invalid arguments."""
    one = tf.constant([1, 2])
    if what == "names":
        return area_of(tf, [tf.int32], names=["a", "b"])
    if what == "shapes":
        return area_of(tf, [tf.int32], shapes=[[], []])
    if what == "shared_name":
        return area_of(tf, [tf.int32], shared_name=3)
    if what == "capacity":
        return area_of(tf, [tf.int32], capacity=-1).put([one]).name
    names = ["a"] if what in ("no dict", "key") else None
    values: Any = {
        "type": [tf.cast(one, tf.float32)],
        "shape": [tf.constant(1)],
        "number": [one, one],
        "dict": {"a": one},
        "no dict": [one],
        "key": {"b": one},
    }[what]
    return area_of(tf, [tf.int32], [[2]], names).put(values).name
