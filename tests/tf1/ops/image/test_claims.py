"""Images of few bytes that claim many pixels."""

import io

import pytest
from PIL import Image

import headrace.tf1 as tf
from headrace.core import errors


@pytest.mark.parametrize("options", [{}, {"progressive": True}])
def test_jpeg_too_short_for_its_claimed_size_is_rejected(options):
    data = io.BytesIO()
    Image.new("L", (8, 8)).save(data, "JPEG", **options)
    small = data.getvalue()
    frame = small.index(b"\xff\xc2" if options else b"\xff\xc0")
    # The marker, the length, the precision, the height and the width.
    large = small[: frame + 5] + (13_000).to_bytes(2) * 2 + small[frame + 9 :]
    with tf.Graph().as_default(), tf.Session() as session:
        decoded = tf.image.decode_jpeg(large)
        text = "13000 x 13000 pixels, more than the data can hold"
        with pytest.raises(errors.InvalidArgumentError, match=text):
            session.run(decoded)
        assert session.run(tf.image.decode_jpeg(small)).shape == (8, 8, 1)


def test_large_uniform_jpeg_is_decoded():
    data = io.BytesIO()
    Image.new("L", (8000, 4000), 128).save(data, "JPEG", quality=1, progressive=True)
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(tf.image.decode_jpeg(data.getvalue())).shape == (4000, 8000, 1)
