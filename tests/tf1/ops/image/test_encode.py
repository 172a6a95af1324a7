import io

import numpy as np
import pytest
from PIL import Image

import headrace.tf1 as tf


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("progressive", [False, True])
def test_encoded_jpegs_decode_the_same_with_pillow(run, photo, pillow, channels, progressive):
    pixels = photo(30, 45, channels)
    file = run(tf.image.encode_jpeg(pixels, progressive=progressive))
    image = run(tf.image.decode_jpeg(file, dct_method="INTEGER_ACCURATE"))
    assert np.array_equal(image, pillow(file))
    assert np.abs(image.astype(int) - pixels).mean() < 4
    assert ("progressive" in Image.open(io.BytesIO(file)).info) == progressive


def test_encoded_jpegs_match_libjpeg(run, photo, saved):
    pixels = photo(30, 45)
    ours = run(tf.image.encode_jpeg(pixels, quality=80, chroma_downsampling=False))
    theirs = saved(pixels, "JPEG", quality=80, subsampling="4:4:4", dpi=(300, 300))
    assert ours == theirs


def test_quality_and_chroma_make_a_file_larger(run, photo):
    pixels = photo(64, 64)
    options = [{"quality": 10}, {"quality": 60}, {}, {"chroma_downsampling": False}]
    sizes = [len(run(tf.image.encode_jpeg(pixels, **choice))) for choice in options]
    assert sizes == sorted(sizes)
    assert len(run(tf.image.encode_jpeg(pixels, optimize_size=True))) < sizes[2]


def test_density_and_metadata_are_in_the_header(run, photo):
    encode = tf.image.encode_jpeg(
        photo(8, 8), density_unit="cm", x_density=7, y_density=9, xmp_metadata="<x/>"
    )
    info = Image.open(io.BytesIO(run(encode))).info
    assert (info["jfif_unit"], info["jfif_density"]) == (2, (7, 9))
    assert info["xmp"] == b"<x/>"


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("compression", [-1, 0, 9])
def test_png_keeps_every_pixel(run, photo, pillow, channels, compression):
    pixels = photo(14, 9, channels)
    file = run(tf.image.encode_png(pixels, compression))
    assert np.array_equal(pillow(file), pixels)
    assert np.array_equal(run(tf.image.decode_png(file)), pixels)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"format": "cmyk"}, "format must be '', grayscale or rgb, got cmyk"),
        ({"format": "grayscale"}, r"format grayscale expects 1 channels, got \[4,4,3\]"),
        ({"quality": 101}, r"quality must be in \[0,100\], got 101"),
        ({"density_unit": "m"}, "density_unit must be 'in' or 'cm', got 'm'"),
        ({"x_density": -1}, r"x_density must be in \[0,65535\], got -1"),
    ],
)
def test_invalid_options_are_rejected(run, photo, options, text):
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        run(tf.image.encode_jpeg(photo(4, 4), **options))


def test_invalid_pixel_arrays_are_rejected(run, hidden):
    for encode, shape, text in [
        (tf.image.encode_jpeg, (4, 4, 2), r"image must have 1 or 3 channels, got \[4,4,2\]"),
        (tf.image.encode_jpeg, (4, 4), r"image must be 3-dimensional, got shape \[4,4\]"),
        (tf.image.encode_jpeg, (0, 4, 3), "JPEG encoding failed: .* 0x4 pixels"),
        (tf.image.encode_png, (4, 4, 5), "image must have 1, 2, 3, or 4 channels, got 5"),
        (tf.image.encode_png, (0, 4, 3), r"PNG encoding failed: .* image of shape \[0,4,3\]"),
    ]:
        with pytest.raises(tf.errors.InvalidArgumentError, match=text):
            run(encode(hidden(np.zeros(shape, np.uint8))))
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"compression should be in \[-1,9\], got 10"
    ):
        run(tf.image.encode_png(np.zeros((1, 1, 1), np.uint8), 10))
    with pytest.raises(ValueError, match="Shape must be rank 3 but is rank 2 for 'EncodePng"):
        tf.image.encode_png(np.zeros((1, 1), np.uint8))
    with pytest.raises(TypeError, match="float32"):
        tf.image.encode_jpeg(tf.zeros([1, 1, 3]))
