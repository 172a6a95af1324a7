import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import headrace.tf1 as tf

IAE = tf.errors.InvalidArgumentError
VALUE = np.arange(24).reshape(2, 3, 4)
new = tf.newaxis


@pytest.mark.parametrize(
    "key",
    [
        0,
        -1,
        np.s_[1:],
        np.s_[:, 1],
        np.s_[..., 1],
        np.s_[0, ..., 2:],
        np.s_[new, :, None, 1],
        np.s_[::-1, ::2],
        np.s_[:, -2:, 3:0:-2],
        np.s_[5:, :0],
        (1, 2, 3),
        (),
        np.int64(1),
    ],
)
def test_slice_keys_match_numpy(run, hidden, key):
    expected = VALUE[key]
    assert tf.constant(VALUE)[key].shape == expected.shape
    assert np.array_equal(run(tf.constant(VALUE)[key]), expected)
    assert np.array_equal(run(hidden(VALUE)[key]), expected)


def test_tensors_can_be_indices(run):
    x, i = tf.constant([10, 20, 30]), tf.placeholder_with_default(1, [])
    assert run(x[i]) == 20
    assert run(x[i:]).tolist() == [20, 30]
    assert run(x[tf.constant(0, tf.int64) : i]).tolist() == [10]
    assert run(x[tf.Dimension(2)]) == 30


def test_strings_can_be_sliced(run):
    assert run(tf.constant(["a", "b"])[1]) == b"b"
    assert run(tf.constant(["a", "b"])[1:]).tolist() == [b"b"]


def test_boolean_mask_key_selects_elements(run):
    x = tf.constant([10, 20, 30])
    for mask in ([True, False, True], tf.constant([True, False, True])):
        assert run(x[np.array(mask) if isinstance(mask, list) else mask]).tolist() == [10, 30]


def test_operation_names_match_tensorflow():
    x = tf.placeholder(tf.int32, [4], name="x")
    _ = x[1]
    _ = x[tf.constant(2)]
    assert [op.name for op in tf.get_default_graph().get_operations()] == [
        "x",
        "strided_slice/stack",
        "strided_slice/stack_1",
        "strided_slice/stack_2",
        "strided_slice",
        "Const",
        "add/y",
        "add",
        "strided_slice_1/stack",
        "strided_slice_1/stack_1",
        "strided_slice_1/stack_2",
        "strided_slice_1",
    ]


@pytest.mark.parametrize(
    ("key", "sizes"),
    [
        (np.s_[1:], [None, 3]),
        (np.s_[0:2], [None, 3]),
        (np.s_[0], [3]),
        (np.s_[:, 1:], [None, 2]),
        (np.s_[..., new], [None, 3, 1]),
        (np.s_[::-1], [None, 3]),
    ],
)
def test_static_shape_keeps_known_dimensions(key, sizes):
    assert tf.placeholder(tf.int32, [None, 3])[key].shape.as_list() == sizes
    assert tf.placeholder(tf.int32)[key].shape.rank is None


@pytest.mark.parametrize(
    ("key", "words"),
    [
        (7, "slice index 7 of dimension 0 out of bounds."),
        (-7, "slice index -3 of dimension 0 out of bounds."),
        ((0, 1), "Index out of range using input dim 1; input has only 1 dims"),
        (np.s_[::0], "strides[0] must be non-zero"),
        (np.s_[..., ...], "Multiple ellipses in slice spec not allowed"),
    ],
)
def test_out_of_range_keys_are_rejected(run, hidden, key, words):
    value = [1, 2, 3, 4]
    with pytest.raises(ValueError, match=re.escape(words)):
        tf.constant(value)[key]
    with pytest.raises(IAE, match=re.escape(words)):
        run(hidden(value)[key])


@pytest.mark.parametrize("key", [1.5, "a", np.array([1, 2]), np.int16(1), object()])
def test_keys_of_unsupported_types_are_rejected(key):
    words = "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar"
    with pytest.raises(TypeError, match=re.escape(words)):
        tf.constant([1, 2, 3])[key]


class TestSlice:
    def test_slice_extracts_a_part(self, run):
        result = tf.slice(VALUE, [0, 1, 0], [2, -1, 3])
        assert (result.op.name, result.shape) == ("Slice", [2, 2, 3])
        assert np.array_equal(run(result), VALUE[0:2, 1:, 0:3])

    def test_slice_keeps_known_dimensions(self):
        x = tf.placeholder(tf.int32, [None])
        assert tf.slice(x, [1], [-1]).shape.as_list() == [None]
        assert tf.slice(x, tf.placeholder(tf.int32, [1]), [2]).shape == [2]
        assert tf.slice(x, [0], tf.placeholder(tf.int32, [1])).shape.as_list() == [None]

    @pytest.mark.parametrize(
        ("begin", "size", "words"),
        [
            ([2], [5], "Expected size[0] in [0, 1], but got 5"),
            ([4], [0], "Expected begin[0] in [0, 3], but got 4"),
            ([0, 0], [1, 1], "Expected begin and size arguments to be 1-D tensors of size 1"),
        ],
    )
    def test_slice_out_of_bounds_fails_at_run_time(self, run, hidden, begin, size, words):
        with pytest.raises(IAE, match=re.escape(words)):
            run(tf.slice(hidden([1, 2, 3]), hidden(begin), hidden(size)))

    def test_slice_requires_an_entry_for_each_axis(self):
        with pytest.raises(ValueError, match="Shape must be rank 1 but is rank 3"):
            tf.slice(VALUE, [0], [1])
        with pytest.raises(ValueError, match="Dimension 0 in both shapes must be equal, but are 2"):
            tf.slice(VALUE, [0, 0], [1])

    def test_slice_rejects_an_impossible_part(self):
        with pytest.raises(ValueError, match="Negative dimension size caused by subtracting 3 f"):
            tf.slice([1, 2], [3], [-1])
        with pytest.raises(ValueError, match="Invalid value in tensor used for shape: -2"):
            tf.slice([1, 2], [0], [-2])


def test_strided_slice_bounds_must_have_equal_lengths():
    with pytest.raises(ValueError, match=re.escape("Shapes are [1] and [2]")):
        tf.strided_slice([1, 2], [0], [1, 2])


def test_shape_is_unknown_for_unknown_steps():
    step = tf.placeholder(tf.int32, [])
    assert tf.constant([1, 2])[::step].shape.rank is None
    assert tf.constant([1, 2])[step:].shape.as_list() == [None]
    assert tf.constant([[1, 2]])[tf.placeholder(tf.int32)].shape == [2]


def test_strided_slice_accepts_masks(run):
    x = [[1, 2, 3], [4, 5, 6]]
    assert run(tf.strided_slice(x, [0, 1], [2, 3])).tolist() == [[2, 3], [5, 6]]
    assert run(tf.strided_slice(x, [0], [2], [1], shrink_axis_mask=1)).tolist() == [1, 2, 3]
    assert tf.strided_slice(x, [0], [1]).op.name.startswith("StridedSlice")


@given(st.data())
def test_static_shape_and_value_match_numpy(data):
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, max_side=4))
    key = data.draw(hnp.basic_indices(shape, allow_newaxis=True))
    value = np.arange(int(np.prod(shape))).reshape(shape)
    with tf.Graph().as_default(), tf.Session() as session:
        result = tf.constant(value)[key]
        assert result.shape == value[key].shape
        assert np.array_equal(session.run(result), value[key])
