import contextlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace.tf1 as tf

IAE = tf.errors.InvalidArgumentError
FIXED, VAR, ROWS = tf.FixedLenFeature, tf.VarLenFeature, tf.FixedLenSequenceFeature


def feature(values):
    """A feature of ints, floats or bytes; None for one in which no list is set."""
    if values is None:
        return tf.train.Feature()
    if values and isinstance(values[0], bytes):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
    if values and isinstance(values[0], float):
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def example(**values):
    features = {key: feature(items) for key, items in values.items()}
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


def sparse(value):
    return [part.tolist() for part in value]


class TestOneExample:
    def test_single_example_becomes_tensors(self, run):
        parsed = tf.parse_single_example(
            example(i=[1, 2, 3, 4], f=[0.5], s=[b"x", b"\xff"], v=[7, 8], r=[1.0, 2.0]),
            {
                "i": FIXED([2, 2], tf.int64),
                "f": FIXED((), tf.float32),
                "s": FIXED(2, tf.string),
                "v": VAR(tf.int64),
                "r": ROWS([1], tf.float32, allow_missing=True),
            },
        )
        shapes = {key: value.shape.as_list() for key, value in parsed.items() if key != "v"}
        assert shapes == {"i": [2, 2], "f": [], "s": [2], "r": [None, 1]}
        assert parsed["v"].indices.shape.as_list() == [None, 1]
        assert parsed["i"].op.name == "ParseSingleExample/ParseSingleExample"
        value = run(parsed)
        assert value["i"].tolist() == [[1, 2], [3, 4]]
        assert (value["f"], value["s"].tolist()) == (0.5, [b"x", b"\xff"])
        assert sparse(value["v"]) == [[[0], [1]], [7, 8], [2]]
        assert value["r"].tolist() == [[1.0], [2.0]]

    @pytest.mark.parametrize("record", [b"", example(), example(a=None)])
    def test_single_example_uses_defaults_for_missing_features(self, run, record):
        parsed = tf.parse_single_example(
            record,
            {
                "a": FIXED([2], tf.int64, [8, 9]),
                "b": FIXED([1], tf.string, tf.constant("x")),
                "c": VAR(tf.float32),
                "d": ROWS([2], tf.float32, allow_missing=True, default_value=1.5),
            },
        )
        value = run(parsed)
        assert (value["a"].tolist(), value["b"].tolist()) == ([8, 9], [b"x"])
        assert sparse(value["c"]) == [[], [], [0]]
        assert value["d"].shape == (0, 2)

    @pytest.mark.parametrize(
        ("config", "values", "words"),
        [
            (
                *(FIXED([], tf.int64), {"b": [1], "c": [1]}),
                "Feature: a (data type: int64) is required but could not be found. The Example "
                "has: b, c. Correct the name, or set default_value",
            ),
            (
                *(FIXED([], tf.float32), {"a": [1]}),
                "Key: a.  Data types don't match. Data type: int64 but expected type: float",
            ),
            (
                *(VAR(tf.float32), {"a": [b"1"]}),
                "Key: a.  Data types don't match. Expected type: float, Actual type: string",
            ),
            (
                *(FIXED([3], tf.float32), {"a": [1.0, 2.0]}),
                "Key: a.  Can't parse serialized Example. Number of float values != expected.  "
                "Values size: 2 but output shape: [3]",
            ),
            # An empty list is not a missing list.
            (FIXED([], tf.int64, 5), {"a": []}, "Key: a.  Can't parse serialized Example"),
            (
                *(ROWS([2], tf.int64, allow_missing=True), {"a": [1, 2, 3]}),
                "Number of int64 values is not a multiple of stride length. Saw 3 values but "
                "output shape is: [?,2]",
            ),
        ],
    )
    def test_single_example_error_describes_the_mismatch(self, run, config, values, words):
        parsed = tf.parse_single_example(example(**values), {"a": config})
        with pytest.raises(IAE) as caught:
            run(parsed)
        assert words in caught.value.message
        assert caught.value.op.name == "ParseSingleExample/ParseSingleExample"

    def test_single_example_must_be_a_scalar(self, run, hidden):
        with pytest.raises(ValueError, match="Input serialized must be a scalar"):
            tf.parse_single_example([b""], {"a": VAR(tf.int64)})
        with pytest.raises(IAE, match=r"Expected serialized to be a scalar, got shape: \[1\]"):
            run(tf.parse_single_example(hidden([b""]), {"a": VAR(tf.int64)}))


