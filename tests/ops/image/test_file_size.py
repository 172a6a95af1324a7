"""Sizes of images and numbers of patches from the headers of files."""

import io

import numpy as np
import pytest
from PIL import Image
from tests.ops.augment.models import computed
from tests.ops.image.banded_tiffs import banded
from tests.ops.image.written_images import FORMATS, written

import headrace as hr
from headrace import ops
from headrace.ops.image.shape_bucket import crop_to_bucket, shape_bucket

BUCKETS = ((8, 16), (16, 8))
ORIENTATION = 0x0112


def size_of(file, **options):
    return computed(lambda x: ops.image_size(x, **options), x=file).tolist()


def decoded(file, **options):
    return computed(lambda x: ops.decode_image(x, expand_animations=False, **options), x=file)


@pytest.mark.parametrize("format", FORMATS)
def test_size_matches_the_decoded_image(format):
    for number in range(60):
        file = written(format, number).data
        height, width, _ = decoded(file).shape
        assert size_of(file) == [height, width]


@pytest.mark.parametrize("number", range(1, 9))
@pytest.mark.parametrize("format", ["JPEG", "PNG", "TIFF", "WEBP"])
def test_orientation_is_applied_like_the_decoder(photo, format, number):
    exif = Image.Exif()
    exif[ORIENTATION] = number
    file = io.BytesIO()
    Image.fromarray(photo(12, 37)).save(file, format, exif=exif)
    file = file.getvalue()
    upright = decoded(file, orientation=True)
    assert size_of(file, orientation=True) == list(upright.shape[:2])
    assert size_of(file) == [12, 37]

    @hr.native
    def cropped(example):
        bucket = shape_bucket(example["file"], BUCKETS, orientation=True)
        image = crop_to_bucket(example["file"], bucket, BUCKETS, orientation=True)
        return {"bucket": bucket, "image": image}

    result = cropped({"file": file})
    assert int(result["bucket"]) == (number >= 5)
    turned = io.BytesIO()
    Image.fromarray(upright).save(turned, "PNG")
    expected = computed(lambda x: crop_to_bucket(x, 0, BUCKETS[number >= 5 :]), x=turned.getvalue())
    assert np.array_equal(result["image"], expected)


def test_pixels_are_not_read():
    file = banded(np.zeros((30, 50, 7), np.float32))
    assert size_of(file[:-100]) == [30, 50]
    png = io.BytesIO()
    Image.new("RGB", (300, 200)).save(png, "PNG")
    assert size_of(png.getvalue()[:40]) == [200, 300]


def test_damaged_headers_are_rejected():
    for file in (b"", b"GIF89a", b"\xff\xd8\xff", b"II*\0", b"BM", b"\x89PNG\r\n\x1a\n", b"text"):
        with pytest.raises(hr.errors.InvalidArgumentError):
            size_of(file)
    png = io.BytesIO()
    Image.new("RGB", (3, 2)).save(png, "PNG")
    huge = bytearray(png.getvalue())
    huge[16:24] = b"\x7f" * 8
    with pytest.raises(hr.errors.InvalidArgumentError, match="image_size: the image has 213"):
        size_of(bytes(huge))


@pytest.mark.parametrize("options", [{}, {"patch": 16, "merge": 1}, {"max_pixels": 20_000}])
def test_patch_grid_matches_patches(photo, saved, options):
    for height, width in ((60, 90), (333, 41), (500, 700)):
        for format in FORMATS:
            file = saved(photo(height, width), format)
            grid = computed(lambda x: ops.patch_grid(x, **options), x=file)
            assert grid.dtype == np.int64
            patches = computed(lambda x: ops.patches(x, **options).grid, x=file)
            assert grid.tolist() == patches.tolist()
        pixels = photo(height, width)
        grid = computed(lambda x: ops.patch_grid(x, **options), x=pixels)
        assert grid.tolist() == patches.tolist()


def test_patch_grid_follows_the_orientation(photo):
    exif = Image.Exif()
    exif[ORIENTATION] = 6
    file = io.BytesIO()
    Image.fromarray(photo(60, 120)).save(file, "JPEG", exif=exif)
    grid = computed(lambda x: ops.patch_grid(x, orientation=True), x=file.getvalue())
    assert grid.tolist() == [1, 8, 4]
    with pytest.raises(ValueError, match="orientation is True, but the image is already decoded"):
        computed(lambda x: ops.patch_grid(x, orientation=True), x=photo(60, 120))


def test_wrong_arguments_of_patch_grid_are_rejected(photo):
    for options, message in (
        ({"patch": 0}, "patch_grid: patch is 0, expected a positive integer"),
        ({"min_pixels": 9, "max_pixels": 8}, "patch_grid: min_pixels is 9, but max_pixels is on"),
    ):
        with pytest.raises(ValueError, match=message):
            computed(lambda x, options=options: ops.patch_grid(x, **options), x=photo(4, 4))
    with pytest.raises(hr.errors.InvalidArgumentError, match="201 times as long"):
        computed(ops.patch_grid, image=photo(2, 402))
