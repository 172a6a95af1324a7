"""Barriers: elements whose components arrive one by one."""

from functools import partial

import numpy as np
import pytest
from tests.calls import Call, waiting_call

import headrace.tf1 as tf
from headrace.core import engine
from headrace.tf1 import checkpoint
from headrace.tf1.ops.queues import Barrier


@pytest.fixture
def session():
    with tf.Session() as session:
        yield session


def waiting(function):
    return waiting_call(function, "barrier")


class TestElements:
    def test_elements_are_taken_once_all_components_arrived(self, session):
        barrier = Barrier([tf.int32, tf.string], [[], [2]])
        session.run(barrier.insert_many(0, ["a", "b"], [1, 2]))
        sizes = [barrier.ready_size(), barrier.incomplete_size()]
        assert session.run(sizes) == [0, 2]
        session.run(barrier.insert_many(1, ["b"], [["x", "y"]]))
        assert session.run(sizes) == [1, 1]
        indices, keys, (numbers, words) = session.run(barrier.take_many(1))
        assert (indices.tolist(), keys.tolist(), numbers.tolist()) == ([-(2**63)], [b"b"], [2])
        assert words.tolist() == [[b"x", b"y"]]

    def test_elements_with_earlier_keys_are_taken_first(self, session):
        barrier = Barrier([tf.int32, tf.int32], [[], []])
        keys = [f"{n}" for n in range(20)]
        for key in keys:
            session.run(barrier.insert_many(0, [key], [int(key)]))
        session.run(barrier.insert_many(1, keys[::-1], list(range(20))))
        taken = session.run(barrier.take_many(20))
        assert taken.keys.tolist() == [key.encode() for key in keys]
        assert np.diff(taken.indices).tolist() == [1] * 19

    def test_elements_from_several_threads_arrive_complete(self, session):
        barrier = Barrier([tf.int64, tf.int64], [[], []])
        numbers = tf.placeholder(tf.int64, [None])
        insert = [barrier.insert_many(n, tf.as_string(numbers), numbers) for n in range(2)]
        take = barrier.take_many(10)
        rng = np.random.default_rng(7)
        orders = [rng.permutation(1000).reshape(100, 10) for _ in insert]

        def fill(op, order):
            for row in order:
                session.run(op, {numbers: row})

        calls = [Call(partial(fill, op, order)) for op, order in zip(insert, orders, strict=True)]
        values = [session.run(take).values for _ in range(100)]
        for call in calls:
            call.result()
        assert all((one == other).all() for one, other in values)
        assert sorted(np.concatenate([one for one, _ in values])) == list(range(1000))


class TestWaits:
    def test_take_waits_for_elements(self, session):
        barrier = Barrier(tf.int32)
        take, insert = barrier.take_many(2), barrier.insert_many(0, ["a"], [1])
        call = waiting(lambda: session.run(take))
        session.run(insert)
        session.run(insert)
        assert call.result().values[0].tolist() == [1, 1]

    def test_close_ends_takes_that_can_never_be_satisfied(self, session):
        barrier = Barrier(tf.int32)
        take, close = barrier.take_many(2), barrier.close()
        call = waiting(lambda: session.run(take))
        session.run(close)
        with pytest.raises(tf.errors.OutOfRangeError, match=r"barrier_queue.* is closed"):
            call.result()

    @pytest.mark.parametrize(("count", "is_small", "num_taken"), [(3, True, 1), (4, False, 0)])
    def test_close_ends_takes_despite_an_incomplete_element(
        self, session, count, is_small, num_taken
    ):
        barrier = Barrier([tf.int32, tf.int32], [[], []])
        session.run(barrier.insert_many(0, ["a", "b"], [1, 2]))
        session.run(barrier.insert_many(1, ["a"], [1]))
        take, close = barrier.take_many(count, allow_small_batch=is_small), barrier.close()
        call = waiting(lambda: session.run(take))
        session.run(close)
        if num_taken:
            assert call.result().keys.tolist() == [b"a"]
        else:
            with pytest.raises(tf.errors.OutOfRangeError, match="insufficient elements"):
                call.result()
        session.run(barrier.insert_many(1, ["b"], [2]))
        rest = session.run(barrier.take_many(2, allow_small_batch=True))
        assert rest.keys.tolist() == [b"a", b"b"][num_taken:]

    def test_run_that_waits_too_long_reports_the_barrier(self, session):
        barrier = Barrier(tf.int32, name="segments")
        session.run(barrier.insert_many(0, ["a"], [1]))
        with pytest.raises(tf.errors.DeadlineExceededError, match="segments_BarrierTakeMany"):
            session.run(barrier.take_many(2), options=tf.RunOptions(timeout_in_ms=50))
        assert session.run(barrier.take_many(1)).keys.tolist() == [b"a"]

    def test_closing_the_session_ends_waits(self):
        session = tf.Session()
        take = Barrier(tf.int32).take_many(1)
        call = waiting(lambda: session.run(take))
        session.close()
        with pytest.raises(tf.errors.CancelledError):
            call.result()