class TestBatch:
    def test_batch_becomes_tensors_with_a_new_first_axis(self, run):
        records = tf.placeholder(tf.string, [None])
        parsed = tf.parse_example(
            records,
            {
                "i": FIXED([2], tf.int64, [8, 9]),
                "v": VAR(tf.string),
                "r": ROWS([], tf.float32, allow_missing=True, default_value=-1.0),
            },
            name="all",
        )
        assert parsed["i"].shape.as_list() == [None, 2]
        assert parsed["r"].shape.as_list() == [None, None]
        assert parsed["i"].op.name == "all/ParseExample"
        batch = [example(i=[1, 2], r=[1.0, 2.0]), b"", example(v=[b"x", b"y"], r=[3.0])]
        value = run(parsed, {records: batch})
        assert value["i"].tolist() == [[1, 2], [8, 9], [8, 9]]
        assert sparse(value["v"]) == [[[2, 0], [2, 1]], [b"x", b"y"], [3, 2]]
        assert value["r"].tolist() == [[1.0, 2.0], [-1.0, -1.0], [3.0, -1.0]]
        value = run(parsed, {records: []})
        assert (value["i"].shape, value["r"].shape) == ((0, 2), (0, 0))
        assert sparse(value["v"]) == [[], [], [0, 0]]

    @pytest.mark.parametrize(
        ("config", "words"),
        [
            (
                FIXED([], tf.float32),
                "Name: two, Key: a, Index: 1.  Data types don't match. Data type: int64 but "
                "expected type: float",
            ),
            (
                VAR(tf.float32),
                "Name: two, Key: a, Index: 1.  Data types don't match. Expected type: float, "
                "Actual type: int64",
            ),
            (
                FIXED([3], tf.float32),
                "Name: one, Key: a, Index: 0.  Number of float values != expected.  Values size: 1 "
                "but output shape: [3]",
            ),
        ],
    )
    def test_batch_error_describes_the_mismatch(self, run, config, words):
        parsed = tf.parse_example(
            [example(a=[1.0]), example(a=[1])], {"a": config}, example_names=["one", "two"]
        )
        with pytest.raises(IAE) as caught:
            run(parsed)
        assert words in caught.value.message

    def test_batch_error_names_the_missing_feature(self, run):
        with pytest.raises(IAE, match=r"Name: n, Feature: a \(data type: string\) is required but"):
            run(tf.parse_example([b""], {"a": FIXED([], tf.string)}, example_names=["n"]))
        with pytest.raises(IAE, match=r"Name: <unknown>, Feature: a \(data type: string\) is req"):
            run(tf.parse_example([b""], {"a": FIXED([], tf.string)}))

    def test_batch_must_be_a_vector_with_a_name_for_each_example(self, run, hidden):
        features = {"a": VAR(tf.int64)}
        with pytest.raises(ValueError, match="must have rank 1"):
            tf.parse_example(b"", features)
        with pytest.raises(IAE, match=r"Expected serialized to be a vector, got shape: \[1,1\]"):
            run(tf.parse_example(hidden([[b""]]), features))
        with pytest.raises(IAE, match=r"len\(names\) == len\(serialized\), but got: 1 vs. 2"):
            run(tf.parse_example([b"", b""], features, example_names=["a"]))


WIRE = {
    "packed": (b"\x0a\x0e\x0a\x0c\x0a\x01a\x12\x07\x1a\x05\x0a\x03\x01\xac\x02", [1, 300]),
    "not packed": (
        b"\x0a\x10\x0a\x0e\x0a\x01a\x12\x09\x1a\x07\x08\x01\x08\xac\x02\x08\x03",
        [1, 300, 3],
    ),
    "packed in two runs": (
        b"\x0a\x0f\x0a\x0d\x0a\x01a\x12\x08\x1a\x06\x0a\x01\x01\x0a\x01\x02",
        [1, 2],
    ),
    "unknown fields": (b"\x10\x05\x1a\x02hi" + example(a=[1]) + b"\x25\0\0\0\0", [1]),
    "two examples": (example(a=[1], b=[5]) + example(a=[2, 3]), [2, 3]),
    "a key twice": (b"\x0a\x16" + 2 * b"\x0a\x09\x0a\x01a\x12\x04\x1a\x02\x08\x07", [7]),
    "an empty list last": (example(a=[1]) + example(a=[]), []),
    "no list last": (example(a=[1]) + example(a=None), [1]),
}


@pytest.mark.parametrize(("record", "values"), WIRE.values(), ids=WIRE)
def test_every_wire_format_is_read(run, record, values):
    parsed = run(tf.parse_single_example(record, {"a": VAR(tf.int64)}))
    assert parsed["a"].values.tolist() == values


