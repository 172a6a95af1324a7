"""The names that `headrace.tf1` collects from other modules."""

import headrace.tf1 as tf
from headrace import ops
from headrace.tf1 import ops as tf1_ops


def test_exported_names_are_the_objects_of_their_modules():
    assert ops.concat is tf1_ops.concat
    assert tf.constant is not tf1_ops.constant
    assert "FIFOQueue" in tf.__all__
    assert "FIFOQueue" not in ops.__all__
