"""Messages in a checkpoint: the index of a tensor bundle, and the file named `checkpoint`.

Source: `tensor_bundle.proto`, `tensor_slice.proto` and `checkpoint_state.proto` in TensorFlow 1.15.
    Enums are plain integers here, with the same wire format.
"""

from typing import Final

from headrace.protos import graph as _graph  # noqa: F401  (the messages that fields have)
from headrace.protos.schema import Field, build_messages

__all__ = [
    "BundleEntryProto",
    "BundleHeaderProto",
    "CheckpointState",
    "TensorSliceProto",
]

_MESSAGES: Final = build_messages(
    __name__,
    "headrace/checkpoint.proto",
    {
        "TensorSliceProto": [
            Field("extent", 1, "TensorSliceProto.Extent", is_repeated=True),
        ],
        "TensorSliceProto.Extent": [
            Field("start", 1, "int64"),
            Field("length", 2, "int64", oneof="has_length"),
        ],
        "BundleHeaderProto": [
            Field("num_shards", 1, "int32"),
            Field("endianness", 2, "int32"),  # 0 for little endian, 1 for big endian
            Field("version", 3, "VersionDef"),
        ],
        "BundleEntryProto": [
            Field("dtype", 1, "int32"),
            Field("shape", 2, "TensorShapeProto"),
            Field("shard_id", 3, "int32"),
            Field("offset", 4, "int64"),
            Field("size", 5, "int64"),
            Field("crc32c", 6, "fixed32"),
            Field("slices", 7, "TensorSliceProto", is_repeated=True),
        ],
        "CheckpointState": [
            Field("model_checkpoint_path", 1, "string"),
            Field("all_model_checkpoint_paths", 2, "string", is_repeated=True),
            Field("all_model_checkpoint_timestamps", 3, "double", is_repeated=True),
            Field("last_preserved_timestamp", 4, "double"),
        ],
    },
    imports=["headrace/graph.proto"],
)

# The types are in the stub next to this file.
TensorSliceProto = _MESSAGES["TensorSliceProto"]
BundleHeaderProto = _MESSAGES["BundleHeaderProto"]
BundleEntryProto = _MESSAGES["BundleEntryProto"]
CheckpointState = _MESSAGES["CheckpointState"]
