"""The messages that tell of a run: `RunMetadata` and its step statistics.

Source: `config.proto`, `step_stats.proto`, `tensor_description.proto` and
`allocation_description.proto` of TensorFlow 1.15, without what headrace never writes.
"""

from typing import Final

from headrace.protos.schema import Field, build_messages

__all__ = [
    "DeviceStepStats",
    "NodeExecStats",
    "NodeOutput",
    "RunMetadata",
    "StepStats",
    "TensorDescription",
]

_MESSAGES: Final = build_messages(
    __name__,
    "headrace/run_metadata.proto",
    {
        "AllocationDescription": [
            Field("requested_bytes", 1, "int64"),
            Field("allocated_bytes", 2, "int64"),
            Field("allocator_name", 3, "string"),
        ],
        "TensorDescription": [
            Field("dtype", 1, "enum DataType"),
            Field("shape", 2, "TensorShapeProto"),
            Field("allocation_description", 4, "AllocationDescription"),
        ],
        "NodeOutput": [
            Field("slot", 1, "int32"),
            Field("tensor_description", 3, "TensorDescription"),
        ],
        "NodeExecStats": [
            Field("node_name", 1, "string"),
            Field("all_start_micros", 2, "int64"),
            Field("op_start_rel_micros", 3, "int64"),
            Field("op_end_rel_micros", 4, "int64"),
            Field("all_end_rel_micros", 5, "int64"),
            Field("output", 7, "NodeOutput", is_repeated=True),
            Field("timeline_label", 8, "string"),
            Field("scheduled_micros", 9, "int64"),
            Field("thread_id", 10, "uint32"),
        ],
        "DeviceStepStats": [
            Field("device", 1, "string"),
            Field("node_stats", 2, "NodeExecStats", is_repeated=True),
        ],
        "StepStats": [Field("dev_stats", 1, "DeviceStepStats", is_repeated=True)],
        "RunMetadata": [
            Field("step_stats", 1, "StepStats"),
            Field("partition_graphs", 3, "GraphDef", is_repeated=True),
        ],
    },
    imports=["headrace/checkpoint.proto", "headrace/meta_graph.proto"],
)

# Their types are in the stub beside this file.
TensorDescription = _MESSAGES["TensorDescription"]
NodeOutput = _MESSAGES["NodeOutput"]
NodeExecStats = _MESSAGES["NodeExecStats"]
DeviceStepStats = _MESSAGES["DeviceStepStats"]
StepStats = _MESSAGES["StepStats"]
RunMetadata = _MESSAGES["RunMetadata"]
