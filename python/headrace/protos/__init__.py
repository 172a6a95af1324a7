"""Protocol buffer messages that files carry, wire compatible with TensorFlow's.

They have names of their own (`headrace.Example`, not `tensorflow.Example`) in a descriptor pool of
their own, so that TensorFlow may be imported in the same process.
"""

from headrace.protos.checkpoint import (
    BundleEntryProto,
    BundleHeaderProto,
    CheckpointState,
    TensorShapeProto,
    TensorSliceProto,
    VersionDef,
)
from headrace.protos.event import Event, HistogramProto, SessionLog, Summary, TaggedRunMetadata
from headrace.protos.example import (
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
from headrace.protos.meta_graph import (
    AttrValue,
    CollectionDef,
    GraphDef,
    MetaGraphDef,
    NodeDef,
    QueueRunnerDef,
    SaverDef,
    TensorProto,
    VariableDef,
)
from headrace.protos.run_metadata import (
    CostGraphDef,
    DeviceStepStats,
    NodeExecStats,
    NodeOutput,
    RunMetadata,
    StepStats,
    TensorDescription,
)

__all__ = [
    "AttrValue",
    "BundleEntryProto",
    "BundleHeaderProto",
    "BytesList",
    "CheckpointState",
    "CollectionDef",
    "CostGraphDef",
    "DeviceStepStats",
    "Event",
    "Example",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FloatList",
    "GraphDef",
    "HistogramProto",
    "Int64List",
    "MetaGraphDef",
    "NodeDef",
    "NodeExecStats",
    "NodeOutput",
    "QueueRunnerDef",
    "RunMetadata",
    "SaverDef",
    "SequenceExample",
    "SessionLog",
    "StepStats",
    "Summary",
    "TaggedRunMetadata",
    "TensorDescription",
    "TensorProto",
    "TensorShapeProto",
    "TensorSliceProto",
    "VariableDef",
    "VersionDef",
]
