"""Lookup tables: initialized once per session, with lookups of tensors."""

import numpy as np
import pytest

import headrace.tf1 as tf
from headrace.tf1 import checkpoint


@pytest.fixture
def session():
    with tf.Session() as session:
        yield session


def words(default=-1, **arguments):
    initializer = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
    return tf.lookup.StaticHashTable(initializer, default, **arguments)


class TestLookup:
    def test_lookup_of_any_shape_returns_values_and_the_default(self, session):
        keys = tf.placeholder(tf.string, [None, None])
        result = words().lookup(keys)
        assert result.shape.as_list() == [None, None]
        session.run(tf.tables_initializer())
        got = session.run(result, {keys: [["b", "z"], ["a", "a"]]})
        assert got.tolist() == [[2, -1], [1, 1]]
        assert got.dtype == np.int32
        assert session.run(result, {keys: np.zeros([0, 3], object)}).shape == (0, 3)

    def test_lookup_of_sparse_keys_is_sparse(self, session):
        keys = tf.SparseTensor([[0, 1], [1, 0]], ["b", "?"], [2, 2])
        result = words().lookup(keys)
        session.run(tf.tables_initializer())
        assert session.run(result).values.tolist() == [2, -1]

    @pytest.mark.parametrize(
        ("keys", "values", "default"),
        [
            ([1, 2], ["x", "y"], ""),
            ([1 << 40, 2], [0.5, -1.5], 0.0),
            (["a", b"\xff"], [True, False], False),
            (["a", ""], ["x", "y" * 100], "?"),
        ],
    )
    def test_lookup_supports_other_types(self, session, keys, values, default):
        initializer = tf.lookup.KeyValueTensorInitializer(keys, values)
        table = tf.lookup.StaticHashTable(initializer, default)
        session.run(table.initializer)
        result = session.run(table.lookup(tf.constant(keys)))
        expected = [value.encode() if isinstance(value, str) else value for value in values]
        assert result.tolist() == expected

    def test_lookup_works_in_loops_and_queue_runners(self, session):
        table = words()
        numbers = tf.map_fn(table.lookup, tf.constant(["b", "a"]), dtype=tf.int32)
        queue = tf.train.input_producer(["a", "b"], num_epochs=1, shuffle=False)
        batch = tf.train.batch([table.lookup(queue.dequeue())], 2)
        session.run([tf.tables_initializer(), tf.local_variables_initializer()])
        assert session.run(numbers).tolist() == [2, 1]
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        assert session.run(batch).tolist() == [1, 2]
        coord.request_stop()
        coord.join(threads)


class TestEntries:
    def test_table_is_empty_before_its_initializer(self, session):
        table = words()
        size, results = table.size(), table.lookup(tf.constant(["a"]))
        assert session.run(size) == 0
        with pytest.raises(tf.errors.FailedPreconditionError, match="Table not initialized"):
            session.run(results)
        session.run(table.initializer)
        session.run(table.initializer)
        assert session.run([size, results])[0] == 2
        keys, values = session.run(table.export())
        assert (keys.tolist(), values.tolist()) == ([b"a", b"b"], [1, 2])

    def test_table_is_initialized_once_per_session(self, session):
        keys = tf.placeholder(tf.string, [None])
        table = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(keys, tf.range(tf.size(keys))), -1
        )
        result = table.lookup(tf.constant(["a", "c"]))
        session.run(table.initializer, {keys: ["a", "b"]})
        session.run(table.initializer, {keys: ["c", "d"]})
        assert session.run(result).tolist() == [0, -1]
        with pytest.raises(tf.errors.FailedPreconditionError, match="already initialized"):
            session.run(table.initializer, {keys: ["a", "b", "c"]})
        with tf.Session() as other:
            other.run(table.initializer, {keys: ["c"]})
            assert other.run(result).tolist() == [-1, 0]

    def test_duplicate_keys_must_have_equal_values(self, session):
        def table(values):
            initializer = tf.lookup.KeyValueTensorInitializer(["a", "a"], values)
            return tf.lookup.StaticHashTable(initializer, -1)

        same, different = table([1, 1]), table([1, 2])
        session.run(same.initializer)
        assert session.run(same.size()) == 1
        with pytest.raises(tf.errors.FailedPreconditionError, match=r"Key a has 1 and .* value 2"):
            session.run(different.initializer)

    def test_tables_are_shared_by_name(self, session):
        initializer = tf.lookup.KeyValueTensorInitializer(["a"], [7])
        first, second = (
            tf.contrib.lookup.HashTable(initializer, -1, shared_name="both") for _ in range(2)
        )
        session.run(first.init)
        assert session.run(second.lookup(tf.constant(["a"]))).tolist() == [7]
        other = tf.contrib.lookup.HashTable(
            tf.lookup.KeyValueTensorInitializer([1], [7]), -1, shared_name="both"
        )
        with pytest.raises(tf.errors.InvalidArgumentError, match="string to int32"):
            session.run(other.init)

    def test_monitored_session_initializes_tables(self):
        result = words().lookup(tf.constant(["b"]))
        with tf.train.MonitoredSession() as session:
            assert session.run(result).tolist() == [2]

    def test_tables_are_part_of_a_checkpoint(self, session, tmp_path):
        keys = tf.placeholder(tf.string, [None])
        table = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(keys, tf.range(tf.size(keys))), -1
        )
        result = table.lookup(tf.constant(["b", "?"]))
        session.run(table.initializer, {keys: ["a", "b"]})
        checkpoint.save(session, tmp_path / "state")
        with tf.Session() as other:
            checkpoint.restore(other, tmp_path / "state")
            assert other.run(result).tolist() == [1, -1]


