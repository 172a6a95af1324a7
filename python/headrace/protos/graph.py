"""The messages that describe a graph: `GraphDef`, its nodes and their constants.

Source: `graph.proto`, `node_def.proto`, `attr_value.proto`, `tensor.proto`, `tensor_shape.proto`,
`versions.proto` and `types.proto` in TensorFlow 1.15, without fields that headrace never writes.
`DataType` lacks the numbers of reference types, but they can be read and written.
"""

from typing import Final

from headrace.protos.schema import Field, build_messages

__all__ = [
    "AttrValue",
    "GraphDef",
    "NodeDef",
    "TensorProto",
    "TensorShapeProto",
    "VersionDef",
]

_MESSAGES: Final = build_messages(
    __name__,
    "headrace/graph.proto",
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
    },
    enums={
        "DataType": [
            *("DT_INVALID", "DT_FLOAT", "DT_DOUBLE", "DT_INT32", "DT_UINT8", "DT_INT16", "DT_INT8"),
            *("DT_STRING", "DT_COMPLEX64", "DT_INT64", "DT_BOOL", "DT_QINT8", "DT_QUINT8"),
            *("DT_QINT32", "DT_BFLOAT16", "DT_QINT16", "DT_QUINT16", "DT_UINT16", "DT_COMPLEX128"),
            *("DT_HALF", "DT_RESOURCE", "DT_VARIANT", "DT_UINT32", "DT_UINT64"),
        ],
    },
)

# The stub next to this file contains their types.
VersionDef = _MESSAGES["VersionDef"]
TensorShapeProto = _MESSAGES["TensorShapeProto"]
TensorProto = _MESSAGES["TensorProto"]
AttrValue = _MESSAGES["AttrValue"]
NodeDef = _MESSAGES["NodeDef"]
GraphDef = _MESSAGES["GraphDef"]
