import gzip
import re
import zlib

import pytest

import headrace.tf1 as tf

G, Z = gzip.compress(b"abc", mtime=0), zlib.compress(b"abc")
HEADER = "inflate() failed with error -3: incorrect header check. "


@pytest.mark.parametrize(
    ("compression", "data", "expected"),
    [
        *(("", G, G), ("", b"", b""), ("GZIP", G, b"abc"), ("ZLIB", Z, b"abc")),
        *(("GZIP", b"", b""), ("ZLIB", b"", b""), ("GZIP", gzip.compress(b"", mtime=0), b"")),
        *(("GZIP", G + G, b"abcabc"), ("ZLIB", Z + Z, b"abc"), ("ZLIB", Z + b"junk", b"abc")),
        *(("GZIP", G[:-4], b"abc"), ("ZLIB", Z[:-2], b"abc")),
        ("GZIP", gzip.compress(b"x" * 3_000_000, mtime=0), b"x" * 3_000_000),
    ],
)
def test_string_is_decompressed(run, compression, data, expected):
    assert run(tf.decode_compressed(data, compression)) == expected


def test_every_string_of_a_tensor_is_decompressed(run):
    result = tf.io.decode_compressed([[Z, zlib.compress(b"d")]], "ZLIB")
    assert (result.op.name, result.dtype, result.shape) == ("DecodeCompressed", tf.string, [1, 2])
    assert run(result).tolist() == [[b"abc", b"d"]]


@pytest.mark.parametrize(
    ("compression", "data", "text"),
    [
        ("ZLIB", b"abc", f"{HEADER}It does not look compressed; read it without compression."),
        ("ZLIB", G, f"{HEADER}It looks like GZIP; set the compression to GZIP."),
        ("GZIP", Z, f"{HEADER}It looks like ZLIB; set the compression to ZLIB."),
        ("GZIP", G + b"junk", f"{HEADER}It is damaged; copy it again."),
        ("ZLIB", Z[:-1] + b"?", "inflate() failed with error -3: incorrect data check."),
    ],
)
def test_damage_is_distinguished_from_a_wrong_compression(run, compression, data, text):
    with pytest.raises(tf.errors.DataLossError, match=re.escape(text)):
        run(tf.decode_compressed(data, compression))


@pytest.mark.parametrize("compression", ["BZ2", "NONE", "gzip"])
def test_unknown_compression_is_rejected_at_run_time(run, compression):
    text = "Only ZLIB, GZIP or NONE are supported compressions"
    with pytest.raises(tf.errors.InvalidArgumentError, match=text) as caught:
        run(tf.decode_compressed(b"a", compression))
    assert caught.value.op.name == "DecodeCompressed"


def test_only_strings_can_be_decompressed():
    with pytest.raises(TypeError, match="Expected string passed to parameter 'bytes'"):
        tf.decode_compressed(1)
