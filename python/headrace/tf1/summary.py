"""`tf.summary`: scalars, histograms and images for TensorBoard."""

from typing import TYPE_CHECKING

from headrace.tf1.namespace import namespace
from headrace.tf1.ops.summary.histogram import histogram
from headrace.tf1.ops.summary.image import image
from headrace.tf1.ops.summary.merge import merge, merge_all
from headrace.tf1.ops.summary.scalar import scalar

if TYPE_CHECKING:
    from headrace.tf1.events import FileWriter, FileWriterCache
    from headrace.tf1.protos import Event, SessionLog, Summary, TaggedRunMetadata

__all__ = [
    "Event",
    "FileWriter",
    "FileWriterCache",
    "SessionLog",
    "Summary",
    "TaggedRunMetadata",
    "histogram",
    "image",
    "merge",
    "merge_all",
    "scalar",
]

# Names that need protocol buffers are loaded on first use.
_LATE = {
    **dict.fromkeys(("FileWriter", "FileWriterCache"), "headrace.tf1.events"),
    **dict.fromkeys(("Event", "SessionLog", "Summary", "TaggedRunMetadata"), "headrace.tf1.protos"),
}

if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__, _LATE)
