"""Equality with the image processors of transformers; `make test-frameworks` installs it."""

import numpy as np
import pytest

import headrace as hr
from headrace import ops

pytest.importorskip("torchvision")
transformers = pytest.importorskip("transformers")

CLIP = {"mean": [0.48145466, 0.4578275, 0.40821073], "std": [0.26862954, 0.26130258, 0.27577711]}


def cut(image, **options):
    result = hr.native(lambda e: ops.patches(e["image"], **options)._asdict())({"image": image})
    return result["pixel_values"], result["grid"]


def processed(processor, image):
    result = processor([image], input_data_format="channels_last", return_tensors="np")
    return np.asarray(result["pixel_values"]), np.asarray(result["image_grid_thw"])[0]


def sizes(rng, count):
    # PyTorch cannot resize images that are one pixel wide.
    yield from [(1, 2), (1, 200), (400, 2), (5, 1000), (27, 29), (2000, 30), (28, 28), (1, 7)]
    for _ in range(count):
        height, width = np.exp(rng.uniform(0.7, 7.3, 2)).astype(int)
        if max(height, width) <= 200 * min(height, width):
            yield height, width


def test_patches_match_the_torchvision_processor(photo):
    rng = np.random.default_rng(11)
    processor = transformers.Qwen2VLImageProcessor(do_normalize=False)
    for height, width in sizes(rng, 60):
        image = photo(height, width)
        if rng.random() < 0.5:
            image = rng.integers(0, 2, image.shape, np.uint8) * 255
        values, grid = cut(image)
        expected, expected_grid = processed(processor, image)
        assert grid.tolist() == expected_grid.tolist()
        assert abs(values - expected).max() < 1e-6, (height, width)


def test_patches_almost_match_the_pillow_processor(photo):
    rng = np.random.default_rng(12)
    processor = transformers.Qwen2VLImageProcessorPil(do_normalize=False)
    for height, width in sizes(rng, 40):
        image = photo(height, width)
        values, grid = cut(image)
        expected, expected_grid = processed(processor, image)
        assert grid.tolist() == expected_grid.tolist()
        # Pillow 13 resizes some images along the rows first.
        differences = abs(values - expected) * 255
        assert (differences > 1.01).mean() < 0.001, (height, width)


def test_normalized_patches_match_the_processor(photo):
    image = photo(333, 222)
    expected, _ = processed(transformers.Qwen2VLImageProcessor(), image)
    values, _ = cut(image, **CLIP)
    assert abs(values - expected).max() < 1e-5


@pytest.mark.parametrize(
    "options",
    [
        {"patch_size": 16, "merge_size": 2},
        {"merge_size": 1, "min_pixels": 200_000, "max_pixels": 300_000},
        {"temporal_patch_size": 1, "max_pixels": 20_000},
    ],
)
def test_patches_with_options_match_the_processor(photo, options):
    image = photo(150, 470)
    ours = {
        name.removesuffix("_patch_size").removesuffix("_size"): value
        for name, value in options.items()
    }
    values, grid = cut(image, **ours)
    processor = transformers.Qwen2VLImageProcessor(do_normalize=False, **options)
    expected, expected_grid = processed(processor, image)
    assert grid.tolist() == expected_grid.tolist()
    assert abs(values - expected).max() < 1e-6


def test_images_that_are_too_long_are_rejected(photo):
    image = photo(2, 402)
    with pytest.raises(ValueError, match="aspect ratio"):
        processed(transformers.Qwen2VLImageProcessor(), image)
    with pytest.raises(hr.errors.InvalidArgumentError, match="201 times"):
        cut(image)
