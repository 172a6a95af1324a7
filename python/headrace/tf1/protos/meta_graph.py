"""The messages of a graph with its collections: the `.meta` file of a checkpoint.

Source: `meta_graph.proto`, `variable.proto`, `queue_runner.proto` and `saver.proto` of TensorFlow
1.15, without the fields that headrace never writes.
"""

from typing import Final

from headrace.protos import graph as _graph  # noqa: F401  (the messages that fields have)
from headrace.protos.schema import Field, build_messages

__all__ = [
    "CollectionDef",
    "MetaGraphDef",
    "QueueRunnerDef",
    "SaverDef",
    "VariableDef",
]

_MESSAGES: Final = build_messages(
    __name__,
    "headrace/meta_graph.proto",
    {
        "VariableDef": [
            Field("variable_name", 1, "string"),
            Field("initializer_name", 2, "string"),
            Field("snapshot_name", 3, "string"),
            Field("initial_value_name", 6, "string"),
            Field("trainable", 7, "bool"),
        ],
        "CollectionDef": [
            Field("node_list", 1, "CollectionDef.NodeList", oneof="kind"),
            Field("bytes_list", 2, "CollectionDef.BytesList", oneof="kind"),
            Field("int64_list", 3, "CollectionDef.Int64List", oneof="kind"),
            Field("float_list", 4, "CollectionDef.FloatList", oneof="kind"),
        ],
        "CollectionDef.NodeList": [Field("value", 1, "string", is_repeated=True)],
        "CollectionDef.BytesList": [Field("value", 1, "bytes", is_repeated=True)],
        "CollectionDef.Int64List": [Field("value", 1, "int64", is_repeated=True)],
        "CollectionDef.FloatList": [Field("value", 1, "float", is_repeated=True)],
        "QueueRunnerDef": [
            Field("queue_name", 1, "string"),
            Field("enqueue_op_name", 2, "string", is_repeated=True),
            Field("close_op_name", 3, "string"),
            Field("cancel_op_name", 4, "string"),
            Field("queue_closed_exception_types", 5, "int32", is_repeated=True),
        ],
        "SaverDef": [
            Field("filename_tensor_name", 1, "string"),
            Field("save_tensor_name", 2, "string"),
            Field("restore_op_name", 3, "string"),
            Field("max_to_keep", 4, "int32"),
            Field("sharded", 5, "bool"),
            Field("keep_checkpoint_every_n_hours", 6, "float"),
            Field("version", 7, "enum CheckpointFormatVersion"),
        ],
        "MetaGraphDef": [
            Field("meta_info_def", 1, "MetaGraphDef.MetaInfoDef"),
            Field("graph_def", 2, "GraphDef"),
            Field("collection_def", 4, "map<string, CollectionDef>"),
        ],
        "MetaGraphDef.MetaInfoDef": [
            Field("meta_graph_version", 1, "string"),
            Field("tags", 4, "string", is_repeated=True),
        ],
    },
    imports=["headrace/graph.proto"],
    enums={
        "SaverDef.CheckpointFormatVersion": ["LEGACY", "V1", "V2"],
    },
)

# The types are in the stub next to this file.
VariableDef = _MESSAGES["VariableDef"]
CollectionDef = _MESSAGES["CollectionDef"]
MetaGraphDef = _MESSAGES["MetaGraphDef"]
QueueRunnerDef = _MESSAGES["QueueRunnerDef"]
SaverDef = _MESSAGES["SaverDef"]