class TestRefusals:
    def test_wrong_key_and_value_types_are_rejected(self, session):
        table = words()
        with pytest.raises(TypeError, match="must be <dtype: 'string'>, received: <dtype: 'int32'"):
            table.lookup(tf.constant([1]))
        with pytest.raises((TypeError, ValueError), match="x"):
            words("x")
        floats = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer([1.5], [1]), -1)
        with pytest.raises(tf.errors.InvalidArgumentError, match="keys of type float"):
            session.run(floats.initializer)

    def test_wrong_sizes_are_rejected(self):
        with pytest.raises(ValueError, match="must be equal, but are 1 and 2"):
            tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a"], [1, 2]), -1)
        with pytest.raises(ValueError, match="not compatible"):
            words([1, 2])


class TestBuckets:
    def test_unknown_keys_are_hashed_into_buckets(self, session):
        table = tf.lookup.StaticVocabularyTable(
            tf.lookup.KeyValueTensorInitializer(["a"], [0], value_dtype=tf.int64), 2
        )
        keys = tf.constant(["a", "b", "c"])
        session.run(table.initializer)
        completed, size = session.run([table.lookup(keys), table.size()])
        hashed = session.run(tf.strings.to_hash_bucket_fast(keys, 2))
        assert completed.tolist() == [0, hashed[1] + 1, hashed[2] + 1]
        assert size == 3

    def test_table_can_consist_of_buckets_only(self, session):
        table = tf.contrib.lookup.IdTableWithHashBuckets(None, 5)
        session.run(table.init)
        keys = tf.SparseTensor([[0]], ["x"], [1])
        expected = session.run(tf.strings.to_hash_bucket_fast(["x"], 5))
        assert session.run(table.lookup(keys)).values.tolist() == expected.tolist()
        assert session.run(table.size()) == 5

    def test_other_hash_functions_can_be_used(self, session):
        lookup, keys = tf.contrib.lookup, tf.constant(["y"])
        for spec, hashed in (
            (lookup.StrongHashSpec([1, 2]), tf.strings.to_hash_bucket_strong(keys, 9, [1, 2])),
            (lookup.HasherSpec("legacy", None), tf.strings.to_hash_bucket(keys, 9)),
        ):
            table = lookup.index_table_from_tensor(["x"], 9, hasher_spec=spec)
            result = table.lookup(keys)
            session.run(table.init)
            assert session.run(result) == session.run(hashed) + 1

    def test_integer_keys_are_hashed_as_strings(self, session):
        table = tf.contrib.lookup.index_table_from_tensor([5, 6], 3, dtype=tf.int32)
        result = table.lookup(tf.constant([6, 9]))
        session.run(tf.tables_initializer())
        expected = session.run(tf.strings.to_hash_bucket_fast(["9"], 3)) + 2
        assert session.run(result).tolist() == [1, *expected]

    def test_invalid_buckets_are_rejected(self):
        lookup = tf.contrib.lookup
        initializer = tf.lookup.KeyValueTensorInitializer(["a"], [0])
        with pytest.raises(ValueError, match="must be > 0"):
            tf.lookup.StaticVocabularyTable(initializer, 0)
        with pytest.raises(TypeError, match="`value_dtype`, expected <dtype: 'int64'>"):
            tf.lookup.StaticVocabularyTable(initializer, 1)
        with pytest.raises(ValueError, match="if no `table` is supplied"):
            lookup.IdTableWithHashBuckets(None, 0)
        with pytest.raises(ValueError, match="size 2, received 1"):
            lookup.StrongHashSpec([1])
        with pytest.raises(TypeError, match="must be of type HasherSpec"):
            lookup.IdTableWithHashBuckets(None, 1, hasher_spec=3)
        table = lookup.IdTableWithHashBuckets(None, 1, lookup.HasherSpec("x", None))
        with pytest.raises(ValueError, match="unknown hasher x"):
            table.lookup(tf.constant(["a"]))
