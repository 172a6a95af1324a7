"""Protocol buffer messages of records and graphs, wire compatible with TensorFlow's.

They have names of their own (`headrace.Example`, not `tensorflow.Example`) in a descriptor pool of
their own, so that TensorFlow may be imported in the same process. `headrace.tf1.protos` has the
messages of checkpoints, event files and traces.
"""

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
from headrace.protos.graph import (
    AttrValue,
    GraphDef,
    NodeDef,
    TensorProto,
    TensorShapeProto,
    VersionDef,
)

__all__ = [
    "AttrValue",
    "BytesList",
    "Example",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FloatList",
    "GraphDef",
    "Int64List",
    "NodeDef",
    "SequenceExample",
    "TensorProto",
    "TensorShapeProto",
    "VersionDef",
]
