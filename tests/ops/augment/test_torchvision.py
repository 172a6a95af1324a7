"""Equality with torchvision for fixed parameters; `make test-frameworks` installs it."""

import math

import numpy as np
import pytest
from tests.ops.augment.models import computed, drawn

from headrace import ops
from headrace.ops.augment.arguments import LAYOUTS
from headrace.ops.augment.color_jitter import _jittered
from headrace.ops.augment.mixing import _cut, _mixed
from headrace.ops.augment.policies import _augmented
from headrace.ops.augment.random_erasing import _erased
from headrace.ops.image.resized_crop import _cropped

torch = pytest.importorskip("torch")
v2 = pytest.importorskip("torchvision.transforms.v2")
F = v2.functional

SIZES = [(40, 56), (33, 47), (224, 224)]
CHANGES = (
    *("Identity", "ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate", "Brightness"),
    *("Color", "Contrast", "Sharpness", "Posterize", "Solarize", "AutoContrast", "Equalize"),
)
OF_PLACES = CHANGES[1:6]


def planes(image):
    return torch.from_numpy(np.ascontiguousarray(image.transpose(2, 0, 1)))


def pixels(tensor):
    return tensor.numpy().transpose(1, 2, 0)


def check(actual, expected, most=1, share=0.02):
    """Checks that few pixels differ, and by no more than `most`."""
    difference = abs(actual.astype(int) - expected)
    assert difference.max() <= most
    assert (difference > 0).mean() <= share


def changed(transform_id, image, strength, interpolation, fill):
    policy = v2.RandAugment(interpolation=interpolation, fill=fill)
    result = policy._apply_image_or_video_transform(
        planes(image), transform_id, strength, v2.InterpolationMode(interpolation), policy._fill
    )
    return pixels(result)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("factor", [0.0, 0.3, 0.9, 1.3, 2.5])
def test_color_jitter_matches_torchvision(photo, size, channels, factor):
    image = photo(*size, channels)
    factor = float(np.float32(factor))

    def jittered(*factors):
        keys = np.arange(4, dtype=np.float32)
        return computed(lambda x: _jittered(x, np.float32(factors), keys), x=image)

    check(jittered(factor, 1, 1, 0), pixels(F.adjust_brightness(planes(image), factor)), 0)
    check(jittered(1, factor, 1, 0), pixels(F.adjust_contrast(planes(image), factor)))
    check(jittered(1, 1, factor, 0), pixels(F.adjust_saturation(planes(image), factor)))
    turn = float(np.float32(factor / 5 - 0.25))
    check(jittered(1, 1, 1, turn), pixels(F.adjust_hue(planes(image), turn)))


@pytest.mark.parametrize("interpolation", ["nearest", "bilinear"])
@pytest.mark.parametrize("fill", [None, 0, (10, 20, 30)])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("size", SIZES)
def test_rand_augment_operations_match_torchvision(photo, interpolation, fill, change, size):
    image = photo(*size)
    values = [] if fill is None else list(np.float64(np.atleast_1d(fill)))
    for magnitude in (0, 9, 17, 30):
        attrs = {"magnitude": magnitude, "num_magnitude_bins": 31}
        attrs |= {"interpolation": interpolation, "fill": values}
        magnitudes, is_signed = v2.RandAugment._AUGMENTATION_SPACE[change]
        table = magnitudes(31, *size)
        strength = 0.0 if table is None else float(table[magnitude])
        for sign in (1, -1) if is_signed else (1,):
            draws = np.float32([(CHANGES.index(change) + 0.5) / 14, 0.75 if sign > 0 else 0.25])
            result = computed(lambda x: _augmented("RandAugment", x, draws, attrs), x=image)  # noqa: B023
            expected = changed(change, image, sign * strength, interpolation, fill)
            # A few pixels may be rounded to either neighbour.
            is_placed = change in OF_PLACES and interpolation == "nearest"
            check(result, expected, 255 if is_placed else 1, 0.1)


