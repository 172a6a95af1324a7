"""The messages of a checkpoint: the index of a tensor bundle, and the file named `checkpoint`.

Source: `tensor_bundle.proto`, `tensor_shape.proto`, `tensor_slice.proto`, `versions.proto` and
`checkpoint_state.proto` of TensorFlow 1.15. Enums are plain integers here, which is the same on the
wire.
"""

from typing import Final

from headrace.protos.schema import Field, build_messages

__all__ = [
    "BundleEntryProto",
    "BundleHeaderProto",
    "CheckpointState",
    "TensorShapeProto",
    "TensorSliceProto",
    "VersionDef",
]

_MESSAGES: Final = build_messages(
    __name__,
    "headrace/checkpoint.proto",
    {
        "VersionDef": [
            Field("producer", 1, "int32"),
            Field("min_consumer", 2, "int32"),
            Field("bad_consumers", 3, "int32", is_repeated=True),
        ],
        "TensorShapeProto": [
            Field("dim", 2, "TensorShapeProto.Dim", is_repeated=True),
            Field("unknown_rank", 3, "bool"),
        ],
        "TensorShapeProto.Dim": [
            Field("size", 1, "int64"),
            Field("name", 2, "string"),
        ],
        "TensorSliceProto": [
            Field("extent", 1, "TensorSliceProto.Extent", is_repeated=True),
        ],
        "TensorSliceProto.Extent": [
            Field("start", 1, "int64"),
            Field("length", 2, "int64", oneof="has_length"),
        ],
        "BundleHeaderProto": [
            Field("num_shards", 1, "int32"),
            Field("endianness", 2, "int32"),  # 0 little, 1 big
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
)

# Their types are in the stub beside this file.
VersionDef = _MESSAGES["VersionDef"]
TensorShapeProto = _MESSAGES["TensorShapeProto"]
TensorSliceProto = _MESSAGES["TensorSliceProto"]
BundleHeaderProto = _MESSAGES["BundleHeaderProto"]
BundleEntryProto = _MESSAGES["BundleEntryProto"]
CheckpointState = _MESSAGES["CheckpointState"]
