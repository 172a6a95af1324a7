"""The messages that describe a graph: `GraphDef`, and the file `.meta` of a checkpoint.

Source: `meta_graph.proto`, `graph.proto`, `node_def.proto`, `attr_value.proto`, `tensor.proto`,
`variable.proto` and `types.proto` of TensorFlow 1.15, without what headrace never writes.
`DataType` lacks the numbers of reference types, which are read and written all the same.
"""

from typing import Final

from headrace.protos.schema import Field, build_messages

__all__ = [
    "AttrValue",
    "CollectionDef",
    "GraphDef",
    "MetaGraphDef",
    "NodeDef",
    "QueueRunnerDef",
    "SaverDef",
    "TensorProto",
    "VariableDef",
]

_MESSAGES: Final = build_messages(
    __name__,
    "headrace/meta_graph.proto",
    {
        "TensorProto": [
            Field("dtype", 1, "enum DataType"),
            Field("tensor_shape", 2, "TensorShapeProto"),
            Field("tensor_content", 4, "bytes"),
            Field("float_val", 5, "float", is_repeated=True),
            Field("double_val", 6, "double", is_repeated=True),
            Field("int_val", 7, "int32", is_repeated=True),
            Field("string_val", 8, "bytes", is_repeated=True),
            Field("scomplex_val", 9, "float", is_repeated=True),
            Field("int64_val", 10, "int64", is_repeated=True),
            Field("bool_val", 11, "bool", is_repeated=True),
            Field("dcomplex_val", 12, "double", is_repeated=True),
            Field("half_val", 13, "int32", is_repeated=True),
            Field("uint32_val", 16, "uint32", is_repeated=True),
            Field("uint64_val", 17, "uint64", is_repeated=True),
        ],
        "AttrValue": [
            Field("list", 1, "AttrValue.ListValue", oneof="value"),
            Field("s", 2, "bytes", oneof="value"),
            Field("i", 3, "int64", oneof="value"),
            Field("f", 4, "float", oneof="value"),
            Field("b", 5, "bool", oneof="value"),
            Field("type", 6, "enum DataType", oneof="value"),
            Field("shape", 7, "TensorShapeProto", oneof="value"),
            Field("tensor", 8, "TensorProto", oneof="value"),
        ],
        "AttrValue.ListValue": [
            Field("s", 2, "bytes", is_repeated=True),
            Field("i", 3, "int64", is_repeated=True),
            Field("f", 4, "float", is_repeated=True),
            Field("b", 5, "bool", is_repeated=True),
            Field("type", 6, "enum DataType", is_repeated=True),
            Field("shape", 7, "TensorShapeProto", is_repeated=True),
            Field("tensor", 8, "TensorProto", is_repeated=True),
        ],
        "NodeDef": [
            Field("name", 1, "string"),
            Field("op", 2, "string"),
            Field("input", 3, "string", is_repeated=True),
            Field("device", 4, "string"),
            Field("attr", 5, "map<string, AttrValue>"),
        ],
        "GraphDef": [
            Field("node", 1, "NodeDef", is_repeated=True),
            Field("versions", 4, "VersionDef"),
        ],
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
    imports=["headrace/checkpoint.proto"],
    enums={
        "DataType": [
            *("DT_INVALID", "DT_FLOAT", "DT_DOUBLE", "DT_INT32", "DT_UINT8", "DT_INT16", "DT_INT8"),
            *("DT_STRING", "DT_COMPLEX64", "DT_INT64", "DT_BOOL", "DT_QINT8", "DT_QUINT8"),
            *("DT_QINT32", "DT_BFLOAT16", "DT_QINT16", "DT_QUINT16", "DT_UINT16", "DT_COMPLEX128"),
            *("DT_HALF", "DT_RESOURCE", "DT_VARIANT", "DT_UINT32", "DT_UINT64"),
        ],
        "SaverDef.CheckpointFormatVersion": ["LEGACY", "V1", "V2"],
    },
)

# Their types are in the stub beside this file.
TensorProto = _MESSAGES["TensorProto"]
AttrValue = _MESSAGES["AttrValue"]
NodeDef = _MESSAGES["NodeDef"]
GraphDef = _MESSAGES["GraphDef"]
VariableDef = _MESSAGES["VariableDef"]
CollectionDef = _MESSAGES["CollectionDef"]
MetaGraphDef = _MESSAGES["MetaGraphDef"]
QueueRunnerDef = _MESSAGES["QueueRunnerDef"]
SaverDef = _MESSAGES["SaverDef"]