DAMAGED = {
    "no message": (b"\xff", "Could not parse example input, value: '\ufffd'. Check that the file"),
    "a group": (b"\x0b\x0c", "Could not parse example input, value: '"),
    "cut short": (example(a=[300])[:-1], "Could not parse example input, value: '"),
    "half a number": (example(a=[300])[:-1] + b"\xff", "Key: a.  Can't parse serialized Example."),
    "cut in a key": (example(abc=[1])[:5], "Could not parse example input, value: '"),
    "a huge length": (
        b"\x0a\xff\xff\xff\xff\x0f\x0a\xff\xff\xff\xff\x0f\x0a\x05",
        "Could not parse",
    ),
    "a length of 2**64": (b"\x0a" + b"\xff" * 9 + b"\x7f" + b"\x0a\x05", "Could not parse example"),
    "an endless number": (b"\x80" * 20, "Could not parse example input, value: '"),
    "half a float": (
        b"\x0a\x0d\x0a\x0b\x0a\x01a\x12\x06\x12\x04\x0a\x02\0\0",
        "Key: a.  Data types",
    ),
    "a feature of no type": (b"\x0a\x09\x0a\x07\x0a\x01a\x12\x02\x22\0", "Unsupported datatype."),
    "text": (b"1,2,3\n" * 99, "... (594 bytes)'. Check that the file"),
}


@pytest.mark.parametrize(("record", "words"), DAMAGED.values(), ids=DAMAGED)
def test_damaged_examples_are_rejected(run, record, words):
    features = {"a": VAR(tf.int64), "abc": VAR(tf.int64)}
    for parsed in (tf.parse_single_example(record, features), tf.parse_example([record], features)):
        with pytest.raises(IAE) as caught:
            run(parsed)
        result = caught.value.message.replace("Name: <unknown>, Key: a, Index: 0.", "Key: a.")
        assert words in result


KINDS = {
    tf.int64: st.lists(st.integers(-(2**63), 2**63 - 1), max_size=4),
    tf.float32: st.lists(st.floats(width=32, allow_nan=False), max_size=4),
    tf.string: st.lists(st.binary(max_size=4), max_size=4),
}
LISTS = {tf.int64: "int64_list", tf.float32: "float_list", tf.string: "bytes_list"}


@st.composite
def typed_features(draw):
    """Features by name: (type, values)."""
    keys = draw(st.sets(st.text(st.characters(codec="utf-8"), max_size=3), min_size=1, max_size=5))
    kinds = {key: draw(st.sampled_from(list(KINDS))) for key in keys}
    return {key: (kind, draw(KINDS[kind])) for key, kind in kinds.items()}


@given(typed_features())
def test_messages_written_by_protobuf_are_read(features):
    message = tf.train.Example()
    for key, (kind, values) in features.items():
        result = getattr(message.features.feature[key], LISTS[kind])
        result.SetInParent()
        result.value.extend(values)
    record = message.SerializeToString()
    with tf.Graph().as_default(), tf.Session() as session:
        fixed = {key: FIXED([len(values)], kind) for key, (kind, values) in features.items()}
        var = {key: VAR(kind) for key, (kind, _) in features.items()}
        one, batch, spread = session.run(
            [
                tf.parse_single_example(record, fixed),
                tf.parse_example([record, record], fixed),
                tf.parse_example([b"", record], var),
            ]
        )
    for key, (kind, values) in features.items():
        expected = np.array(values, kind.as_numpy_dtype)
        assert one[key].dtype == expected.dtype
        assert one[key].tolist() == expected.tolist()
        assert batch[key].tolist() == [expected.tolist()] * 2
        assert spread[key].values.tolist() == expected.tolist()
        assert spread[key].indices.tolist() == [[1, position] for position in range(len(values))]


@given(st.data())
def test_damage_yields_an_error_or_a_different_example_but_never_a_crash(data):
    record = bytearray(example(**{"a": [1, -1], "b": [0.5], "c": [b"xyz"]}))
    for _ in range(data.draw(st.integers(1, 3))):
        record[data.draw(st.integers(0, len(record) - 1))] = data.draw(st.integers(0, 255))
    del record[data.draw(st.integers(0, len(record))) :]
    config = {"a": VAR(tf.int64), "b": VAR(tf.float32), "c": VAR(tf.string)}
    with tf.Graph().as_default(), tf.Session() as session:
        for parsed in (
            tf.parse_single_example(bytes(record), config),
            tf.parse_example([bytes(record)], config),
        ):
            with contextlib.suppress(IAE):
                session.run(parsed)
