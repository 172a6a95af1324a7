"""The same values as the functions of `keras.utils`, where TensorFlow is installed."""

import numpy as np
import pytest
from tests.keras.class_directories import (
    picture,
    write,
    write_bmp,
    write_gif,
    write_image,
    write_wav,
)

import headrace.keras

keras = pytest.importorskip("keras")
pytest.importorskip("tensorflow")

# The largest difference of float32 pixels from 0 to 255.
LARGEST_DIFFERENCE = 1e-4
METHODS = ["bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5"]


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(3)
    for number in range(16):
        height, width = (int(size) for size in rng.integers(3, 90, 2))
        suffix = ["png", "jpg", "JPEG"][number % 3]
        path = root / "images" / "xyz"[number % 3] / "deeper"[: number % 4] / f"{number}.{suffix}"
        write_image(path, picture(number, height, width))
    write_bmp(root / "images" / "x" / "a.bmp", picture(20, 9, 12))
    write_gif(root / "images" / "y" / "b.gif", [[0, 1, 1, 0], [1, 0, 0, 1]])
    for number in range(9):
        image = picture(number, 10 + number, 31, channels=(1, 3, 4)[number % 3])
        write_image(root / "pngs" / "ab"[number % 2] / f"{number}.png", image)
        write(root / "texts" / "ab"[number % 2] / f"{number}.txt", b"word\xc3\xbc" * number)
        samples = rng.integers(-32768, 32767, (100 + 37 * number, 1))
        write_wav(root / "sounds" / "ab"[number % 2] / f"{number}.wav", samples)
    return root


def unpacked(data):
    """Returns the batches of one of Keras' data sets as tuples of arrays."""
    batches = [batch if isinstance(batch, tuple) else (batch,) for batch in data]
    return [tuple(np.asarray(value) for value in batch) for batch in batches]


def compare(name, *arguments, **options):
    theirs = getattr(keras.utils, name)(*arguments, **options)
    ours = getattr(headrace.keras, name)(*arguments, **options)
    pairs = zip(ours, theirs, strict=True) if isinstance(ours, tuple) else [(ours, theirs)]
    for our, their in pairs:
        assert our.class_names == getattr(their, "class_names", None)
        if hasattr(their, "file_paths"):
            assert our.file_paths == their.file_paths
        if not options.get("shuffle"):
            for batch, expected in zip(unpacked(our), unpacked(their), strict=True):
                for values, wanted in zip(batch, expected, strict=True):
                    assert values.shape == wanted.shape
                    if wanted.dtype == object:
                        assert values.tolist() == wanted.tolist()
                    else:
                        assert values.dtype == wanted.dtype
                        difference = np.abs(values.astype(float) - wanted)
                        assert difference.max() <= LARGEST_DIFFERENCE


@pytest.mark.parametrize(
    "proportions", ["stretched", "crop_to_aspect_ratio", "pad_to_aspect_ratio"]
)
@pytest.mark.parametrize("method", [*METHODS, "gaussian", "mitchellcubic"])
def test_resized_images_match_keras(root, method, proportions):
    options = {"interpolation": method, "shuffle": False, "image_size": (24, 33)}
    if proportions != "stretched":
        options[proportions] = True
    if proportions == "crop_to_aspect_ratio" and method not in METHODS:
        pytest.skip("Keras cannot crop with this method")
    compare("image_dataset_from_directory", root / "images", **options)


@pytest.mark.parametrize("colours", ["rgb", "rgba", "grayscale"])
@pytest.mark.parametrize("labels", ["int", "binary", "categorical", None])
def test_colours_and_labels_match_keras(root, colours, labels):
    options = {"image_size": 20, "shuffle": False, "batch_size": 4, "data_format": "channels_first"}
    options |= {"color_mode": colours, "label_mode": labels}
    compare("image_dataset_from_directory", root / "pngs", **options)


@pytest.mark.parametrize("split", [0.2, 0.4, 0.7])
@pytest.mark.parametrize("subset", ["training", "validation", "both"])
@pytest.mark.parametrize("shuffle", [False, True])
def test_splits_match_keras(root, split, subset, shuffle):
    options = {"validation_split": split, "subset": subset, "shuffle": shuffle, "seed": 11}
    compare("image_dataset_from_directory", root / "images", image_size=(4, 4), **options)
    compare("text_dataset_from_directory", root / "texts", **options)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"max_length": 6},
        {"batch_size": None, "class_names": ["b", "a"]},
        {"labels": [1.5] * 9, "batch_size": 2},
        {"labels": [3, 1, 1] * 3, "label_mode": "categorical"},
    ],
)
def test_texts_match_keras(root, options):
    compare("text_dataset_from_directory", root / "texts", shuffle=False, **options)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"output_sequence_length": 150},
        {"output_sequence_length": 1000, "label_mode": None},
        {"batch_size": None, "label_mode": "binary"},
        {"batch_size": 2, "labels": None},
    ],
)
def test_sounds_match_keras(root, options):
    compare("audio_dataset_from_directory", root / "sounds", shuffle=False, **options)


@pytest.mark.parametrize(
    "options",
    [
        {"sequence_length": 10, "sequence_stride": 3, "sampling_rate": 2},
        {"sequence_length": 5, "start_index": 7, "end_index": 80, "batch_size": 16},
        {"sequence_length": 3, "sampling_rate": 20, "batch_size": None},
        {"sequence_length": 1, "start_index": 30},
    ],
)
@pytest.mark.parametrize("has_targets", [False, True])
def test_windows_match_keras(options, has_targets):
    for series in (np.arange(100.0), np.arange(300).reshape(100, 3), list(range(100))):
        targets = np.arange(100, dtype=np.float32) if has_targets else None
        compare("timeseries_dataset_from_array", series, targets, **options)
