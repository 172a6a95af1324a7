"""`tf.python_io`: files of records without a graph."""

from headrace.compression import TFRecordCompressionType, TFRecordOptions
from headrace.records import TFRecordWriter, tf_record_iterator

__all__ = ["TFRecordCompressionType", "TFRecordOptions", "TFRecordWriter", "tf_record_iterator"]
