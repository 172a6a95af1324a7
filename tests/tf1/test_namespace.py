"""The newer names are the functions of the older ones."""

import pytest

import headrace.tf1 as tf

NEWER = [
    (tf.debugging, "assert_all_finite", tf.verify_tensor_all_finite),
    (tf.debugging, "assert_equal", tf.assert_equal),
    (tf.dtypes, "cast", tf.cast),
    (tf.dtypes, "float32", tf.float32),
    (tf.math, "add", tf.add),
    (tf.math, "divide_no_nan", tf.div_no_nan),
    (tf.math, "reduce_sum", tf.reduce_sum),
    (tf.math, "top_k", tf.nn.top_k),
    (tf.nn, "sigmoid", tf.sigmoid),
    (tf.random, "uniform", tf.random_uniform),
    (tf.strings, "join", tf.string_join),
    (tf.strings, "strip", tf.string_strip),
    (tf.strings, "to_number", tf.string_to_number),
]


@pytest.mark.parametrize(("namespace", "name", "function"), NEWER)
def test_a_newer_name_is_the_same_function(namespace, name, function):
    assert getattr(namespace, name) is function
    assert name in namespace.__all__
