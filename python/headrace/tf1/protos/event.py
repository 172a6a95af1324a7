"""Messages in TensorBoard's event files: `Event` and `Summary`.

Source: `tensorflow/core/util/event.proto` and `tensorflow/core/framework/summary.proto` of
    TensorFlow 1.15, as far as they are used here. Other fields are preserved. Enums are plain
    integers here, with the same wire format.
"""

from typing import Final

from headrace.protos.schema import Field, build_messages

__all__ = ["Event", "HistogramProto", "SessionLog", "Summary", "TaggedRunMetadata"]

_MESSAGES: Final = build_messages(
    __name__,
    "headrace/event.proto",
    {
        "HistogramProto": [
            Field("min", 1, "double"),
            Field("max", 2, "double"),
            Field("num", 3, "double"),
            Field("sum", 4, "double"),
            Field("sum_squares", 5, "double"),
            Field("bucket_limit", 6, "double", is_repeated=True),
            Field("bucket", 7, "double", is_repeated=True),
        ],
        "Summary": [Field("value", 1, "Summary.Value", is_repeated=True)],
        "Summary.Image": [
            Field("height", 1, "int32"),
            Field("width", 2, "int32"),
            Field("colorspace", 3, "int32"),  # The number of channels
            Field("encoded_image_string", 4, "bytes"),
        ],
        "Summary.Value": [
            Field("tag", 1, "string"),
            Field("simple_value", 2, "float", oneof="value"),
            Field("image", 4, "Summary.Image", oneof="value"),
            Field("histo", 5, "HistogramProto", oneof="value"),
            Field("node_name", 7, "string"),
        ],
        "SessionLog": [
            Field("status", 1, "enum SessionStatus"),
            Field("checkpoint_path", 2, "string"),
            Field("msg", 3, "string"),
        ],
        "TaggedRunMetadata": [
            Field("tag", 1, "string"),
            Field("run_metadata", 2, "bytes"),
        ],
        "Event": [
            Field("wall_time", 1, "double"),
            Field("step", 2, "int64"),
            Field("file_version", 3, "string", oneof="what"),
            Field("graph_def", 4, "bytes", oneof="what"),
            Field("summary", 5, "Summary", oneof="what"),
            Field("session_log", 7, "SessionLog", oneof="what"),
            Field("tagged_run_metadata", 8, "TaggedRunMetadata", oneof="what"),
        ],
    },
    enums={
        "SessionLog.SessionStatus": ("STATUS_UNSPECIFIED", "START", "STOP", "CHECKPOINT"),
    },
)

# The types are in the stub next to this file.
HistogramProto = _MESSAGES["HistogramProto"]
Summary = _MESSAGES["Summary"]
SessionLog = _MESSAGES["SessionLog"]
TaggedRunMetadata = _MESSAGES["TaggedRunMetadata"]
Event = _MESSAGES["Event"]
