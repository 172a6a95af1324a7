"""Palettes of BMP files: colours in a pipeline, and numbers as in TensorFlow 1."""

import io

import numpy as np
import pytest
from PIL import Image

import headrace as hr
import headrace.tf1 as tf
from headrace.tf1 import ops


def bmp(pixels, palette):
    """A BMP of 8 bits with these numbers of colours, and the colours."""
    image = Image.fromarray(np.array(pixels, np.uint8)).convert("P")
    image.putdata(np.array(pixels).ravel().tolist())
    image.putpalette(np.array(palette, np.uint8).tobytes())
    data = io.BytesIO()
    image.save(data, "BMP")
    return data.getvalue()


def decoded(data, decode):
    @hr.native
    def image(example):
        return {"image": decode(example["data"])}

    (row,) = hr.arrays({"data": [data]}).map(image)
    return row["image"].tolist()


PIXELS = [[0, 1, 2], [2, 1, 0]]
COLOURS = [[255, 0, 0], [0, 255, 0], [1, 2, 3]]


@pytest.mark.parametrize("decode", [ops.decode_image, ops.decode_bmp])
def test_pipeline_decodes_palette_colours(decode):
    expected = [[COLOURS[number] for number in row] for row in PIXELS]
    assert decoded(bmp(PIXELS, COLOURS), decode) == expected
    greys = [[9, 9, 9], [7, 7, 7], [5, 5, 5]]
    expected = [[[greys[number][0]] for number in row] for row in PIXELS]
    assert decoded(bmp(PIXELS, greys), decode) == expected


def test_tensorflow_1_decoder_returns_palette_indices():
    with tf.Graph().as_default(), tf.Session() as session:
        image = session.run(tf.image.decode_bmp(bmp(PIXELS, COLOURS)))
    assert image[:, :, 0].tolist() == PIXELS