class TestClosing:
    def test_closed_barrier_lets_remaining_elements_be_completed(self, session):
        barrier = Barrier([tf.int32, tf.int32], [[], []])
        session.run(barrier.insert_many(0, ["a", "b"], [1, 2]))
        session.run(barrier.close())
        with pytest.raises(tf.errors.CancelledError, match="brand new key: c"):
            session.run(barrier.insert_many(0, ["c"], [3]))
        session.run(barrier.insert_many(1, ["a", "b"], [1, 2]))
        assert session.run(barrier.take_many(5, allow_small_batch=True)).values[0].size == 2
        with pytest.raises(tf.errors.OutOfRangeError, match="insufficient elements"):
            session.run(barrier.take_many(1))

    def test_closing_can_drop_incomplete_elements(self, session):
        barrier = Barrier([tf.int32, tf.int32], [[], []])
        session.run(barrier.insert_many(0, ["a"], [1]))
        session.run(barrier.close(cancel_pending_enqueues=True))
        assert session.run(barrier.incomplete_size()) == 0
        with pytest.raises(tf.errors.CancelledError, match="Pending enqueues cancelled: 1"):
            session.run(barrier.insert_many(1, ["a"], [1]))


def test_barriers_with_the_same_shared_name_are_shared(session):
    one, other = (Barrier(tf.int32, [[]], shared_name="b") for _ in range(2))
    session.run(one.insert_many(0, ["a"], [1]))
    assert session.run(other.ready_size()) == 1
    with pytest.raises(tf.errors.InvalidArgumentError, match="has component types int32 but"):
        session.run(Barrier(tf.int64, [[]], shared_name="b").ready_size())
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"has component shapes \[\[\]\] but"):
        session.run(Barrier(tf.int32, [[2]], shared_name="b").ready_size())


def test_barrier_cannot_be_fetched(session):
    with pytest.raises(TypeError, match="it is a resource"):
        session.run(Barrier(tf.int32).barrier_ref)


@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (lambda b: Barrier([tf.int32], [[0]]), ValueError, r"shape '\(0,\)' at index 0"),
        (lambda b: Barrier([tf.int32], [[None]]), ValueError, "must be fully defined"),
        (lambda b: b.insert_many("0", ["a"], [1]), TypeError, "argument 'component_index' not '0'"),
        (lambda b: b.insert_many(0, "a", [1]), ValueError, "must be rank 1 but is rank 0"),
        (lambda b: b.insert_many(0, ["a"], 1), ValueError, "at least rank 1 but is rank 0"),
        (lambda b: b.insert_many(0, ["a"], [1, 2]), ValueError, "are 1 and 2"),
        (lambda b: b.take_many(1, allow_small_batch=1), TypeError, "'allow_small_batch' not 1"),
        (lambda b: b.take_many(1, timeout=3), TypeError, "'wait_for_incomplete' not 3"),
        (lambda b: b.close("x"), TypeError, "'cancel_pending_enqueues' not 'x'"),
    ],
)
def test_invalid_arguments_are_rejected(make, kind, text):
    barrier = Barrier(tf.int32)
    with pytest.raises(kind, match=text):
        make(barrier)


class TestCheckpoints:
    def test_checkpoint_contains_complete_and_incomplete_elements(self, session, tmp_path):
        barrier = Barrier([tf.int32, tf.string], [[], [2]])
        session.run(barrier.insert_many(0, ["a", "b"], [1, 2]))
        session.run(barrier.insert_many(1, ["b"], [["x", "y"]]))
        checkpoint.save(session, tmp_path / "state")
        take, finish = barrier.take_many(1), barrier.insert_many(1, ["a"], [["p", "q"]])
        for _ in range(2):
            with tf.Session() as other:
                checkpoint.restore(other, tmp_path / "state")
                assert other.run(take).keys.tolist() == [b"b"]
                other.run(finish)
                assert other.run(take).values[1].tolist() == [[b"p", b"q"]]

    def test_checkpoint_is_rejected_while_a_runner_may_wait_in_a_barrier(self, session, tmp_path):
        barrier, queue = Barrier(tf.int32), tf.FIFOQueue(10, tf.int32)
        taken = barrier.take_many(1).values[0]
        runner = tf.train.QueueRunner(queue, [queue.enqueue_many(taken)])
        coord = tf.train.Coordinator()
        runner.create_threads(session, coord, start=True)
        waits = waiting_for_barrier()
        with pytest.raises(tf.errors.FailedPreconditionError, match="wait forever in a barrier"):
            checkpoint.save(session, tmp_path / "state")
        assert waits
        coord.request_stop()
        session.run(barrier.close())
        coord.join()


def waiting_for_barrier():
    """Returns the awaited event, once the engine waits for a barrier."""
    while True:
        results = [f"{event.op} {event.text}" for wait in engine.waits() for event in wait.awaited]
        if any("barrier" in what for what in results):
            return results
