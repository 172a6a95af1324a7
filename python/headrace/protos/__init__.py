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
    "Example",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FloatList",
    "Int64List",
    "SequenceExample",
    "TensorShapeProto",
    "TensorSliceProto",
    "VersionDef",
]
