"""Objects of several tensors that are fetched and fed as one."""

import numpy as np
import pytest

import headrace.tf1 as tf
from headrace.graph.lowering.composites import register_session_run_conversion_functions
from headrace.tf1.indexed_slices import IndexedSlicesValue


@pytest.fixture
def slices():
    rows, positions = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.int32, [None])
    return tf.IndexedSlices(rows, positions, tf.constant([5, 2]))


def listed(value):
    return [None if part is None else np.asarray(part).tolist() for part in value]


class TestIndexedSlices:
    def test_indexed_slices_are_fetched_with_their_shape(self, session):
        tensor = tf.IndexedSlices(tf.constant([[1.0, 2.0]]), tf.constant([3]), tf.constant([5, 2]))
        value = session.run({"x": [tensor]})["x"][0]
        assert type(value) is IndexedSlicesValue
        assert value._fields == ("values", "indices", "dense_shape")
        assert listed(value) == [[[1, 2]], [3], [5, 2]]

    def test_indexed_slices_without_a_shape_are_fetched_with_none(self, session):
        value = session.run(tf.IndexedSlices(tf.constant([1.0]), tf.constant([3])))
        assert listed(value) == [[1], [3], None]
        assert value.dense_shape is None

    @pytest.mark.parametrize(
        ("value", "shape"),
        [
            (IndexedSlicesValue([[1, 2]], [3], [7, 2]), [7, 2]),
            (([[1, 2]], [3], [7, 2]), [7, 2]),
            ([[[1, 2]], [3]], [5, 2]),
        ],
    )
    def test_omitted_shape_of_fed_indexed_slices_is_computed(self, session, slices, value, shape):
        fed = session.run(slices, {slices: value})
        assert listed(fed) == [[[1, 2]], [3], shape]
        call = session.make_callable([slices], [slices])
        assert listed(call(value)[0]) == [[[1, 2]], [3], shape]

    def test_indexed_slices_can_be_fed_to_a_partial_run(self, session, slices):
        handle = session.partial_run_setup([slices.values * 2.0, slices.indices + 1], [slices])
        product = slices.graph.get_tensor_by_name("mul:0")
        assert session.partial_run(handle, product, {slices: ([[1, 2]], [3])}).tolist() == [[2, 4]]

    @pytest.mark.parametrize("value", [3, ([1],), ([1], [2], [3], [4]), np.zeros([3, 2])])
    def test_indexed_slices_feed_requires_two_or_three_parts(self, session, slices, value):
        with pytest.raises(TypeError, match=r"for IndexedSlices, expected an IndexedSlicesValue, "):
            session.run(slices.values, {slices: value})

    def test_indexed_slices_can_be_control_dependencies(self, session):
        assigned = tf.assign(tf.Variable([0.0]), [7.0])
        tensor = tf.IndexedSlices(assigned, tf.constant([1]))
        group = tf.group(tensor)
        with tf.control_dependencies([tensor]):
            after = tf.no_op()
        assert [op.control_inputs for op in (group, after)] == [[assigned.op]] * 2


def test_sparse_tensors_can_be_fed_to_a_partial_run(session):
    sparse = tf.sparse_placeholder(tf.float32)
    doubled = sparse.values * 2.0
    handle = session.partial_run_setup([doubled], [sparse])
    value = tf.SparseTensorValue([[1, 2]], [3], [4, 5])
    assert session.partial_run(handle, doubled, {sparse: value}).tolist() == [6]


class Interval:
    def __init__(self, low, high):
        self.low, self.high = low, high


class Narrow(Interval):
    pass


register_session_run_conversion_functions(
    Interval,
    lambda interval: ([interval.low, interval.high], lambda values: ("interval", *values)),
    lambda interval, value: [(interval.low, value[0]), (interval.high, value[1])],
    lambda interval: [interval.low, interval.high],
)


class TestRegistered:
    @pytest.mark.parametrize("kind", [Interval, Narrow])
    def test_registered_objects_can_be_fetched_and_fed(self, session, kind):
        interval = kind(tf.placeholder(tf.int32, []), tf.placeholder(tf.int32, []))
        width = interval.high - interval.low
        assert session.run([interval, width], {interval: (2, 5)}) == [("interval", 2, 5), 3]
        handle = session.partial_run_setup([width], [interval])
        assert session.partial_run(handle, width, {interval: (4, 9)}) == 5

    def test_class_can_be_registered_only_once(self):
        with pytest.raises(ValueError, match="Interval'> has already been registered"):
            register_session_run_conversion_functions(Interval, lambda interval: ([], list))
