import re

import numpy as np
import pytest

import headrace.tf1 as tf
from headrace.ops.control.control_flow import with_dependencies


def names():
    return [op.name for op in tf.get_default_graph().get_operations()]


class TestNoOp:
    def test_no_op_does_nothing(self, run):
        op = tf.no_op()
        assert (op.name, op.type, op.outputs) == ("NoOp", "NoOp", [])
        assert run(op) is None


class TestGroup:
    def test_group_waits_for_all(self):
        x, op = tf.constant(1), tf.no_op(name="op")
        group = tf.group(x, [op, (x,)], {"b": tf.constant(2, name="two")}, name="g")
        assert (group.name, group.type) == ("g", "NoOp")
        assert [item.name for item in group.control_inputs] == ["Const", "op", "two"]

    def test_group_includes_the_parts_of_sparse_tensors(self):
        sparse = tf.SparseTensor([[0]], [1], [2])
        group = tf.group(sparse)
        assert set(group.control_inputs) == {
            part.op for part in (sparse.indices, sparse.values, sparse.dense_shape)
        }

    def test_group_can_be_empty(self):
        assert tf.group().name == "group_deps"
        assert tf.group().control_inputs == []

    def test_group_rejects_objects_that_are_not_operations(self):
        with pytest.raises(
            TypeError, match=r"Expected tf.Tensor, tf.Operation or a nested structure of"
        ):
            tf.group(3)

    def test_group_runs_its_control_inputs(self, run):
        calls = []
        ops = [tf.py_func(lambda i=i: calls.append(i) or i, [], tf.int64) for i in range(3)]
        run(tf.group(*ops))
        assert sorted(calls) == [0, 1, 2]


def test_with_dependencies_runs_after_its_dependencies(run):
    calls = []
    first = tf.py_func(lambda: calls.append("first"), [], [])
    second = with_dependencies([first], tf.constant(5))
    assert second.op.name == "control_dependency"
    assert second.op.control_inputs == [first]
    assert run(second) == 5
    assert calls == ["first"]


class TestTuple:
    def test_tuple_outputs_wait_for_all_inputs(self, run):
        x, y, op = tf.constant([1]), tf.constant(2.5), tf.no_op()
        result = tf.tuple([x, None, y, op], control_inputs=[tf.no_op(name="more")])
        assert [result[0].shape, result[1], result[2].dtype] == [[1], None, tf.float32]
        assert result[3].type == "NoOp"
        gate = result[0].op.control_inputs[0]
        assert {item.name for item in gate.control_inputs} == {"Const", "Const_1", "NoOp", "more"}
        assert run(result[0]).tolist() == [1]

    def test_tuple_requires_a_tensor(self):
        with pytest.raises(ValueError, match=re.escape("Must have at least one Tensor: []")):
            tf.tuple([])

    def test_tuple_rejects_invalid_control_inputs(self):
        with pytest.raises(TypeError, match="Control input must be Operation or Tensor: 3"):
            tf.tuple([tf.constant(1)], control_inputs=[3])


class TestAssert:
    def test_assert_passes_if_the_condition_holds(self, run):
        op = tf.Assert(tf.constant(True), ["fine"])
        assert (op.name, op.type) == ("Assert/Assert", "Assert")
        assert run(op) is None

    @pytest.mark.parametrize(
        ("data", "words"),
        [
            (["a", 1], "[a] [1]"),
            ([[1, 2, 3]], "[1 2 3]"),
            ([[1.5, 2.25, 3, 4]], "[1.5 2.25 3...]"),
            ([[[1, 2], [3, 4]]], "[[1 2][3...]...]"),
            ([[["x", "y"], ["z", "w"]]], "[[x y][z...]...]"),
            ([[[[1], [2]]]], "[[[1][2]]]"),
            ([[]], "[]"),
            ([np.zeros([2, 0])], "[]"),
            ([True, [True, False]], "[1] [1 0]"),
            ([1 / 3], "[0.333333343]"),
            ([np.float64(1 / 3)], "[0.33333333333333331]"),
            ([np.uint8(200)], "[200]"),
            (['a"b\n'], r"[a\"b\n]"),
        ],
    )
    def test_failed_assert_shows_the_data(self, run, data, words):
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=re.escape(f"assertion failed: {words}")
        ):
            run(tf.Assert(False, data))

    @pytest.mark.parametrize(
        ("summarize", "words"),
        [
            (2, "[[[0 1]]...]"),
            (5, "[[[0 1][2 3]][[4...]]...]"),
            (-1, "[[[0 1][2 3]][[4 5][6 7]]]"),
        ],
    )
    def test_assert_shows_as_many_elements_as_requested(self, run, summarize, words):
        data = [np.arange(8).reshape(2, 2, 2)]
        with pytest.raises(tf.errors.InvalidArgumentError, match=re.escape(words)):
            run(tf.Assert(False, data, summarize))

    @pytest.mark.parametrize(
        ("data", "error", "words"),
        [
            ([], ValueError, "'Assert' Op passed list of length 0 less than minimum 1."),
            ((), ValueError, "passed list of length 0"),
            ("a", TypeError, "Expected list for 'data' argument to 'Assert' Op, not a."),
            (None, TypeError, "Expected list for 'data' argument"),
        ],
    )
    def test_assert_requires_a_list_of_data(self, data, error, words):
        with pytest.raises(error, match=re.escape(words)):
            tf.Assert(True, data)

    def test_assert_requires_a_scalar(self, run):
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=re.escape("In[0] should be a scalar: [2]")
        ):
            run(tf.Assert([True, False], ["a"]))

    def test_operations_can_depend_on_an_assert(self, run):
        condition = tf.placeholder_with_default(True, [])
        with tf.control_dependencies([tf.Assert(condition, ["bad"])]):
            x = tf.identity(3)
        assert run(x) == 3
        with pytest.raises(tf.errors.InvalidArgumentError, match="assertion failed") as caught:
            run(x, {condition: False})
        assert caught.value.op.name == "Assert/Assert"
