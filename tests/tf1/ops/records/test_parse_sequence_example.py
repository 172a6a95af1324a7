import contextlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace.tf1 as tf

IAE = tf.errors.InvalidArgumentError
FIXED, VAR, ROWS = tf.FixedLenFeature, tf.VarLenFeature, tf.FixedLenSequenceFeature


def fill(feature, values):
    """Sets the list of ints, floats or bytes, or none of them for None."""
    if values is not None:
        kinds = {int: "int64_list", float: "float_list", bytes: "bytes_list"}
        result = getattr(feature, kinds[type(values[0]) if values else int])
        result.SetInParent()
        result.value.extend(values)


def sequence(context=None, lists=None):
    message = tf.train.SequenceExample()
    for key, values in (context or {}).items():
        fill(message.context.feature[key], values)
    for key, rows in (lists or {}).items():
        result = message.feature_lists.feature_list[key]
        for values in rows:
            fill(result.feature.add(), values)
    return message.SerializeToString()


def test_context_and_lists_become_tensors(run):
    record = sequence(
        {"label": [3], "words": [b"a", b"b"]},
        {"frames": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], "tags": [[7, 8], None, [9]]},
    )
    context, lists = tf.parse_single_sequence_example(
        record,
        {"label": FIXED([], tf.int64), "words": VAR(tf.string), "size": FIXED([1], tf.int64, 5)},
        {"frames": ROWS([2], tf.float32), "tags": VAR(tf.int64)},
    )
    assert (list(context), list(lists)) == (["words", "label", "size"], ["tags", "frames"])
    assert lists["frames"].shape.as_list() == [None, 2]
    assert lists["tags"].indices.shape.as_list() == [None, 2]
    assert context["label"].shape == []
    assert context["label"].op.name == "ParseSingleSequenceExample/ParseSingleSequenceExample"
    context, lists = run((context, lists))
    assert (context["label"], context["size"].tolist()) == (3, [5])
    assert context["words"].values.tolist() == [b"a", b"b"]
    assert lists["frames"].tolist() == [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    assert lists["tags"].indices.tolist() == [[0, 0], [0, 1], [2, 0]]
    assert lists["tags"].values.tolist() == [7, 8, 9]
    assert lists["tags"].dense_shape.tolist() == [3, 2]


def test_context_or_lists_alone_can_be_parsed(run):
    record = sequence({"c": [1]}, {"l": [[2]]})
    assert run(tf.parse_single_sequence_example(record, {"c": FIXED([], tf.int64)})) == (
        *({"c": 1}, {}),
    )
    parsed = tf.io.parse_single_sequence_example(
        record, sequence_features={"l": ROWS([], tf.int64)}
    )
    assert run(parsed)[1]["l"].tolist() == [2]


@pytest.mark.parametrize("record", [b"", sequence({"c": None}), sequence({}, {"x": [[1]]})])
def test_missing_feature_is_empty_or_its_default(run, record):
    context, lists = run(
        tf.parse_single_sequence_example(
            record,
            {"c": FIXED([2], tf.int64, [1, 2]), "v": VAR(tf.string)},
            {"l": ROWS([3], tf.float32, allow_missing=True), "s": VAR(tf.int64)},
        )
    )
    assert context["c"].tolist() == [1, 2]
    assert context["v"].dense_shape.tolist() == [0]
    assert lists["l"].shape == (0, 3)
    assert lists["s"].dense_shape.tolist() == [0, 0]


def test_empty_list_is_not_missing(run):
    record = sequence(lists={"l": []})
    _, lists = tf.parse_single_sequence_example(record, None, {"l": ROWS([2], tf.int64)})
    assert run(lists["l"]).shape == (0, 2)


MISMATCH = "Data types don't match. Expected type: float, Actual type: int64"
MISFITS = [
    (
        {"z": FIXED([], tf.int64)},
        {},
        "Context feature 'z' (data type: int64) is required but could",
    ),
    ({"c": FIXED([], tf.float32)}, {}, f"Context feature: c.  {MISMATCH}"),
    ({"c": VAR(tf.float32)}, {}, f"Context feature: c.  {MISMATCH}"),
    (
        {"c": FIXED([2], tf.int64)},
        {},
        "Context feature: c.  Can't parse serialized Example. Number o",
    ),
    (
        {},
        {"z": ROWS([], tf.int64)},
        "Feature list 'z' is required but could not be found.  Did you m",
    ),
    ({}, {"l": ROWS([], tf.float32)}, f"Feature list: l, Index: 0.  {MISMATCH}"),
    ({}, {"m": VAR(tf.float32)}, f"Feature list: m, Index: 1.  {MISMATCH}"),
    (
        *({}, {"l": ROWS([2], tf.int64)}),
        "Key: l, Index: 1.  Number of int64 values != expected.  Values size: 1 but",
    ),
    ({}, {"n": ROWS([], tf.int64)}, "Key: n, Index: 0.  Number of int64 values != expected."),
]


@pytest.mark.parametrize(("context", "lists", "words"), MISFITS)
@pytest.mark.parametrize("name", [None, "it"])
def test_error_describes_the_mismatched_feature(run, context, lists, words, name):
    record = sequence({"c": [1]}, {"l": [[1, 2], [3]], "m": [[1.0], [2]], "n": [None]})
    parsed = tf.parse_single_sequence_example(record, context, lists, example_name=name)
    with pytest.raises(IAE) as caught:
        run(parsed)
    assert f"Name: {name or '<unknown>'}, {words}" in caught.value.message


@pytest.mark.parametrize(
    ("context", "lists", "words"),
    [
        (None, None, "^Missing features"),
        ({}, {}, "^Missing features"),
        ({"f": ROWS([], tf.int64)}, None, "Unsupported FixedLenSequenceFeature"),
        ({"f": tf.SparseFeature("i", "v", tf.int64, 9)}, None, "Unsupported SparseFeature"),
        (None, {"f": FIXED([], tf.int64)}, "Unsupported FixedLenFeature"),
        (
            None,
            {"f": ROWS([None], tf.int64)},
            "All dimensions of shape for feature f need to be kn",
        ),
        (None, {"f": ROWS([], None)}, "Missing type for feature f"),
        (
            None,
            {"f": ROWS([], tf.int64, True, 1)},
            r"feature_list_dense_defaults\[f\] must be None",
        ),
        ({"f": FIXED(None, tf.int64)}, None, "Missing shape for feature f"),
    ],
)
def test_invalid_features_are_rejected_at_once(context, lists, words):
    with pytest.raises(ValueError, match=words):
        tf.parse_single_sequence_example(tf.placeholder(tf.string), context, lists)


def test_serialized_must_be_a_scalar(run, hidden):
    features = {"a": VAR(tf.int64)}
    with pytest.raises(ValueError, match="Input serialized must be a scalar"):
        tf.parse_single_sequence_example([b""], features)
    with pytest.raises(IAE, match=r"Expected serialized to be a scalar, got shape: \[2\]"):
        run(tf.parse_single_sequence_example(hidden([b"", b""]), features))


WHOLE = sequence({"c": [1, 300]}, {"l": [[1.0], [2.0, 3.0]]})
DAMAGED = {
    "no message": b"\xff",
    "a group": b"\x0b",
    "cut short": WHOLE[:-1],
    "cut in the context": WHOLE[:9],
    "a huge length": b"\x12\xff\xff\xff\xff\x0f\x0a",
    "a length of 2**64": b"\x0a" + b"\xff" * 9 + b"\x7f",
    "field number 0": b"\x02\x00",
}


@pytest.mark.parametrize("record", DAMAGED.values(), ids=DAMAGED)
def test_damaged_bytes_are_rejected(run, record):
    parsed = tf.parse_single_sequence_example(record, {"c": VAR(tf.int64)}, {"l": VAR(tf.float32)})
    with pytest.raises(IAE, match="Could not parse example input, value: '"):
        run(parsed)


@given(st.data())
def test_any_damage_yields_an_error_or_a_different_example_but_never_a_crash(data):
    record = bytearray(WHOLE)
    for _ in range(data.draw(st.integers(1, 3))):
        record[data.draw(st.integers(0, len(record) - 1))] = data.draw(st.integers(0, 255))
    del record[data.draw(st.integers(0, len(record))) :]
    with tf.Graph().as_default(), tf.Session() as session, contextlib.suppress(IAE):
        session.run(
            tf.parse_single_sequence_example(
                bytes(record), {"c": VAR(tf.int64)}, {"l": VAR(tf.float32)}
            )
        )


@given(
    st.lists(st.integers(-(2**63), 2**63 - 1)),
    st.lists(st.lists(st.floats(width=32, allow_nan=False), max_size=3), max_size=5),
    st.lists(st.tuples(st.binary(), st.binary()), max_size=5),
)
def test_messages_written_by_protobuf_are_read(numbers, ragged, pairs):
    record = sequence(
        {"numbers": numbers}, {"ragged": [row or None for row in ragged], "pairs": pairs}
    )
    with tf.Graph().as_default(), tf.Session() as session:
        context, lists = session.run(
            tf.parse_single_sequence_example(
                record,
                {"numbers": FIXED([len(numbers)], tf.int64)},
                {"ragged": VAR(tf.float32), "pairs": ROWS([2], tf.string)},
            )
        )
    assert context["numbers"].tolist() == numbers
    assert lists["pairs"].tolist() == [list(pair) for pair in pairs]
    assert lists["ragged"].dense_shape.tolist() == [len(ragged), max(map(len, ragged), default=0)]
    assert lists["ragged"].values.tolist() == [value for row in ragged for value in row]
    indices = [[row, index] for row, values in enumerate(ragged) for index in range(len(values))]
    assert np.array_equal(lists["ragged"].indices, np.array(indices).reshape(-1, 2))
