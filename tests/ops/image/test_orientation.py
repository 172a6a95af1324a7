import io

import numpy as np
import pytest
from PIL import Image, ImageOps
from tests.ops.augment.models import computed

import headrace as hr
from headrace import ops

ORIENTATION = 0x0112


def with_orientation(pixels, format, number, **options):
    exif = Image.Exif()
    exif[ORIENTATION] = number
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, format, exif=exif, **options)
    return file.getvalue()


def decoded(file, **options):
    return computed(lambda x: ops.decode_image(x, **options), x=file)


@pytest.mark.parametrize("number", range(1, 9))
@pytest.mark.parametrize("format", ["JPEG", "PNG", "TIFF", "WEBP"])
def test_images_are_turned_upright(photo, format, number):
    options = {"lossless": True} if format == "WEBP" else {}
    file = with_orientation(photo(12, 17), format, number, **options)
    stored = decoded(file)
    assert stored.shape == (12, 17, 3)
    upright = decoded(file, orientation=True)
    # Pillow rotates the pixels that headrace decoded, because Pillow's JPEG decoder differs
    # slightly.
    full = Image.fromarray(stored)
    full.getexif()[ORIENTATION] = number
    assert np.array_equal(upright, np.asarray(ImageOps.exif_transpose(full)))
    assert Image.open(io.BytesIO(file)).getexif()[ORIENTATION] == number


def test_png_orientation_can_follow_the_pixels(photo):
    file = with_orientation(photo(12, 17), "PNG", 6)
    start = file.index(b"eXIf") - 4
    end = start + 12 + int.from_bytes(file[start : start + 4], "big")
    chunk, rest = file[start:end], file[:start] + file[end:]
    moved = rest[:-12] + chunk + rest[-12:]
    assert np.array_equal(decoded(moved, orientation=True), decoded(file, orientation=True))
    assert decoded(moved, orientation=True).shape == (17, 12, 3)


def test_files_without_an_orientation_are_unchanged(photo, saved):
    for format in ("JPEG", "PNG", "GIF", "BMP", "TIFF", "WEBP"):
        file = saved(photo(12, 17), format)
        assert np.array_equal(decoded(file, orientation=True), decoded(file))


def test_damaged_exif_data_changes_nothing(photo):
    file = with_orientation(photo(12, 17), "JPEG", 6)
    position = file.index(b"Exif\0\0") + 6
    for changed in (b"XX", b"II" if file[position : position + 2] == b"MM" else b"MM"):
        other = file[:position] + changed + file[position + 2 :]
        assert decoded(other, orientation=True).shape == (12, 17, 3)


def test_shape_is_known_without_animations(photo):
    file = with_orientation(photo(12, 17), "JPEG", 6)
    function = hr.native(
        lambda e: {"y": ops.decode_image(e["x"], expand_animations=False, orientation=True)}
    )
    [example] = hr.arrays({"x": np.array([file], object)}).map(function)
    assert example["y"].shape == (17, 12, 3)
