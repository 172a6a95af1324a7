"""Protocol buffer messages of checkpoints, event files and traces.

The messages are wire-compatible with TensorFlow's. Messages for records and graphs are in
`headrace.protos`.
"""

from headrace.tf1.protos.checkpoint import (
    BundleEntryProto,
    BundleHeaderProto,
    CheckpointState,
    TensorSliceProto,
)
from headrace.tf1.protos.event import (
    Event,
    HistogramProto,
    SessionLog,
    Summary,
    TaggedRunMetadata,
)
from headrace.tf1.protos.meta_graph import (
    CollectionDef,
    MetaGraphDef,
    QueueRunnerDef,
    SaverDef,
    VariableDef,
)
from headrace.tf1.protos.run_metadata import (
    CostGraphDef,
    DeviceStepStats,
    NodeExecStats,
    NodeOutput,
    RunMetadata,
    StepStats,
    TensorDescription,
)

__all__ = [
    "BundleEntryProto",
    "BundleHeaderProto",
    "CheckpointState",
    "CollectionDef",
    "CostGraphDef",
    "DeviceStepStats",
    "Event",
    "HistogramProto",
    "MetaGraphDef",
    "NodeExecStats",
    "NodeOutput",
    "QueueRunnerDef",
    "RunMetadata",
    "SaverDef",
    "SessionLog",
    "StepStats",
    "Summary",
    "TaggedRunMetadata",
    "TensorDescription",
    "TensorSliceProto",
    "VariableDef",
]
