"""The newer names are the same functions as the older ones."""

import pkgutil
from importlib import import_module

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
def test_newer_name_is_the_same_function(namespace, name, function):
    assert getattr(namespace, name) is function
    assert name in namespace.__all__


def test_modules_unknown_to_tensorflow_are_not_attributes():
    own = {module.name for module in pkgutil.iter_modules(tf.__path__)}
    for name in own - set(tf.__all__):
        import_module(f"headrace.tf1.{name}")
    assert {name for name in own - set(tf.__all__) if hasattr(tf, name)} == {
        "checkpoint",
        "protos",
        "queues",
    }
    assert not hasattr(tf, "TYPE_CHECKING")


def test_hidden_modules_can_be_imported():
    from headrace.tf1 import input as input_module  # noqa: PLC0415
    from headrace.tf1.ops import FIFOQueue  # noqa: PLC0415

    assert input_module.batch is tf.train.batch
    assert FIFOQueue is tf.FIFOQueue
