"""The base class of graph tests: sessions, comparisons and messages."""

import os
import subprocess
import sys
import textwrap
import unittest

import numpy as np
import pytest

import headrace.tf1 as tf


@pytest.fixture
def case():
    """Returns a test that has begun."""
    test = tf.test.TestCase("run")
    test.setUp()
    yield test
    test.tearDown()


def outcome_of(body, set_up=None):
    """Runs a test that calls a function, and returns its result."""

    class Test(tf.test.TestCase):
        def setUp(self):
            super().setUp()
            if set_up is not None:
                set_up(self)

        def runTest(self):
            body(self)

    result = unittest.TestResult()
    Test().run(result)
    return result


class TestSessions:
    def test_each_test_starts_with_an_empty_graph_and_the_same_seeds(self):
        drawn = []

        def body(test):
            assert tf.get_default_graph().get_operations() == []
            with test.session() as session:
                drawn.append((session.run(tf.random_uniform([])), np.random.rand()))

        assert [outcome_of(body).wasSuccessful() for _ in range(2)] == [True, True]
        assert drawn[0] == drawn[1]

    def test_test_session_is_cached_and_closed_after_the_test(self):
        sessions = []

        def body(test):
            counter = tf.Variable(1)
            for enter in (test.cached_session, test.test_session):
                with enter() as session:
                    sessions.append(session)
                    if len(sessions) == 1:
                        counter.initializer.run()
                    assert counter.eval() == 1
            assert test.evaluate({"c": counter}) == {"c": 1}

        assert outcome_of(body).wasSuccessful()
        assert sessions[0] is sessions[1]
        assert sessions[0].is_closed

    def test_session_with_a_different_graph_is_not_cached(self, case):
        graph = tf.Graph()
        with graph.as_default():
            number = tf.constant(3)
        with case.test_session(graph=graph) as session:
            assert session.run(number) == case.evaluate(number) == 3
        assert session.is_closed
        with case.session(graph=graph, use_gpu=True) as other:
            assert other is not session

    def test_cached_session_rejects_a_different_graph_or_config(self, case):
        with case.cached_session():
            pass
        for arguments, what in (
            ({"graph": tf.Graph()}, "graph"),
            ({"config": tf.ConfigProto()}, "config"),
        ):
            with (
                pytest.raises(ValueError, match=f"The {what} used to get the cached session"),
                case.cached_session(**arguments),
            ):
                pass
        with case.test_session(config=tf.ConfigProto()) as session:
            assert not session.is_closed

    def test_evaluate_uses_the_default_session(self, case):
        number = tf.Variable(5)
        with tf.Session() as session:
            session.run(number.initializer)
            assert case.evaluate([number, (number + 1,)]) == [5, (6,)]

    def test_test_session_method_is_not_a_test(self):
        result = unittest.TestResult()
        tf.test.TestCase("test_session").run(result)
        assert [reason for _, reason in result.skipped] == ["Not a test."]


class TestThreads:
    def test_checked_thread_can_run_the_session(self, case):
        queue = tf.FIFOQueue(1, [tf.int32], shapes=[()])
        enqueue, taken = queue.enqueue(7), queue.dequeue()
        with case.cached_session() as session:
            results = []
            thread = case.checkedThread(target=lambda: results.append(session.run(taken)))
            thread.start()
            session.run(enqueue)
            thread.join()
        assert results == [7]
        assert not thread.is_alive()

    def test_error_in_a_checked_thread_fails_the_test(self):
        def body(test):
            thread = test.checkedThread(int, args=("x",), kwargs={"base": 10})
            thread.start()
            thread.join()

        [(_, text)] = outcome_of(body).failures
        assert "Error in checkedThread: invalid literal for int()" in text

    def test_unjoined_checked_thread_fails_the_test(self):
        def body(test):
            thread = test.checkedThread(lambda: None)
            thread.start()
            thread._thread.join()

        [(_, text)] = outcome_of(body).failures
        assert "A checked thread was not joined. Call its join() method." in text


