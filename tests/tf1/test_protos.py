"""The expected bytes were written by TensorFlow."""

import os
import subprocess
import sys

import pytest
from google.protobuf import text_format
from google.protobuf.internal import api_implementation

from headrace.protos import (
    AttrValue,
    GraphDef,
    NodeDef,
    TensorProto,
    TensorShapeProto,
    VersionDef,
)
from headrace.tf1 import protos
from headrace.tf1.protos import (
    BundleEntryProto,
    CheckpointState,
    CollectionDef,
    MetaGraphDef,
    TensorSliceProto,
    VariableDef,
)

BUNDLE_ENTRY_BYTES = (
    b"\x08\t\x12\x04\x12\x02\x08\x03\x18\x02 \x80\x80\x80\x80\x80 (M5\xf0\xff\xff\xff:\x06\n\x04"
    b"\x08\x01\x10\x02"
)
CHECKPOINT_STATE_BYTES = (
    b"\n\x01a\x12\x01a\x12\x01b\x1a\x08\x00\x00\x00\x00\x00\x00\xf8?!\x00\x00\x00\x00\x00\x00\x04@"
)
META_GRAPH_BYTES = (
    b'\n\x06\n\x01v"\x01t\x12\xbf\x01\n\xb7\x01\n\x01c\x12\x05Const\x1a\x01x\x1a\x02^y"\x01d*\x07\n\x01b\x12'
    b"\x02(\x00*\n\n\x01f\x12\x05%\x00\x00\x00?*\x10\n\x01i\x12\x0b\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff"
    b'\x01*0\n\x04list\x12(\n&\x12\x01q\x1a\x02\x01\x02"\x04\x00\x00\xc0?*\x01\x012\x01\x01:\r\x12\x0b\x08'
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01B\x02\x08\x03*\x18\n\x05shape\x12\x0f:\r\x12\x0b\x08\xff\xff\xff"
    b"\xff\xff\xff\xff\xff\xff\x01*\x08\n\x01s\x12\x03\x12\x01x*\x18\n\x06tensor\x12\x0eB\x0c\x08\x07\x12\x02"
    b'\x18\x01"\x01\x01B\x01a*\n\n\x04type\x12\x020e"\x03\x08\x86\x01"\x0c\n\x03ops\x12\x05\n\x03\n\x01c"1\n\t'
    b'variables\x12$\x12"\n \n\x03v:0\x12\x08v/Assign\x1a\x08v/read:02\x03c:08\x01'
)

# A free-threaded Python has only protocol buffers in Python.
IN_PYTHON = api_implementation.Type() == "python"


def make_bundle_entry():
    extent = TensorSliceProto.Extent(start=1, length=2)
    return BundleEntryProto(
        dtype=9,
        shape=TensorShapeProto(dim=[TensorShapeProto.Dim(size=3)]),
        shard_id=2,
        offset=1 << 40,
        size=77,
        crc32c=0xFFFFFFF0,
        slices=[TensorSliceProto(extent=[extent])],
    )


def make_checkpoint_state():
    return CheckpointState(
        model_checkpoint_path="a",
        all_model_checkpoint_paths=["a", "b"],
        all_model_checkpoint_timestamps=[1.5],
        last_preserved_timestamp=2.5,
    )


def make_meta_graph():
    shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=-1)])
    text = TensorProto(
        dtype=7,
        string_val=[b"a"],
        tensor_content=b"\1",
        tensor_shape=TensorShapeProto(unknown_rank=True),
    )
    items = AttrValue.ListValue(
        i=[1, 2],
        type=[1],
        s=[b"q"],
        f=[1.5],
        b=[True],
        shape=[shape],
        tensor=[TensorProto(dtype=3)],
    )
    fields = {"i": -1, "f": 0.5, "b": False, "s": b"x", "type": 101, "shape": shape}
    attr = {key: AttrValue(**{key: value}) for key, value in fields.items()}
    attr |= {"tensor": AttrValue(tensor=text), "list": AttrValue(list=items)}
    node = NodeDef(name="c", op="Const", input=["x", "^y"], device="d", attr=attr)
    variable = VariableDef(
        variable_name="v:0",
        initializer_name="v/Assign",
        snapshot_name="v/read:0",
        initial_value_name="c:0",
        trainable=True,
    )
    variables = CollectionDef.BytesList(value=[variable.SerializeToString()])
    return MetaGraphDef(
        meta_info_def=MetaGraphDef.MetaInfoDef(meta_graph_version="v", tags=["t"]),
        graph_def=GraphDef(node=[node], versions=VersionDef(producer=134)),
        collection_def={
            "variables": CollectionDef(bytes_list=variables),
            "ops": CollectionDef(node_list=CollectionDef.NodeList(value=["c"])),
        },
    )


@pytest.mark.parametrize(
    ("message", "serialized"),
    [
        (make_bundle_entry(), BUNDLE_ENTRY_BYTES),
        (make_checkpoint_state(), CHECKPOINT_STATE_BYTES),
        pytest.param(
            make_meta_graph(),
            META_GRAPH_BYTES,
            marks=pytest.mark.skipif(IN_PYTHON, reason="they sort the keys of maps otherwise"),
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_message_bytes_match_tensorflow(message, serialized):
    assert message.SerializeToString(deterministic=True) == serialized
    assert type(message).FromString(serialized) == message


def test_message_names_are_in_the_headrace_package():
    names = {getattr(protos, name).DESCRIPTOR.full_name for name in protos.__all__}
    assert names == {f"headrace.{name}" for name in protos.__all__}


def test_pure_python_protobuf_works(tmp_path):
    """A free-threaded Python has no others. Their classes have no nested ones by themselves."""
    program = """
import sys
import headrace.tf1 as tf
from google.protobuf.internal.api_implementation import Type
from headrace.protos import AttrValue
from headrace.tf1 import protos

assert Type() == "python"
extent = protos.TensorSliceProto.Extent(start=1, length=2)
assert protos.TensorSliceProto(extent=[extent]).extent[0].length == 2
items = AttrValue.ListValue(i=[1, 2])
assert list(AttrValue(list=items).list.i) == [1, 2]
v = tf.get_variable("v", initializer=1.5)
with tf.Session() as session:
    session.run(v.initializer)
    path = tf.train.Saver().save(session, sys.argv[1] + "/model")
tf.reset_default_graph()
with tf.Session() as session:
    tf.train.import_meta_graph(path + ".meta").restore(session, path)
    assert session.run("v:0") == 1.5
try:
    tf.train.update_checkpoint_state(sys.argv[1], "\\udcff")
except tf.errors.InvalidArgumentError as error:
    assert "name is not UTF-8" in str(error)
else:
    raise AssertionError("that was no error")
"""
    environment = {**os.environ, "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python"}
    command = [sys.executable, "-W", "error", "-c", program, str(tmp_path)]
    subprocess.run(command, check=True, timeout=60, env=environment)


def test_checkpoint_state_is_parsed_from_text():
    text = 'model_checkpoint_path: "b"\nall_model_checkpoint_paths: "a"\n'
    state = text_format.Parse(text, CheckpointState())
    assert state == CheckpointState(model_checkpoint_path="b", all_model_checkpoint_paths=["a"])
    assert text_format.MessageToString(state) == text
