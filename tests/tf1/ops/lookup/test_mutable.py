"""Tables that programs change."""

import numpy as np
import pytest

import headrace.tf1 as tf
from headrace.tf1 import checkpoint

Table = tf.contrib.lookup.MutableHashTable


@pytest.fixture
def session():
    with tf.Session() as session:
        yield session


def test_entries_can_be_inserted_changed_and_removed(session):
    table = Table(tf.string, tf.int64, -1)
    result = table.lookup([["a", "b"], ["c", "a"]])
    assert session.run(result).tolist() == [[-1, -1], [-1, -1]]
    session.run(table.insert(["a", "b"], [1, 2]))
    session.run(table.insert(["b", "c", "c"], [3, 4, 5]))
    assert session.run(result).tolist() == [[1, 3], [5, 1]]
    session.run(table.remove(tf.constant(["a", "z"])))
    assert session.run(result).tolist() == [[-1, 3], [5, -1]]
    assert session.run(table.size()) == 2


def test_values_can_be_tensors(session):
    table = Table(tf.int64, tf.float32, [0.0, -1.0])
    result = table.lookup(tf.constant([[7, 8]], tf.int64))
    assert result.shape.as_list() == [1, 2, 2]
    session.run(table.insert([8, -3], [[1.0, 2.0], [3.0, 4.0]]))
    assert session.run(result).tolist() == [[[0.0, -1.0], [1.0, 2.0]]]
    keys, values = session.run(table.export())
    assert (keys.tolist(), values.tolist()) == ([-3, 8], [[3.0, 4.0], [1.0, 2.0]])


@pytest.mark.parametrize(
    ("key", "value", "keys", "values"),
    [
        (tf.int32, tf.string, [3, -1], ["x", "y" * 1000]),
        (tf.string, tf.bool, ["b", "a"], [True, False]),
        (tf.int64, tf.float16, [2**40, -(2**40)], [0.5, 1.5]),
    ],
)
def test_tables_support_many_types(session, key, value, keys, values):
    table = Table(key, value, {tf.string: "", tf.bool: False}.get(value, 0))
    session.run(table.insert(keys, values))
    expected = session.run(tf.constant(values, value))
    assert session.run(table.lookup(keys)).tolist() == expected.tolist()
    exported = session.run(table.export())
    assert exported[0].dtype == key.as_numpy_dtype
    assert exported[0].tolist() == sorted(session.run(tf.constant(keys, key)).tolist())


def test_words_can_be_counted_in_a_table(session):
    """An idiom: look up, add, insert."""
    table, word = Table(tf.string, tf.int64, 0), tf.placeholder(tf.string, [])
    count = table.insert(word, table.lookup(word) + 1)
    for each in ["a", "b", "a", "a", "c", "b"]:
        session.run(count, {word: each})
    keys, counts = session.run(table.export())
    assert dict(zip(keys, counts, strict=True)) == {b"a": 3, b"b": 2, b"c": 1}


def test_tables_with_the_same_shared_name_are_shared(session):
    one, other = (Table(tf.string, tf.int32, 0, shared_name="t") for _ in range(2))
    session.run(one.insert(["a"], [1]))
    assert session.run(other.lookup(["a"])).tolist() == [1]
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="maps string to int32, but a table from"
    ):
        session.run(Table(tf.string, tf.int64, 0, shared_name="t").size())


@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (lambda t: t.insert([1], [1.0]), TypeError, "string"),
        (lambda t: t.remove(tf.constant([1])), TypeError, "Dtype of argument `keys`"),
        (lambda t: Table(tf.string, tf.int64, "x"), TypeError, "int64"),
    ],
)
def test_wrong_types_are_rejected(make, kind, text):
    table = Table(tf.string, tf.float32, 0.0)
    with pytest.raises(kind, match=text):
        make(table)


def test_wrong_shapes_are_rejected(session):
    table = Table(tf.string, tf.float32, 0.0)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"Expected shape \[2\] for value, got"
    ):
        session.run(table.insert(["a", "b"], [1.0]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="keys of type float"):
        session.run(Table(tf.float32, tf.float32, 0.0).size())
    assert session.run(table.size()) == 0


class TestSaver:
    def test_saver_saves_the_entries(self, session, tmp_path):
        table, other = Table(tf.string, tf.int64, -1), Table(tf.int32, tf.float32, [0.0, 0.0])
        session.run([table.insert(["a", "b"], [1, 2]), other.insert([5], [[1.0, 2.0]])])
        saver = tf.train.Saver()
        path = saver.save(session, tmp_path / "m")
        assert tf.train.list_variables(path) == [
            ("MutableHashTable-keys", [2]),
            ("MutableHashTable-values", [2]),
            ("MutableHashTable_1-keys", [1]),
            ("MutableHashTable_1-values", [1, 2]),
        ]
        session.run([table.insert(["z"], [26]), other.remove(tf.constant([5]))])
        saver.restore(session, path)
        keys, values = session.run(table.export())
        assert (keys.tolist(), values.tolist()) == ([b"a", b"b"], [1, 2])
        assert session.run(other.lookup([5])).tolist() == [[1.0, 2.0]]

    def test_saver_accepts_table_names_and_skips_unsaved_tables(self, session, tmp_path):
        table = Table(tf.string, tf.int64, -1, checkpoint=False)
        session.run(table.insert(["a"], [1]))
        with pytest.raises(ValueError, match="No variables to save"):
            tf.train.Saver()
        path = tf.train.Saver({"words": table}).save(session, tmp_path / "m")
        assert [name for name, _ in tf.train.list_variables(path)] == ["words-keys", "words-values"]

    def test_failed_restore_changes_nothing(self, session, tmp_path):
        table, variable = Table(tf.string, tf.int64, -1), tf.Variable(1)
        session.run([variable.initializer, table.insert(["a"], [1])])
        path = tf.train.Saver({"v": variable, "t": table}).save(session, tmp_path / "m")
        session.run(variable.assign(2))
        longer = Table(tf.string, tf.int64, [-1, -1])
        for one, text in (
            (longer, "Expected shape"),
            (Table(tf.string, tf.int32, 0), "dtype int32"),
        ):
            with pytest.raises(tf.errors.InvalidArgumentError, match=text):
                tf.train.Saver({"v": variable, "t": one}).restore(session, path)
        with pytest.raises(tf.errors.NotFoundError, match="Key u-keys not found"):
            tf.train.Saver({"v": variable, "u": table}).restore(session, path)
        assert session.run(variable) == 2


def test_session_checkpoint_contains_the_entries(session, tmp_path):
    table = Table(tf.string, tf.int64, -1)
    session.run(table.insert(["a", "b"], [1, 2]))
    size, results = table.size(), table.lookup(["b"])
    checkpoint.save(session, tmp_path / "state")
    with tf.Session() as other:
        assert other.run(size) == 0
        checkpoint.restore(other, tmp_path / "state")
        assert other.run(results).tolist() == [2]


def test_table_can_be_filled_during_lookups(session):
    table, keys = Table(tf.int64, tf.int64, -1), tf.placeholder(tf.int64, [None])
    insert, results = table.insert(keys, keys * 2), table.lookup(keys)
    for start in range(0, 1000, 100):
        session.run(insert, {keys: np.arange(start, start + 100)})
    got = session.run(results, {keys: np.arange(1100)})
    assert (got[:1000] == 2 * np.arange(1000)).all()
    assert (got[1000:] == -1).all()
