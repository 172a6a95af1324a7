"""The default names of operations."""

import pytest

import headrace.tf1 as tf

FEATURES = {"a": tf.FixedLenFeature([], tf.int64, 0)}


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda c: c, "Const"),
        (lambda _: tf.placeholder(tf.int32), "Placeholder"),
        (lambda _: tf.placeholder_with_default(1, []), "PlaceholderWithDefault"),
        (lambda _: tf.Variable(1), "Variable"),
        (lambda _: tf.no_op(), "NoOp"),
        (tf.group, "group_deps"),
        (tf.identity, "Identity"),
        (lambda c: tf.cast(c, tf.float32), "Cast"),
        (lambda c: tf.reshape(c, [4]), "Reshape"),
        (lambda c: tf.concat([c, c], 0), "concat"),
        (lambda c: tf.stack([c, c]), "stack"),
        (lambda c: tf.gather(c, [0]), "GatherV2"),
        (lambda c: tf.boolean_mask(c, [True, False]), "boolean_mask/GatherV2"),
        (lambda _: tf.range(3), "range"),
        (tf.shape, "Shape"),
        (tf.size, "Size"),
        (lambda _: tf.squeeze([[1]]), "Squeeze"),
        (lambda c: tf.expand_dims(c, 0), "ExpandDims"),
        (lambda _: tf.zeros([2]), "zeros"),
        (lambda _: tf.ones([2]), "ones"),
        (lambda c: tf.slice(c, [0, 0], [1, 1]), "Slice"),
        (lambda c: c[0], "strided_slice"),
        (lambda c: tf.equal(c, 1), "Equal"),
        (lambda c: tf.greater(c, 1), "Greater"),
        (lambda c: tf.maximum(c, 1), "Maximum"),
        (lambda c: c + 1, "add"),
        (lambda c: 1 - c, "sub"),
        (lambda c: c * 2, "mul"),
        (lambda c: c / 2, "truediv"),
        (tf.as_string, "AsString"),
        (lambda c: tf.Assert(True, [c]), "Assert/Assert"),
        (lambda _: tf.TextLineReader().read(tf.FIFOQueue(1, tf.string))[1], "ReaderReadV2"),
        (lambda _: tf.decode_csv("1", [[0]])[0], "DecodeCSV"),
        (lambda _: tf.decode_raw("a", tf.uint8), "DecodeRaw"),
        (lambda _: tf.matching_files("*"), "MatchingFiles"),
        (lambda _: tf.parse_example([""], FEATURES)["a"], "ParseExample/ParseExample"),
        (
            lambda _: tf.parse_single_example("", FEATURES)["a"],
            "ParseSingleExample/ParseSingleExample",
        ),
    ],
)
def test_default_names_match_tensorflow(make, name):
    output = make(tf.constant([[1, 2], [3, 4]]))
    assert getattr(output, "op", output).name == name
