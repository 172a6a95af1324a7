"""`tf.io`: reading, decoding and parsing under their newer names."""

from typing import TYPE_CHECKING

from headrace.io.compression import TFRecordCompressionType, TFRecordOptions
from headrace.io.records import TFRecordWriter, tf_record_iterator
from headrace.ops.image.decode import (
    decode_and_crop_jpeg,
    decode_bmp,
    decode_gif,
    decode_jpeg,
    decode_png,
    extract_jpeg_shape,
    is_jpeg,
)
from headrace.ops.image.encode import encode_jpeg, encode_png
from headrace.ops.records.decode_compressed import decode_compressed
from headrace.ops.records.features import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    SparseFeature,
    VarLenFeature,
)
from headrace.ops.records.tensor_proto import parse_tensor, serialize_tensor
from headrace.ops.strings.base64 import decode_base64, encode_base64
from headrace.tf1.adapters.image import decode_image
from headrace.tf1.adapters.records import (
    decode_csv,
    decode_raw,
    parse_example,
    parse_single_example,
)
from headrace.tf1.adapters.sparse import serialize_many_sparse, serialize_sparse
from headrace.tf1.input import match_filenames_once
from headrace.tf1.io import gfile
from headrace.tf1.namespace import namespace
from headrace.tf1.ops.queues import PaddingFIFOQueue, PriorityQueue, QueueBase, RandomShuffleQueue
from headrace.tf1.ops.readers.files import matching_files, read_file, write_file
from headrace.tf1.ops.records.parse_sequence_example import (
    parse_sequence_example,
    parse_single_sequence_example,
)
from headrace.tf1.ops.sparse.serialize import deserialize_many_sparse

if TYPE_CHECKING:
    from headrace.tf1.ops.records.decode_json_example import decode_json_example
    from headrace.tf1.saver import write_graph

__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "PaddingFIFOQueue",
    "PriorityQueue",
    "QueueBase",
    "RandomShuffleQueue",
    "SparseFeature",
    "TFRecordCompressionType",
    "TFRecordOptions",
    "TFRecordWriter",
    "VarLenFeature",
    "decode_and_crop_jpeg",
    "decode_base64",
    "decode_bmp",
    "decode_compressed",
    "decode_csv",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_json_example",
    "decode_png",
    "decode_raw",
    "deserialize_many_sparse",
    "encode_base64",
    "encode_jpeg",
    "encode_png",
    "extract_jpeg_shape",
    "gfile",
    "is_jpeg",
    "match_filenames_once",
    "matching_files",
    "parse_example",
    "parse_sequence_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "parse_tensor",
    "read_file",
    "serialize_many_sparse",
    "serialize_sparse",
    "serialize_tensor",
    "tf_record_iterator",
    "write_file",
    "write_graph",
]

# Names that need protocol buffers are loaded on first use.
_LATE = {
    "decode_json_example": "headrace.tf1.ops.records.decode_json_example",
    "write_graph": "headrace.tf1.saver",
}

if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__, _LATE)
