"""Old names of TensorFlow 1 add the same operations to a graph as their replacements."""

import inspect

import pytest

import headrace.tf1 as tf
from headrace.graph import Graph
from headrace.tf1 import ops
from headrace.tf1.adapters import array, control, image, math, records, strings, variables

ADAPTERS = (array, control, image, math, records, strings, variables)

PAIRS = {
    "sum": (
        lambda x: tf.reduce_sum(x, reduction_indices=[1], keep_dims=True),
        lambda x: ops.reduce_sum(x, axis=[1], keepdims=True),
    ),
    "argmax": (lambda x: tf.argmax(x, dimension=1), lambda x: ops.argmax(x, 1)),
    "count": (
        lambda x: tf.count_nonzero(input_tensor=x, reduction_indices=0),
        lambda x: ops.count_nonzero(x, 0),
    ),
    "expand": (lambda x: tf.expand_dims(x, dim=0), lambda x: ops.expand_dims(x, 0)),
    "gather": (
        lambda x: tf.gather(x, [0], validate_indices=True, name="g", axis=1),
        lambda x: ops.gather(x, [0], axis=1, name="g"),
    ),
    "concat": (lambda x: tf.concat(0, [x, x]), lambda x: ops.concat([x, x], 0)),
    "softmax": (lambda x: tf.nn.softmax(x, dim=0), lambda x: ops.softmax(x, 0)),
    "finite": (
        lambda x: tf.verify_tensor_all_finite(x, "no"),
        lambda x: ops.assert_all_finite(x, "no"),
    ),
    "float": (tf.to_float, lambda x: ops.cast(x, tf.float32, name="ToFloat")),
    "cond": (
        lambda x: tf.cond(tf.constant(True), fn1=lambda: x + 1, fn2=lambda: x),
        lambda x: ops.cond(ops.constant(True), lambda: x + 1, lambda: x),
    ),
    "print": (lambda x: tf.Print(x, [x], "x"), lambda x: ops.print_values(x, [x], "x")),
    "resize": (
        lambda x: tf.image.resize_images(
            tf.reshape(x, [2, 3, 1]), [4, 4], tf.image.ResizeMethod.AREA
        ),
        lambda x: ops.resize_images(ops.reshape(x, [2, 3, 1]), [4, 4], ops.ResizeMethod.AREA),
    ),
    "number": (
        lambda x: tf.string_to_number(string_tensor=tf.as_string(x)),
        lambda x: ops.string_to_number(ops.as_string(x)),
    ),
    "split": (
        lambda _: tf.string_split(["a b"], delimiter=" ").values,
        lambda _: ops.split_at_bytes(["a b"], " ").values,
    ),
    "words": (
        lambda _: tf.strings.split(source=["a b"]).values,
        lambda _: ops.string_split(["a b"]).values,
    ),
    "raw": (
        lambda _: tf.decode_raw(bytes=["ab"], out_type=tf.uint8),
        lambda _: ops.decode_raw(["ab"], tf.uint8),
    ),
    "size": (
        lambda x: tf.size(x, "size", tf.int64),
        lambda x: ops.size(x, tf.int64, name="size"),
    ),
    "pad": (
        lambda x: tf.pad(x, [[1, 1], [0, 0]], "CONSTANT", "pad", 3),
        lambda x: ops.pad(x, [[1, 1], [0, 0]], constant_values=3, name="pad"),
    ),
    "slice": (
        lambda x: tf.slice(input_=x, begin=[0, 0], size=[1, 1]),
        lambda x: ops.slice(x, [0, 0], [1, 1]),
    ),
    "csv": (
        lambda _: tf.decode_csv(["1"], [[0]], ",", True, "csv", "?"),
        lambda _: ops.decode_csv(["1"], [[0]], na_value="?", name="csv"),
    ),
    "variable": (
        lambda _: tf.Variable(1, False, None, False, None, "v", None, tf.int64, shape=[]),
        lambda _: ops.Variable(
            1, trainable=False, validate_shape=False, dtype=tf.int64, shape=[], name="v"
        ),
    ),
    "get variable": (
        lambda _: tf.get_variable("v", [2], tf.int32, tf.ones_initializer(), None, False, ["a"]),
        lambda _: ops.get_variable(
            "v", [2], tf.int32, initializer=ops.ones_initializer(), trainable=False
        ),
    ),
    "local variable": (
        lambda _: tf.get_local_variable("v", [2], None, None, None, True, None, None, None, False),
        lambda _: ops.get_local_variable("v", [2], validate_shape=False),
    ),
    "join": (
        lambda _: tf.reduce_join([["a"], ["b"]], reduction_indices=[0], keep_dims=True),
        lambda _: ops.reduce_join([["a"], ["b"]], axis=[0], keepdims=True),
    ),
}


def nodes(make) -> list[str]:
    with Graph().as_default() as graph:
        make(ops.placeholder(tf.float64, [2, 3]))
    return [str(node) for node in graph.as_graph_def().node]


@pytest.mark.parametrize("pair", PAIRS)
def test_old_name_adds_the_same_operations_as_the_new_one(pair):
    old, new = PAIRS[pair]
    assert nodes(old) == nodes(new)


def arguments(function) -> list[tuple]:
    """The names, kinds and defaults of a function's parameters, without annotations."""
    parameters = inspect.signature(function).parameters.values()
    return [(parameter.name, parameter.kind, parameter.default) for parameter in parameters]


def test_adapters_exist_only_for_functions_with_different_arguments():
    same = [
        name
        for module in ADAPTERS
        for name in module.__all__
        if name in ops.__all__
        and inspect.isfunction(getattr(module, name))
        and arguments(getattr(module, name)) == arguments(getattr(ops, name))
    ]
    # The arguments of `concat` may be swapped. The result of the other adapter is a `tf.Variable`.
    assert same == ["concat", "create_global_step"]


def test_ignored_config_options_keep_their_values():
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(allow_growth=True))
    config.gpu_options.per_process_gpu_memory_fraction = 0.3
    assert (config.gpu_options.allow_growth, config.device_count) == (True, {})
    with tf.Session(config=config) as session:
        assert session.run(tf.constant(1)) == 1


def test_old_forms_of_scopes_work():
    with tf.op_scope([tf.constant(1)], None, "scope") as scope:
        assert tf.constant(1, name="inside").op.name == f"{scope}inside" == "scope/inside"
    with tf.variable_op_scope([], None, "default"):
        first = tf.get_variable("v", [])
    with tf.variable_op_scope([], "default", reuse=True):
        assert tf.get_variable("v", []) is first
