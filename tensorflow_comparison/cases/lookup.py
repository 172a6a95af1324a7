"""Lookup tables: `tf.lookup` and `tf.contrib.lookup`."""

from pathlib import Path
from typing import Any

from tensorflow_comparison.table import case


def table_of(tf: Any, keys: Any, values: Any, default: Any, **types: Any) -> Any:
    """Creates a table of keys and values."""
    initializer = tf.lookup.KeyValueTensorInitializer(keys, values, **types)
    return tf.lookup.StaticHashTable(initializer, default)


@case(
    [["a", "b"], [1, 2], -1, [["b", "z"], ["a", "a"]]],
    [["a"], [1.5], 0.5, ["a", "b"]],
    [["a", "a"], [1, 1], 0, ["a"]],
    [["a", "a"], [1, 2], 0, ["a"]],
    [["a"], [1, 2], 0, ["a"]],
    [["a"], [1], [1, 2], ["a"]],
    [["a"], [1], -1, [1]],
)
def found(tf: Any, keys: Any, values: Any, default: Any, expected: Any) -> Any:
    """A table's results for some keys, and its size before and after it is filled."""
    table = table_of(tf, keys, values, default)
    looked_up, size = table.lookup(tf.constant(expected)), table.size()
    with tf.Session() as session:
        before = session.run(size)
        session.run(tf.tables_initializer())
        session.run(table.initializer)
        return before, session.run([looked_up, size]), table.name, str(looked_up.dtype)


@case()
def texts_of_numbers(tf: Any) -> Any:
    """A table from integers to strings."""
    table = table_of(tf, tf.constant([1, 1 << 40], tf.int64), ["x", "y"], "?")
    result = table.lookup(tf.constant([[1 << 40], [5]], tf.int64))
    with tf.Session() as session:
        session.run(table.initializer)
        return session.run(result), result.shape.as_list()


@case()
def sparse_keys(tf: Any) -> Any:
    """Sparse keys have sparse values."""
    table = table_of(tf, ["a"], [7], -1)
    result = table.lookup(tf.SparseTensor([[0, 1], [1, 0]], ["a", "b"], [2, 2]))
    with tf.Session() as session:
        session.run(table.initializer)
        return session.run(result)


@case()
def not_filled(tf: Any) -> Any:
    """A lookup before the table is filled."""
    with tf.Session() as session:
        return session.run(table_of(tf, ["a"], [7], -1).lookup(tf.constant(["a"])))


@case()
def filled_with_more(tf: Any) -> Any:
    """A different number of entries for a filled table."""
    keys = tf.placeholder(tf.string, [None])
    table = table_of(tf, keys, tf.range(tf.size(keys)), -1)
    with tf.Session() as session:
        session.run(table.initializer, {keys: ["a", "b"]})
        session.run(table.initializer, {keys: ["c", "d"]})
        exported = session.run(table.export())
        try:
            session.run(table.initializer, {keys: ["a", "b", "c"]})
        except tf.errors.FailedPreconditionError:
            return sorted(zip(*(part.tolist() for part in exported), strict=True)), "refused"
        return None


@case([2], [0], [-1])
def vocabulary_table(tf: Any, buckets: int) -> Any:
    """Words, with buckets for unknown ones."""
    initializer = tf.lookup.KeyValueTensorInitializer(["a", "b"], [0, 1], value_dtype=tf.int64)
    table = tf.lookup.StaticVocabularyTable(initializer, buckets)
    with tf.Session() as session:
        session.run(table.initializer)
        values = session.run(table.lookup(tf.constant(["b", "c", "d"])))
        return values, session.run(table.size()), table.name


@case(
    ["x\ny\r\nz\n", (-2, -1), None, "\t"],
    ["x\ny\r\nz", (-2, -1), 2, "\t"],
    ["x\ny\n", (-2, -1), 5, "\t"],
    ["x\n\ny\n", (-2, -1), None, "\t"],
    ["x\nx\n", (-2, -1), None, "\t"],
    ["x\t1\ny\t2\n", (0, 1), None, "\t"],
    ["x,1\ny,-2,3\n", (0, 1), None, ","],
    ["x\t1\ny\n", (0, 1), None, "\t"],
    ["x\tz\n", (0, 1), None, "\t"],
    ["x\t 7\n", (0, 1), None, "\t"],
    ["x\n", (-3, -1), None, "\t"],
    ["x\n", (-1, 0), None, "\t"],
    with_files=True,
)
def text_files(
    tf: Any, content: str, columns: Any, vocab_size: Any, delimiter: str, directory: Path
) -> Any:
    """Tables from the lines of a file."""
    path = directory / "words"
    path.write_bytes(content.encode())
    initializer = tf.lookup.TextFileInitializer(
        str(path), tf.string, columns[0], tf.int64, columns[1], vocab_size, delimiter
    )
    table = tf.lookup.StaticHashTable(initializer, -1)
    with tf.Session() as session:
        session.run(tf.tables_initializer())
        return session.run([table.size(), table.lookup(tf.constant(["x", "y", "z"]))])


@case(with_files=True)
def nodes(tf: Any, directory: Path) -> Any:
    """The nodes that tables create, and their collections."""
    path = directory / "words"
    path.write_text("a\n")
    table = table_of(tf, ["a"], [7], -1)
    table.lookup(tf.constant(["a"]))
    table.size()
    initializer = tf.lookup.TextFileInitializer(str(path), tf.string, -2, tf.int64, -1)
    tf.lookup.StaticHashTable(initializer, -1, name="other")
    names = [(op.type, op.name) for op in tf.get_default_graph().get_operations()]
    keys = tf.GraphKeys.TABLE_INITIALIZERS, tf.GraphKeys.ASSET_FILEPATHS
    return names, [[item.name for item in tf.get_collection(key)] for key in keys]
