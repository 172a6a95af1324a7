"""The bucket of an image file, and the pixels of its bucket's shape."""

import io

import numpy as np
import pytest
from PIL import Image

import headrace as hr
from headrace.ops.image.shape_bucket import crop_to_bucket, shape_bucket

BUCKETS = ((8, 16), (8, 8), (16, 8))


@hr.native
def cropped(example):
    bucket = shape_bucket(example["file"], BUCKETS)
    return {"bucket": bucket, "image": crop_to_bucket(example["file"], bucket, BUCKETS)}


@pytest.mark.parametrize("mode", ["RGB", "L", "P", "RGBA"])
def test_result_has_three_channels(mode):
    file = io.BytesIO()
    Image.new(mode, (40, 20)).save(file, "PNG")
    output = cropped({"file": file.getvalue()})
    assert (int(output["bucket"]), output["image"].shape) == (0, (8, 16, 3))
    assert output["image"].dtype == np.uint8


@pytest.mark.parametrize("options", [{}, {"lossless": True}, {"exif": b"Exif\0\0"}])
def test_shape_of_each_kind_of_webp_is_read(options):
    file = io.BytesIO()
    Image.new("RGB", (20, 45)).save(file, "WEBP", **options)
    assert int(cropped({"file": file.getvalue()})["bucket"]) == 2


def test_non_image_file_is_rejected():
    for file in (b"", b"GIF89a", b"\xff\xd8\xff"):
        with pytest.raises(hr.errors.InvalidArgumentError):
            cropped({"file": file})