NAN = float("nan")
HOLDS = [
    ("assertAllEqual", [1, 2], np.array([1, 2])),
    ("assertAllEqual", [NAN, 1.0], np.array([NAN, 1.0])),
    ("assertAllEqual", [[b"a"]], np.array([[b"a"]], object)),
    ("assertAllClose", 1.0, 1.0 + 1e-7),
    ("assertAllClose", [NAN, float("inf")], [NAN, float("inf")]),
    ("assertAllClose", {"a": [1.0, [2.0, 3.0]]}, {"a": (1.0, np.array([2.0, 3.0]))}),
    ("assertNotAllClose", [1.0, 2.0], [1.0, 2.1]),
    ("assertNotAllEqual", [1, 2], [1, 3]),
    ("assertAllCloseAccordingToType", np.float16(1.0), np.float16(1.001)),
    ("assertAllCloseAccordingToType", np.float32(1.0), np.float32(1.000001)),
    ("assertArrayNear", [1, 2], [1.1, 2], 0.2),
    ("assertNDArrayNear", np.array([1, 2]), np.array([1, 2.1]), 0.2),
    ("assertNear", 1.0, 1.1, 0.2),
    ("assertAllGreater", [1, 2], 0),
    ("assertAllLess", [1, 2], 3),
    ("assertAllGreaterEqual", [1, 2], 1),
    ("assertAllLessEqual", [1, 2], 2),
    ("assertAllInRange", [0.0, 1.0], 0, 1),
    ("assertAllInSet", [1, 2, 1], {1, 2}),
    ("assertDTypeEqual", np.zeros(2, np.int8), np.int8),
    ("assertDeviceEqual", "/device:CPU:0", tf.DeviceSpec(device_type="CPU", device_index=0)),
    ("assertStartsWith", "words", "wo"),
    ("assertItemsEqual", [2, 1], [1, 2]),
    ("assertLen", [1, 2], 2),
    ("assertEmpty", []),
]
FAILS = [
    (
        r"1 of 2 elements are not equal \(mine\): first at \[1\]",
        "assertAllEqual",
        [1, 2],
        [1, 3],
        "mine",
    ),
    (r"Shape mismatch: expected \(2,\), got \(1,\)", "assertAllEqual", [1, 1], [1]),
    (r"Shape mismatch: expected \(2,\), got \(\)", "assertAllClose", [1.0, 1.0], 1.0),
    ("Not equal to tolerance rtol=0.1", "assertAllClose", 1.0, 1.2, 0.1),
    (r"at \['a'\]\[1\]", "assertAllClose", {"a": [1.0, [2.0, 3.0]]}, {"a": [1.0, [2.0, 4.0]]}),
    ("mismatched keys", "assertAllClose", {"a": 1}, {"b": 1}),
    (r"mismatched length\['a'\]", "assertAllClose", {"a": [1, [2, 3]]}, {"a": [1]}),
    ("are close at all", "assertNotAllClose", 1.0, 1.0),
    ("are equal at all", "assertNotAllEqual", 1, 1),
    ("Not equal to tolerance", "assertAllCloseAccordingToType", 1.0, np.float32(1.0001)),
    ("1.000000 != 2.000000", "assertArrayNear", [1], [2], 0.2),
    ("1 of the 2 .* are not greater than 1", "assertAllGreater", [1, 2], 1),
    ("are not below the upper bound 1", "assertAllInRange", [0.0, 1.0], 0, 1, False, True),
    ("1 unique element.* not in the set", "assertAllInSet", [1, 2, 3], [1, 2]),
    ("expected numbers", "assertAllLess", ["a"], 1),
    ("int8", "assertDTypeEqual", np.zeros(2, np.int8), np.int16),
    ("CPU:0", "assertDeviceEqual", "/device:CPU:0", "/device:CPU:1"),
    ("does not start with", "assertStartsWith", "words", "ords"),
]