@pytest.mark.parametrize("change", CHANGES)
def test_trivial_augment_operations_match_torchvision(photo, change):
    image = photo()
    for bin in (0, 11, 30):
        attrs = {"num_magnitude_bins": 31, "interpolation": "nearest", "fill": []}
        magnitudes, _ = v2.TrivialAugmentWide._AUGMENTATION_SPACE[change]
        table = magnitudes(31, 40, 56)
        strength = 0.0 if table is None else float(table[bin])
        draws = np.float32([(CHANGES.index(change) + 0.5) / 14, 0.75, (bin + 0.5) / 31])
        result = computed(lambda x: _augmented("TrivialAugment", x, draws, attrs), x=image)  # noqa: B023
        expected = changed(change, image, strength, "nearest", None)
        check(result, expected, 255 if change in OF_PLACES else 1, 0.03)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("kernel_size", "sigma"), [((3, 3), 0.5), ((9, 5), 1.3), ((23, 23), 2.0)])
def test_gaussian_blur_matches_torchvision(photo, size, kernel_size, sigma):
    image = photo(*size)
    expected = pixels(F.gaussian_blur(planes(image), list(kernel_size), [sigma, sigma]))
    check(computed(lambda x: ops.gaussian_blur(x, kernel_size, sigma), x=image), expected)


@pytest.mark.parametrize("size", [(8, 8), (31, 90), (224, 224), (64, 47)])
@pytest.mark.parametrize("channels", [1, 3])
def test_resized_crop_matches_torchvision(photo, size, channels):
    image = photo(61, 83, channels)
    attrs = {"height": size[0], "width": size[1], "scale": [1.0, 1.0], "ratio": [0.5, 2.0]}
    attrs |= {"channels": 0}
    for seed in range(4):
        draws = np.random.default_rng(seed).random(22, np.float32)
        attrs["scale"] = [0.1, 0.9]
        # Pixels that number the rows and columns show which part was cropped.
        expected_part = _part(61, 83, draws, (0.1, 0.9), (0.5, 2.0))
        result = computed(lambda x: _cropped(x, draws, attrs).moved, x=image)  # noqa: B023
        expected = pixels(F.resized_crop(planes(image), *expected_part, list(size)))
        check(result, expected, 1, 0.25)


def _part(height, width, draws, scale, ratio):
    low, high = math.log(ratio[0]), math.log(ratio[1])
    for share, shape in np.float64(draws[:20]).reshape(10, 2):
        area = height * width * (scale[0] + share * (scale[1] - scale[0]))
        aspect = math.exp(low + shape * (high - low))
        w, h = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        if 0 < w <= width and 0 < h <= height:
            return int(draws[20] * (height - h + 1)), int(draws[21] * (width - w + 1)), h, w
    raise AssertionError("no part fits")


def test_crop_regions_are_distributed_like_torchvision():
    """Sizes and positions of crops compared with 4,000 crops of torchvision."""
    image = torch.zeros(3, 375, 500, dtype=torch.uint8)
    crop = v2.RandomResizedCrop(224)
    torch.manual_seed(0)
    theirs = [crop.make_params([image]) for _ in range(4000)]
    theirs = np.array([[p["top"], p["left"], p["height"], p["width"]] for p in theirs])
    draws = np.random.default_rng(0).random((4000, 22), np.float32)
    ours = np.array([_part(375, 500, row, (0.08, 1.0), (3 / 4, 4 / 3)) for row in draws])
    for quantile in (0.1, 0.5, 0.9):
        difference = np.quantile(ours, quantile, 0) - np.quantile(theirs, quantile, 0)
        assert abs(difference).max() < 12


@pytest.mark.parametrize("size", [(20, 20), (41, 50), (39, 57), (60, 13)])
def test_center_crop_matches_torchvision(photo, size):
    image = photo()
    expected = pixels(F.center_crop(planes(image), list(size)))
    assert np.array_equal(computed(lambda x: ops.center_crop(x, size), x=image), expected)


