"""The expected bytes were written by TensorFlow."""

import copy
import pickle

import pytest
from google.protobuf.internal import api_implementation
from hypothesis import given
from hypothesis import strategies as st

from headrace import protos
from headrace.protos import (
    BytesList,
    Example,
    Feature,
    FeatureList,
    FeatureLists,
    Features,
    FloatList,
    Int64List,
    SequenceExample,
)

EXAMPLE_BYTES = (
    b"\n[\n\x11\n\x05image\x12\x08\n\x06\n\x02\x00\xff\n\x00\n\x1d\n\x05label\x12\x14\x1a\x12\n\x10"
    b"\x01\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\x80\xbc\xc1\x96\x0b\n\x08\n\x04none\x12\x00\n\n"
    b"\n\x04vide\x12\x02\x1a\x00\n\x11\n\x01x\x12\x0c\x12\n\n\x08\x00\x00\x00?\x00\x00\x80\xbf"
)
SEQUENCE_EXAMPLE_BYTES = (
    b"\n\r\n\x0b\n\x02id\x12\x05\x1a\x03\n\x01\x05\x12\x1a\n\x18\n\x06frames\x12\x0e\n\x08\x12\x06"
    b"\n\x04\x00\x00\x80?\n\x02\x12\x00"
)

# A free-threaded Python has only protocol buffers in Python. They lose the sign of NaN.
IN_PYTHON = api_implementation.Type() == "python"


def make_example():
    return Example(
        features=Features(
            feature={
                "label": Feature(int64_list=Int64List(value=[1, -2, 3_000_000_000])),
                "image": Feature(bytes_list=BytesList(value=[b"\x00\xff", b""])),
                "x": Feature(float_list=FloatList(value=[0.5, -1])),
                "none": Feature(),
                "vide": Feature(int64_list=Int64List()),
            }
        )
    )


def make_sequence_example():
    frames = [Feature(float_list=FloatList(value=values)) for values in ([1], [])]
    return SequenceExample(
        context=Features(feature={"id": Feature(int64_list=Int64List(value=[5]))}),
        feature_lists=FeatureLists(feature_list={"frames": FeatureList(feature=frames)}),
    )


@pytest.mark.parametrize(
    ("message", "serialized"),
    [
        (make_example(), EXAMPLE_BYTES),
        (make_sequence_example(), SEQUENCE_EXAMPLE_BYTES),
    ],
    ids=lambda value: type(value).__name__,
)
def test_message_serializes_to_the_same_bytes_as_tensorflow(message, serialized):
    assert message.SerializeToString(deterministic=True) == serialized
    assert type(message).FromString(serialized) == message


def test_messages_have_their_own_full_names():
    names = {getattr(protos, name).DESCRIPTOR.full_name for name in protos.__all__}
    assert names == {f"headrace.{name}" for name in protos.__all__}


def test_feature_holds_at_most_one_kind_of_list():
    feature = Feature(int64_list=Int64List(value=[1]))
    assert feature.WhichOneof("kind") == "int64_list"
    feature.bytes_list.value.append(b"x")
    assert feature.WhichOneof("kind") == "bytes_list"
    assert Feature().WhichOneof("kind") is None


def test_features_can_be_filled_by_name():
    example = Example()
    example.features.feature["label"].int64_list.value.extend([1, 2])
    assert dict(example.features.feature) == {"label": Feature(int64_list=Int64List(value=[1, 2]))}


def test_packed_and_unpacked_numbers_are_parsed():
    packed, unpacked = b"\n\x02\x01\x02", b"\x08\x01\x08\x02"
    assert Int64List.FromString(packed) == Int64List.FromString(unpacked)


def test_messages_can_be_copied_and_pickled():
    example = make_example()
    assert copy.deepcopy(example) == example
    assert pickle.loads(pickle.dumps(example)) == example


int64s = st.integers(-(2**63), 2**63 - 1)
features = st.one_of(
    st.lists(int64s).map(lambda v: Feature(int64_list=Int64List(value=v))),
    st.lists(st.floats(width=32, allow_nan=not IN_PYTHON)).map(
        lambda v: Feature(float_list=FloatList(value=v))
    ),
    st.lists(st.binary()).map(lambda v: Feature(bytes_list=BytesList(value=v))),
)


@given(st.dictionaries(st.text(), features))
def test_examples_round_trip_through_bytes(feature):
    serialized = Example(features=Features(feature=feature)).SerializeToString(deterministic=True)
    # Compared as bytes, because NaN does not equal itself.
    copied = Example.FromString(serialized)
    assert copied.SerializeToString(deterministic=True) == serialized
    assert copied.features.feature.keys() == feature.keys()
