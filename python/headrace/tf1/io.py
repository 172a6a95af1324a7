"""`tf.io`: reading, decoding and parsing under their newer names."""

from headrace.compression import TFRecordCompressionType, TFRecordOptions
from headrace.ops.decode_csv import decode_csv
from headrace.ops.decoding import decode_raw
from headrace.ops.parsing import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    SparseFeature,
    VarLenFeature,
    parse_example,
    parse_single_example,
)
from headrace.ops.queues import PaddingFIFOQueue, PriorityQueue, QueueBase, RandomShuffleQueue
from headrace.records import TFRecordWriter, tf_record_iterator

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
    "decode_csv",
    "decode_raw",
    "parse_example",
    "parse_single_example",
    "tf_record_iterator",
]
