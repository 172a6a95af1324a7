"""`tf.python_io`, and the options of readers of records."""

import re

import pytest

import headrace.tf1 as tf

Kind = tf.python_io.TFRecordCompressionType
Options = tf.python_io.TFRecordOptions


def test_tf_io_has_the_same_classes():
    assert tf.io.tf_record_iterator is tf.python_io.tf_record_iterator
    assert tf.io.TFRecordWriter is tf.python_io.TFRecordWriter


@pytest.mark.parametrize(
    ("options", "name"),
    [
        *((None, ""), ("GZIP", "GZIP"), ("ZLIB", "ZLIB"), (Kind.NONE, "")),
        *((Kind.ZLIB, "ZLIB"), (Options(), ""), (Options("GZIP"), "GZIP")),
    ],
)
def test_reader_accepts_every_form_of_compression_option(options, name):
    op = tf.TFRecordReader(options=options).reader_ref.op
    assert op.get_attr("compression_type") == name.encode()


@pytest.mark.parametrize("options", ["BZ2", "gzip", 3])
def test_reader_rejects_unknown_compressions(options):
    with pytest.raises(ValueError, match=re.escape(f'Not a valid compression_type: "{options}"')):
        tf.TFRecordReader(options=options)
