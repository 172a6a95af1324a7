from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace.tf1 as tf
from headrace.graph.lowering.lowering import Lowering
from headrace.tf1.session import base
from headrace.tf1.session.cache import RecentlyUsed

SIZE = 3


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 9))))
def test_cache_keeps_recently_used_values_and_at_most_twice_its_size(calls):
    cache, used = RecentlyUsed(SIZE), []
    for is_add, key in calls:
        result = cache.add(key, f"value {key}") if is_add else cache.get(key)
        assert result in (None, f"value {key}")
        assert result is not None or key not in used[-SIZE:]
        if result is not None:
            used = [other for other in used if other != key] + [key]
        assert len(cache) <= 2 * SIZE


def test_adding_a_key_twice_keeps_the_first_value():
    cache = RecentlyUsed(SIZE)
    first, second = object(), object()
    assert cache.add("key", first) is first
    assert cache.add("key", second) is first
    assert cache.get("key") is first


class TestPrograms:
    @pytest.fixture
    def lowered(self, monkeypatch):
        """Limits the programs that sessions keep, and counts how often combinations are lowered."""
        counts = Counter()
        lower = Lowering.lower

        def count(self, fetches, targets, feeds, *_):
            counts[fetches, targets, feeds] += 1
            return lower(self, fetches, targets, feeds)

        monkeypatch.setattr(base, "_NUM_CACHED", SIZE)
        monkeypatch.setattr(Lowering, "lower", count)
        return counts

    def test_only_rarely_used_programs_are_compiled_again(self, lowered):
        x = tf.placeholder(tf.int32, [])
        often, parts = x + 1, [x * number for number in range(4 * SIZE)]
        with tf.Session() as session:
            for _ in range(2):
                for number, part in enumerate(parts):
                    assert session.run([part, often], {x: 2}) == [2 * number, 3]
                    assert session.run(often, {x: 2}) == 3
        assert lowered[(often,), (), (x,)] == 1
        assert all(lowered[(part, often), (), (x,)] == 2 for part in parts)

    def test_programs_of_single_fetches_are_evicted_too(self, lowered):
        constants = [tf.constant(number) for number in range(4 * SIZE)]
        with tf.Session() as session:
            for _ in range(2):
                assert [session.run(constant) for constant in constants] == list(range(4 * SIZE))
        assert set(lowered.values()) == {2}

    def test_evicted_programs_keep_the_state_of_operations(self, lowered):
        random = tf.random_uniform([], seed=7)
        others = [tf.constant(number) for number in range(4 * SIZE)]
        with tf.Session() as session:
            expected = [session.run(random) for _ in range(len(others))]
        with tf.Session() as session:
            numbers = [session.run([random, other])[0] for other in others]
        np.testing.assert_array_equal(numbers, expected)

    def test_programs_can_be_evicted_while_they_run(self, lowered, queue, in_thread):
        take = queue.dequeue()
        with tf.Session() as session:
            call = in_thread.run(session, queue, take)
            for number in range(4 * SIZE):
                session.run(tf.constant(number))
            session.run(queue.enqueue([7]))
            assert call.result() == 7
