"""Protocol buffer messages for records and graphs, wire compatible with TensorFlow's.

They have their own names (`headrace.Example` instead of `tensorflow.Example`) and their own
descriptor pool, so that TensorFlow can be imported in the same process. `headrace.tf1.protos`
contains the messages of checkpoints, event files and traces.
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
