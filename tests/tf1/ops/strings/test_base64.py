import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace.tf1 as tf


def test_encoded_letters_are_url_safe(run):
    encoded = tf.encode_base64([["~~?", "fo"]])
    assert (encoded.dtype, encoded.shape.as_list()) == (tf.string, [1, 2])
    assert run(encoded).tolist() == [[b"fn4_", b"Zm8"]]
    assert run(tf.io.encode_base64("fo", pad=True)) == b"Zm8="


@given(st.binary(max_size=40), st.booleans())
def test_encoded_bytes_round_trip(value, pad):
    with tf.Graph().as_default(), tf.Session() as session:
        encoded = tf.encode_base64(value, pad)
        letters, decoded = session.run([encoded, tf.decode_base64(encoded)])
    expected = base64.urlsafe_b64encode(value)
    assert (letters, decoded) == (expected if pad else expected.rstrip(b"="), value)


def test_invalid_base64_is_rejected(run):
    with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid character found in base64"):
        run(tf.decode_base64("Z+/="))
    with pytest.raises(tf.errors.InvalidArgumentError, match="length cannot be 1 modulo 4"):
        run(tf.io.decode_base64("Zm9vY"))
    with pytest.raises(TypeError, match="Expected bool for argument 'pad' not 1"):
        tf.encode_base64("a", pad=1)
    with pytest.raises(TypeError, match="Expected string passed to parameter 'input'"):
        tf.decode_base64(5)