def test_grayscale_and_flip_match_torchvision(photo):
    image = photo()
    expected = pixels(F.rgb_to_grayscale(planes(image), 3))
    check(drawn(lambda x: ops.random_grayscale(x, 1), x=image), expected)
    expected = pixels(F.horizontal_flip(planes(image)))
    assert np.array_equal(drawn(lambda x: ops.random_horizontal_flip(x, 1), x=image), expected)


def test_normalize_matches_torchvision(photo):
    mean, std = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
    expected = F.normalize(F.to_dtype(planes(photo()), torch.float32, scale=True), mean, std)
    result = computed(lambda x: ops.normalize(x, mean, std), x=photo())
    assert abs(result - expected.numpy()).max() <= 1e-6


@pytest.mark.parametrize("layout", LAYOUTS)
def test_random_erasing_matches_torchvision(photo, layout):
    image = photo()
    attrs = {"p": 1.0, "scale": [0.1, 0.1], "ratio": [1.0, 1.0], "value": [1.0, 2.0, 3.0]}
    attrs |= {"axes": list(LAYOUTS[layout])}
    draws = np.full(23, 0.5, np.float32)
    side = round(math.sqrt(40 * 56 * 0.1))
    i, j = int(0.5 * (40 - side + 1)), int(0.5 * (56 - side + 1))
    value = torch.tensor([1, 2, 3], dtype=torch.uint8)[:, None, None]
    expected = F.erase(planes(image), i, j, side, side, value).numpy()
    inputs = image if layout == "HWC" else np.ascontiguousarray(image.transpose(2, 0, 1))
    result = computed(lambda x: _erased(x, draws, attrs), x=inputs)
    assert np.array_equal(result.transpose(2, 0, 1) if layout == "HWC" else result, expected)


@pytest.mark.parametrize("share", [0.2, 0.7])
def test_mixup_and_cutmix_match_torchvision(photo, share):
    images = np.stack([photo(24, 20), photo(24, 20)[::-1], photo(24, 20)[:, ::-1]])
    batch = torch.from_numpy(np.ascontiguousarray(images.transpose(0, 3, 1, 2))).float()
    labels = np.array([1, 0, 2])
    mix = v2.MixUp(num_classes=3)
    params = {"labels": torch.from_numpy(labels), "batch_size": 3, "lam": share}
    actual = computed(
        lambda x, y: ops.concat([ops.reshape(part, [-1]) for part in _mixed(x, y, share, 3)], 0),
        x=batch.numpy(),
        y=labels,
    )
    expected = [mix.transform(part, params) for part in (batch, params["labels"])]
    flat = np.concatenate([part.numpy().ravel() for part in expected])
    assert np.allclose(actual, flat, rtol=1e-6)

    draws, half = (0.3, 0.8), 0.5 * math.sqrt(1 - share)
    x, y, across, down = int(0.3 * 20), int(0.8 * 24), int(half * 20), int(half * 24)
    box = max(x - across, 0), max(y - down, 0), min(x + across, 20), min(y + down, 24)
    adjusted = 1 - (box[2] - box[0]) * (box[3] - box[1]) / (20 * 24)
    params |= {"box": box, "lam_adjusted": adjusted}
    actual = computed(
        lambda x, y: ops.concat(
            [
                ops.reshape(part, [-1])
                for part in _cut(x, y, share, np.float32(draws), 3, LAYOUTS["CHW"])
            ],
            0,
        ),
        x=batch.numpy(),
        y=labels,
    )
    expected = [
        v2.CutMix(num_classes=3).transform(part, params) for part in (batch, params["labels"])
    ]
    flat = np.concatenate([part.numpy().ravel() for part in expected])
    assert np.allclose(actual, flat, rtol=1e-6)
