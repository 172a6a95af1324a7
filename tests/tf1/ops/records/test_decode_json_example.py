import json

import pytest
from google.protobuf import json_format
from hypothesis import given
from hypothesis import strategies as st

import headrace.tf1 as tf

IAE = tf.errors.InvalidArgumentError


def parse(serialized):
    return tf.train.Example.FromString(serialized)


def of_feature(feature):
    return json.dumps({"features": {"feature": {"a": feature}}})


def test_json_becomes_a_serialized_example(run):
    text = of_feature({"int64List": {"value": ["1", 2, -3]}})
    decoded = tf.decode_json_example([[text, "{}"]])
    assert (decoded.op.name, decoded.shape) == ("DecodeJSONExample", [1, 2])
    ((first, second),) = run(decoded)
    assert parse(first).features.feature["a"].int64_list.value == [1, 2, -3]
    assert second == b""
    parsed = tf.parse_single_example(decoded[0, 0], {"a": tf.FixedLenFeature([3], tf.int64)})
    assert run(parsed["a"]).tolist() == [1, 2, -3]
    assert tf.io.decode_json_example is tf.decode_json_example


@pytest.mark.parametrize(
    ("feature", "kind", "values"),
    [
        ({"bytes_list": {"value": ["YWI=", "_-8="]}}, "bytes_list", [b"ab", b"\xff\xef"]),
        (
            {"floatList": {"value": [1.5, "Infinity", 1e5, "2", " +.5 "]}},
            "float_list",
            [1.5, float("inf"), 1e5, 2, 0.5],
        ),
        ({"int64List": {"value": [1.0, 1e2]}}, "int64_list", [1, 100]),
        ({"int64List": {"value": [[3], None, "-4"]}, "floatList": None}, "int64_list", [3, 0, -4]),
        ({"floatList": {"value": 5}}, "float_list", [5]),
        ({"bytesList": {"value": None}}, "bytes_list", []),
    ],
)
def test_every_kind_of_list_is_read(run, feature, kind, values):
    result = parse(run(tf.decode_json_example(of_feature(feature)))).features.feature["a"]
    assert list(getattr(result, kind).value) == values


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "x",
            "[]",
            "5",
            "{",
            '{"features": {}} x',
            '{"bogus": 1}',
            '{"features": 5}',
            b"\xff",
        ),
        of_feature({"int64List": {"value": [1.5]}}),
        of_feature({"int64List": {"value": [10**20]}}),
        of_feature({"bytesList": {"value": [1]}}),
        of_feature({"bytesList": {"value": ["*"]}}),
        of_feature({"floatList": {"value": [True]}}),
        of_feature({"floatList": {"value": [1e39]}}),
        of_feature({"floatList": {"value": ["1_0"]}}),
        of_feature({"int64List": {}, "floatList": {}}),
        of_feature({"int64List": {"values": []}}),
        of_feature({"int32List": {}}),
        '{"features": {}, "features": {}}',
        "null",
        '{"a":' * 100_000,
    ],
)
def test_invalid_json_is_rejected(run, text):
    with pytest.raises(IAE, match=r"Error while parsing JSON: (?s:.*), got '"):
        run(tf.decode_json_example(text))


@given(
    st.dictionaries(
        st.text(st.characters(codec="utf-8")),
        st.lists(st.integers(-(2**63), 2**63 - 1)) | st.lists(st.binary()),
    )
)
def test_messages_printed_by_protobuf_are_read(features):
    message = tf.train.Example()
    for key, values in features.items():
        kind = "bytes_list" if values and isinstance(values[0], bytes) else "int64_list"
        getattr(message.features.feature[key], kind).value.extend(values)
    text = json_format.MessageToJson(message)
    with tf.Graph().as_default(), tf.Session() as session:
        assert parse(session.run(tf.decode_json_example(text))) == message
