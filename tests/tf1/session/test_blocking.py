"""Runs that wait: for each other, for a deadline, for the end of the session."""

import pytest

import headrace.tf1 as tf


class TestWithinOneRun:
    def test_dequeue_and_the_enqueue_that_feeds_it_complete_together(self, session, queue):
        dequeue, enqueue = queue.dequeue(), queue.enqueue([1])
        assert session.run([dequeue, enqueue]) == [1, None]
        assert session.run([enqueue, dequeue]) == [None, 1]
        others = [queue.dequeue(), queue.enqueue([2])]
        result = session.run([dequeue, *others, enqueue])
        assert sorted([result[0], result[1]]) == [1, 2]

    def test_operation_runs_after_its_control_dependencies(self, session, queue):
        with tf.control_dependencies([queue.enqueue([3])]):
            first = queue.dequeue()
        with tf.control_dependencies([first]):
            size = queue.size()
        assert session.run([size, first]) == [0, 3]

    def test_run_dequeues_the_available_elements_and_waits_for_the_rest(
        self, session, in_thread, queue
    ):
        first, second, enqueue = queue.dequeue(), queue.dequeue(), queue.enqueue([1])
        session.run(enqueue)
        call = in_thread.run(session, queue, [first, second])
        assert session.run(queue.size()) == 0
        session.run(enqueue)
        assert call.result() == [1, 1]

    def test_control_dependencies_run_first_for_any_fetch(self, session):
        v = tf.Variable(0)
        session.run(v.initializer)
        with tf.control_dependencies([v.assign_add(1)]):
            waiting = [
                tf.identity(3),
                tf.constant(4),
                tf.no_op(),
                tf.placeholder_with_default(5, []),
            ]
            with tf.control_dependencies(None):
                free = tf.constant(6)
        for count, fetch in enumerate(waiting, 1):
            session.run(fetch)
            assert session.run(v) == count
        session.run(waiting)
        session.run(free)
        assert session.run(v) == len(waiting) + 1


class TestDeadlines:
    @pytest.mark.parametrize("is_full", [False, True])
    def test_run_that_waits_too_long_ends(self, session, queue, is_full):
        enqueue = queue.enqueue([1])
        blocked = queue.dequeue()
        if is_full:
            session.run(enqueue)
            blocked = enqueue
        with pytest.raises(tf.errors.DeadlineExceededError, match="Timed out waiting for"):
            session.run(blocked, options=tf.RunOptions(timeout_in_ms=1))
        assert session.run(queue.size()) == is_full

    def test_session_timeout_applies_to_all_runs_unless_overridden(self, queue):
        dequeue = queue.dequeue()
        with tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=1)) as session:
            for fetch in (dequeue, [dequeue, tf.constant(1)]):
                with pytest.raises(tf.errors.DeadlineExceededError):
                    session.run(fetch)
            session.run(queue.enqueue([5]), options=tf.RunOptions(timeout_in_ms=5000))
            assert session.run(dequeue) == 5

    def test_timeout_that_does_not_expire_has_no_effect(self, session):
        assert session.run(tf.constant(1), options=tf.RunOptions(timeout_in_ms=5000)) == 1
        assert session.run(tf.constant(1), options=tf.RunOptions()) == 1


class TestClosing:
    def test_closing_wakes_every_blocked_run(self, in_thread, queue):
        enqueue, dequeue = queue.enqueue([1]), queue.dequeue()
        other = tf.FIFOQueue(1, [tf.int32], [()])
        session = tf.Session()
        session.run(enqueue)
        calls = [
            (in_thread.run(session, queue, enqueue), "Enqueue operation was cancelled"),
            (in_thread.run(session, other, other.dequeue()), "Dequeue operation was cancelled"),
            (in_thread.run(session, other, other.dequeue_many(2)), "Dequeue operation was"),
        ]
        assert session.run(dequeue) == 1
        calls[0][0].result()
        calls[0] = (in_thread.run(session, queue, enqueue), "Enqueue operation was cancelled")
        session.close()
        for call, words in calls:
            with pytest.raises(tf.errors.CancelledError, match=words):
                call.result()

    def test_closing_wakes_a_reader_that_waits_for_file_names(self, in_thread):
        names = tf.FIFOQueue(1, [tf.string], [()])
        _, value = tf.TFRecordReader().read(names)
        session = tf.Session()
        call = in_thread.run(session, names, value)
        session.close()
        with pytest.raises(tf.errors.CancelledError, match="Dequeue operation was cancelled"):
            call.result()

    def test_closing_leaves_other_sessions_alone(self, in_thread, queue):
        enqueue, dequeue = queue.enqueue([1]), queue.dequeue()
        with tf.Session() as other:
            call = in_thread.run(other, queue, dequeue)
            tf.Session().close()
            with tf.Session() as session:
                session.run(enqueue)
            other.run(enqueue)
            assert call.result() == 1
