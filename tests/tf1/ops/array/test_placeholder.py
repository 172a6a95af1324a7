import re

import pytest

import headrace.tf1 as tf


class TestPlaceholder:
    def test_placeholder_has_the_requested_type_and_shape(self):
        x = tf.placeholder("float32", [None, 2], name="x")
        assert (x.name, x.dtype, x.shape.as_list()) == ("x:0", tf.float32, [None, 2])
        assert [dim.size for dim in x.op.get_attr("shape").dim] == [-1, 2]
        assert tf.placeholder(tf.int32).shape.rank is None
        assert tf.placeholder(tf.int32).op.name == "Placeholder_1"

    def test_placeholder_must_be_fed(self, run):
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        assert run(x, {x: [[1, 2]]}).tolist() == [[1.0, 2.0]]
        words = "You must feed a value for placeholder tensor 'x' with dtype float and shape [?,2]"
        with pytest.raises(tf.errors.InvalidArgumentError, match=re.escape(words)):
            run(x)

    def test_placeholder_rejects_a_missing_type_and_invalid_shapes(self):
        with pytest.raises(TypeError, match="Expected DataType for argument 'dtype' not None"):
            tf.placeholder(None)
        with pytest.raises(ValueError, match="Error converting shape to a TensorShape: Dimension"):
            tf.placeholder(tf.int32, [-1])
        with pytest.raises(TypeError, match="Error converting shape to a TensorShape: A string"):
            tf.placeholder(tf.int32, "2")


class TestPlaceholderWithDefault:
    def test_placeholder_with_default_returns_its_default_unless_fed(self, run):
        x = tf.placeholder_with_default([1, 2], [None])
        assert (x.op.type, x.shape.as_list()) == ("PlaceholderWithDefault", [None])
        assert run(x).tolist() == [1, 2]
        assert run(x, {x: [3]}).tolist() == [3]

    def test_placeholder_with_default_rejects_a_default_of_the_wrong_shape(self):
        words = (
            "Dimension 0 in both shapes must be equal, but are 2 and 3. Shapes are [2] and [3]. "
            "for 'PlaceholderWithDefault' (op: 'PlaceholderWithDefault') with input shapes: [2]"
        )
        with pytest.raises(ValueError, match=re.escape(words)):
            tf.placeholder_with_default([1, 2], [3])


@pytest.mark.parametrize(
    ("function", "name"), [(tf.identity, "Identity"), (tf.stop_gradient, "StopGradient")]
)
def test_identity_copies_the_value(run, function, name):
    copy = function(tf.constant([1, 2]))
    assert (copy.op.name, copy.dtype, copy.shape) == (name, tf.int32, [2])
    assert run(copy).tolist() == [1, 2]


def test_identity_n_passes_several_tensors_through_one_operation(run):
    results = tf.identity_n([1, [2.5, 3.5]])
    assert [(tensor.op.type, tensor.shape) for tensor in results] == [
        ("IdentityN", []),
        ("IdentityN", [2]),
    ]
    assert run(results)[1].tolist() == [2.5, 3.5]
    with pytest.raises(ValueError, match="'T' of 'IdentityN' Op passed list of length 0 less"):
        tf.identity_n([])
