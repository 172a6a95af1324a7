"""Lookup tables that a program changes."""

from typing import Any

from tensorflow_comparison.table import case


def table_of(tf: Any, *args: Any, **options: Any) -> Any:
    """Returns a table. TensorFlow 2 has no `contrib`, but still has the class."""
    if tf.__name__.startswith("headrace"):
        return tf.contrib.lookup.MutableHashTable(*args, **options)
    from tensorflow.python.ops import lookup_ops  # noqa: PLC0415

    return lookup_ops.MutableHashTable(*args, **options)


_TYPES: list[Any] = [
    *[("string", "int64", ["a", "b"], [1, 2], -1), ("int64", "float32", [5, -7], [0.5, 2.5], 0.0)],
    *[
        ("int64", "string", [1, 2], ["x", "y"], "?"),
        ("string", "bool", ["a", "b"], [True, True], False),
    ],
    *[("int32", "int32", [3, 4], [30, 40], 0)],
    *[("string", "float32", ["a", "b"], [[1.0, 2.0], [3.0, 4.0]], [0.0, -1.0])],
]


@case(*_TYPES)
def entries_come_and_go(tf: Any, key: str, value: str, keys: Any, values: Any, default: Any) -> Any:
    """Inserts, looks up, replaces, removes, counts and exports entries."""
    table = table_of(tf, tf.as_dtype(key), tf.as_dtype(value), default)
    results, size = table.lookup([keys, keys[::-1]]), table.size()
    steps = [table.insert(keys, values), table.insert(keys[:1], values[1:])]
    steps.append(table.remove(tf.constant(keys[1:], key)))
    got = []
    with tf.Session() as session:
        for step in (None, *steps):
            if step is not None:
                session.run(step)
            got.append([session.run(results).tolist(), session.run(size)])
        exported = [one.tolist() for one in session.run(table.export())]
    operations = tf.get_default_graph().get_operations()
    groups = [(op.name, op.type, op.colocation_groups()) for op in operations]
    return str(results.shape), table.name, groups, got, exported


@case(("fewer",), ("more",), ("row",))
def shapes_that_do_not_fit(tf: Any, what: str) -> Any:
    """Values whose shapes differ from those of the keys."""
    table = table_of(tf, tf.string, tf.int64, -1)
    arguments: Any = {"fewer": [1], "more": [1, 2, 3], "row": [[1, 2]]}[what]
    with tf.Session() as session:
        return session.run(table.insert(["a", "b"], arguments))


@case((None,), ("names",))
def saved_with_the_variables(tf: Any, names: str | None) -> Any:
    """The contents of a checkpoint and of the restored session."""
    table = table_of(tf, tf.string, tf.int64, -1, name="words")
    variable = tf.Variable(3, name="v")
    saver = tf.train.Saver({"t": table, "v": variable} if names else None)
    with tf.Session() as session:
        session.run([variable.initializer, table.insert(["a"], [7])])
        path = saver.save(session, "./m", write_meta_graph=False)
        session.run([table.insert(["b"], [8])])
        saver.restore(session, path)
        return tf.train.list_variables(path), session.run([table.lookup(["a", "b"]), table.size()])