class TestComparisons:
    @pytest.mark.parametrize("call", HOLDS, ids=lambda call: call[0])
    def test_true_assertions_pass(self, case, call):
        name, *arguments = call
        getattr(case, name)(*arguments)

    @pytest.mark.parametrize("call", FAILS, ids=lambda call: call[1])
    def test_false_assertions_fail(self, case, call):
        words, name, *arguments = call
        with pytest.raises(AssertionError, match=words):
            getattr(case, name)(*arguments)

    def test_dicts_can_be_compared_only_with_dicts(self, case):
        with pytest.raises(ValueError, match="Can't compare dict to non-dict"):
            case.assertAllClose({"a": 1}, [1])

    def test_tensors_are_evaluated(self, case):
        number = tf.Variable([1.0, 2.0])
        case.evaluate(number.initializer)
        case.assertAllEqual([1.0, 2.0], number)
        case.assertAllClose(number + 1, number * 1 + 1)
        case.assertAllClose({"n": [2.0, 3.0], "m": 1}, {"n": number + 1, "m": tf.constant(1)})
        with pytest.raises(AssertionError):
            case.assertAllEqual(number, number + 1)

    def test_two_tensors_are_evaluated_in_one_run(self, case):
        drawn = tf.random_uniform([3])
        case.assertAllEqual(drawn + 0, drawn + 0)

    def test_assert_shape_equal_uses_static_shapes(self, case):
        case.assertShapeEqual(np.zeros([2, 3]), tf.placeholder(tf.int32, [2, 3]))
        with pytest.raises(AssertionError):
            case.assertShapeEqual(np.zeros([2, 3]), tf.placeholder(tf.int32, [2, None]))
        for arguments, words in (
            ([1, tf.constant(1)], "np_array"),
            ([np.zeros(1), 1], "tf_tensor"),
        ):
            with pytest.raises(TypeError, match=words):
                case.assertShapeEqual(*arguments)

    def test_assert_proto_equals_compares_messages(self, case):
        feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[3]))
        case.assertProtoEquals("int64_list { value: 3 }", feature)
        case.assertProtoEquals(tf.train.Feature.FromString(feature.SerializeToString()), feature)
        for expected in ("int64_list { value: 4 }", tf.train.Int64List(value=[3])):
            with pytest.raises(AssertionError):
                case.assertProtoEquals(expected, feature)

    def test_error_assertions_match_expected_errors(self, case):
        with case.cached_session() as session:
            with case.assertRaisesOpError("you must feed.*'p'|must feed a value"):
                session.run(tf.placeholder(tf.int32, name="p"))
            with case.assertRaisesOpError(lambda error: error.op is None or error.op.name == "q"):
                session.run(tf.placeholder(tf.int32, name="q"))
        with case.assertRaisesWithPredicateMatch(ValueError, "wrong"):
            raise ValueError("all wrong")
        with case.assertRaisesRegexp(ValueError, "wrong"):  # noqa: PT027
            raise ValueError("wrong")

    @pytest.mark.parametrize(
        ("error", "words"),
        [
            (None, "ValueError not raised"),
            (ValueError("other"), "Exception of type .*ValueError.*: other"),
            (KeyError("wrong"), "Exception of type .*KeyError"),
        ],
    )
    def test_error_assertions_fail_for_other_errors(self, case, error, words):
        def run():
            with case.assertRaisesWithPredicateMatch(ValueError, "wrong"):
                if error is not None:
                    raise error

        with pytest.raises(AssertionError, match=words):
            run()


class TestGraphDefs:
    def test_equal_graph_defs_can_order_nodes_differently(self):
        tf.constant(1, name="a")
        tf.constant(2, name="b")
        graph = tf.get_default_graph().as_graph_def()
        other = tf.GraphDef()
        other.node.extend(reversed(graph.node))
        tf.test.assert_equal_graph_def(other, graph)
        other.node[0].name = "c"
        with pytest.raises(AssertionError, match=r"\['b'\] are missing, \['c'\] are unexpected"):
            tf.test.assert_equal_graph_def(other, graph)
        other.node[0].name = "b"
        other.node[0].op = "Other"
        with pytest.raises(AssertionError, match="These nodes differ: b"):
            tf.test.assert_equal_graph_def(other, graph)
        with pytest.raises(TypeError, match="GraphDef for expected, got int"):
            tf.test.assert_equal_graph_def(graph, 3)


def test_each_test_case_has_its_own_temporary_directory(case):
    own = case.get_temp_dir()
    assert own == case.get_temp_dir()
    assert os.path.dirname(own) == tf.test.get_temp_dir()
    assert os.path.isdir(own)
    assert tf.test.TestCase("run").get_temp_dir() != own


def test_only_the_cpu_is_supported():
    assert not tf.test.is_built_with_gpu_support()
    assert not tf.test.is_built_with_rocm()
    assert not tf.test.is_built_with_xla()
    assert tf.test.mock is unittest.mock


def test_test_program_runs_and_reports_failures(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            """
            import headrace.tf1
            headrace.tf1.compat.install()
            import tensorflow as tf
            from tensorflow.python.platform import test
            from tensorflow.python.framework import test_util

            tf.app.flags.DEFINE_integer("expected", 3, "")

            class QueueTest(tf.test.TestCase):
                def testDequeue(self):
                    queue = tf.FIFOQueue(3, tf.int32, shapes=[()])
                    with self.test_session():
                        queue.enqueue_many([[1, 2]]).run()
                        self.assertAllEqual([1, 2], queue.dequeue_many(2))
                        print("directory", tf.test.get_temp_dir())

                def testFlag(self):
                    self.assertEqual(3, tf.app.flags.FLAGS.expected)

            assert test.TestCase is test_util.TestCase is tf.test.TestCase
            if __name__ == "__main__":
                tf.test.main()
            """
        ),
        "utf-8",
    )

    def run(*arguments):
        return subprocess.run(
            [sys.executable, str(program), *arguments],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    done = run()
    assert done.returncode == 0, done.stderr
    assert "OK (skipped=1)" in done.stderr
    [line] = [line for line in done.stdout.splitlines() if line.startswith("directory")]
    assert not os.path.exists(line.removeprefix("directory "))
    failing = run("--expected=4")
    assert failing.returncode == 1
    assert "3 != 4" in failing.stderr
