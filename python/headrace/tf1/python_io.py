"""`tf.python_io`: record files without a graph."""

from typing import TYPE_CHECKING

from headrace.io.compression import TFRecordCompressionType, TFRecordOptions
from headrace.io.records import TFRecordWriter, tf_record_iterator
from headrace.tf1.namespace import namespace

__all__ = ["TFRecordCompressionType", "TFRecordOptions", "TFRecordWriter", "tf_record_iterator"]

if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__)
