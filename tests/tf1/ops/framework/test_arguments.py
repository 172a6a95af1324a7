import re

import numpy as np
import pytest

import headrace.tf1 as tf


def names():
    return [op.name for op in tf.get_default_graph().get_operations()]


def test_constants_are_named_in_the_scope_of_the_operation():
    tf.maximum(1, 2)
    tf.maximum(tf.placeholder(tf.int32, name="p"), 2, name="m")
    assert names() == ["Maximum/x", "Maximum/y", "Maximum", "p", "m/y", "m"]


def test_operations_are_added_to_the_graph_of_their_inputs():
    graph = tf.Graph()
    with graph.as_default():
        x = tf.constant(1)
    assert tf.add(x, 2).graph is graph
    assert (x + 2).graph is graph
    assert names() == []


def test_inputs_from_two_graphs_are_rejected():
    with tf.Graph().as_default():
        x = tf.constant(1, name="x")
    y = tf.constant(1, name="y")
    with pytest.raises(ValueError, match=re.escape('Tensor("y:0", shape=(), dtype=int32) must be')):
        tf.add(x, y)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            tf.maximum,
            TypeError,
            "Input 'y' of 'Maximum' Op has type float32 that does not match type int32 of "
            "argument 'x'.",
        ),
        (
            lambda i, f: tf.less(i, 1.5),
            TypeError,
            "Expected int32 passed to parameter 'y' of op 'Less', got 1.5 of type 'float' "
            "instead. Error: Expected int32, got 1.5 of type 'float' instead.",
        ),
        (
            lambda i, f: tf.logical_not(i),
            TypeError,
            "Input 'x' of 'LogicalNot' Op has type int32 that does not match expected type of "
            "bool.",
        ),
        (
            lambda i, f: tf.sqrt(i),
            TypeError,
            "Value passed to parameter 'x' has DataType int32 not in list of allowed values: "
            "float16, float32, float64, complex64, complex128",
        ),
        (
            lambda i, f: tf.maximum(i, None),
            ValueError,
            "Tried to convert 'y' to a tensor and failed. Error: None values not supported.",
        ),
        (
            lambda i, f: tf.concat([i, f], 0),
            TypeError,
            "Tensors in list passed to 'values' of 'ConcatV2' Op have types [int32, float32] that "
            "don't all match.",
        ),
        (
            lambda i, f: tf.concat([i, None], 0),
            TypeError,
            "have types [int32, <NOT CONVERTIBLE TO TENSOR>] that don't all match.",
        ),
        (
            lambda i, f: tf.string_join([i]),
            TypeError,
            "Tensors in list passed to 'inputs' of 'StringJoin' Op have types [int32] that do not "
            "match expected type string.",
        ),
        (
            lambda i, f: tf.add(tf.zeros([2, 3]), tf.zeros([2])),
            ValueError,
            "Dimensions must be equal, but are 3 and 2 for 'Add' (op: 'Add') with input shapes: "
            "[2,3], [2]",
        ),
        (
            lambda i, f: tf.expand_dims(tf.zeros([2]), 5, name="e"),
            ValueError,
            "dim 5 not in the interval [-2, 1]. for 'e' (op: 'ExpandDims') with input shapes: [2], "
            "[] and with computed input tensors: input[0] = <0.0 0.0>, input[1] = <5>.",
        ),
    ],
)
def test_argument_errors_match_tensorflow(call, error, words):
    i, f = tf.placeholder(tf.int32), tf.placeholder(tf.float32)
    with pytest.raises(error, match=re.escape(words)):
        call(i, f)


def test_type_variables_become_attributes():
    op = tf.gather(tf.zeros([2]), tf.constant([0], tf.int64)).op
    assert op.get_attr("Tparams") == tf.float32
    assert op.get_attr("Tindices") == tf.int64
    assert op.get_attr("Taxis") == tf.int32


@pytest.mark.parametrize(
    ("size", "dtype"), [([3], tf.int32), (np.int64([3]), tf.int64), (np.int32([3]), tf.int32)]
)
def test_array_keeps_an_allowed_type(size, dtype):
    assert tf.fill(size, 1.0).op.inputs[0].dtype == dtype
