"""The messages in TFRecord files: `Example` and `SequenceExample`.

Source: `tensorflow/core/example/example.proto` and `feature.proto`.
"""

from typing import Final

from headrace.protos.schema import Field, build_messages

__all__ = [
    "BytesList",
    "Example",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FloatList",
    "Int64List",
    "SequenceExample",
]

_MESSAGES: Final = build_messages(
    __name__,
    "headrace/example.proto",
    {
        "BytesList": [Field("value", 1, "bytes", is_repeated=True)],
        "FloatList": [Field("value", 1, "float", is_repeated=True)],
        "Int64List": [Field("value", 1, "int64", is_repeated=True)],
        "Feature": [
            Field("bytes_list", 1, "BytesList", oneof="kind"),
            Field("float_list", 2, "FloatList", oneof="kind"),
            Field("int64_list", 3, "Int64List", oneof="kind"),
        ],
        "Features": [Field("feature", 1, "map<string, Feature>")],
        "FeatureList": [Field("feature", 1, "Feature", is_repeated=True)],
        "FeatureLists": [Field("feature_list", 1, "map<string, FeatureList>")],
        "Example": [Field("features", 1, "Features")],
        "SequenceExample": [
            Field("context", 1, "Features"),
            Field("feature_lists", 2, "FeatureLists"),
        ],
    },
)

# The stub next to this file contains their types.
BytesList = _MESSAGES["BytesList"]
FloatList = _MESSAGES["FloatList"]
Int64List = _MESSAGES["Int64List"]
Feature = _MESSAGES["Feature"]
Features = _MESSAGES["Features"]
FeatureList = _MESSAGES["FeatureList"]
FeatureLists = _MESSAGES["FeatureLists"]
Example = _MESSAGES["Example"]
SequenceExample = _MESSAGES["SequenceExample"]
