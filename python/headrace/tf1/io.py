"""`tf.io`: reading, decoding and parsing under their newer names."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from headrace.compression import TFRecordCompressionType, TFRecordOptions
from headrace.input import match_filenames_once
from headrace.ops.decode_csv import decode_csv
from headrace.ops.decoding import decode_raw
from headrace.ops.decompression import decode_compressed
from headrace.ops.features import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    SparseFeature,
    VarLenFeature,
)
from headrace.ops.files import matching_files, read_file, write_file
from headrace.ops.image.decoding import (
    decode_and_crop_jpeg,
    decode_bmp,
    decode_gif,
    decode_image,
    decode_jpeg,
    decode_png,
    extract_jpeg_shape,
    is_jpeg,
)
from headrace.ops.image.encoding import encode_jpeg, encode_png
from headrace.ops.parsing import parse_example, parse_single_example
from headrace.ops.queues import PaddingFIFOQueue, PriorityQueue, QueueBase, RandomShuffleQueue
from headrace.ops.sequence_parsing import parse_single_sequence_example
from headrace.ops.tensor_protos import parse_tensor, serialize_tensor
from headrace.records import TFRecordWriter, tf_record_iterator

if TYPE_CHECKING:
    from headrace.ops.json_example import decode_json_example

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
    "decode_bmp",
    "decode_compressed",
    "decode_csv",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_json_example",
    "decode_png",
    "decode_raw",
    "encode_jpeg",
    "encode_png",
    "extract_jpeg_shape",
    "is_jpeg",
    "match_filenames_once",
    "matching_files",
    "parse_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "parse_tensor",
    "read_file",
    "serialize_tensor",
    "tf_record_iterator",
    "write_file",
]


def __getattr__(name: str) -> Any:
    # It needs protocol buffers, which take longer to load than all the rest.
    if name != "decode_json_example":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module("headrace.ops.json_example").decode_json_example
