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
from headrace.protos.event import Event, GraphDef, HistogramProto, SessionLog, Summary
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

__all__ = [
    "BundleEntryProto",
    "BundleHeaderProto",
    "BytesList",
    "CheckpointState",
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
    "SequenceExample",
    "SessionLog",
    "Summary",
    "TensorShapeProto",
    "TensorSliceProto",
    "VersionDef",
]
