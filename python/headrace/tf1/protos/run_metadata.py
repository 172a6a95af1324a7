"""The messages that describe a run: `RunMetadata` and its step statistics.

Source: `config.proto`, `cost_graph.proto`, `step_stats.proto`, `tensor_description.proto` and
`allocation_description.proto` in TensorFlow 1.15, without the fields that headrace never writes.
"""

from typing import Final

from headrace.protos import graph as _graph  # noqa: F401  (the messages that fields have)
from headrace.protos.schema import Field, build_messages

__all__ = [
    "CostGraphDef",
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
        "CostGraphDef": [Field("node", 1, "CostGraphDef.Node", is_repeated=True)],
        "CostGraphDef.Node": [
            Field("name", 1, "string"),
            Field("device", 2, "string"),
            Field("id", 3, "int32"),
            Field("input_info", 4, "CostGraphDef.Node.InputInfo", is_repeated=True),
            Field("output_info", 5, "CostGraphDef.Node.OutputInfo", is_repeated=True),
            Field("temporary_memory_size", 6, "int64"),
            Field("is_final", 7, "bool"),
            Field("control_input", 8, "int32", is_repeated=True),
            Field("compute_cost", 9, "int64"),
            Field("persistent_memory_size", 12, "int64"),
            Field("compute_time", 14, "int64"),
            Field("memory_time", 15, "int64"),
        ],
        "CostGraphDef.Node.InputInfo": [
            Field("preceding_node", 1, "int32"),
            Field("preceding_port", 2, "int32"),
        ],
        "CostGraphDef.Node.OutputInfo": [
            Field("size", 1, "int64"),
            Field("alias_input_port", 2, "int64"),
            Field("shape", 3, "TensorShapeProto"),
            Field("dtype", 4, "enum DataType"),
        ],
        "RunMetadata": [
            Field("step_stats", 1, "StepStats"),
            Field("cost_graph", 2, "CostGraphDef"),
            Field("partition_graphs", 3, "GraphDef", is_repeated=True),
        ],
    },
    imports=["headrace/graph.proto"],
)

# The types are in the stub next to this file.
TensorDescription = _MESSAGES["TensorDescription"]
NodeOutput = _MESSAGES["NodeOutput"]
NodeExecStats = _MESSAGES["NodeExecStats"]
DeviceStepStats = _MESSAGES["DeviceStepStats"]
StepStats = _MESSAGES["StepStats"]
CostGraphDef = _MESSAGES["CostGraphDef"]
RunMetadata = _MESSAGES["RunMetadata"]
