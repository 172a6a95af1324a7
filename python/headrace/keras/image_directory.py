"""`image_dataset_from_directory`: image files in one directory per class, for Keras."""

import os
from collections.abc import Sequence
from typing import Any, Final, Literal

import numpy as np

from headrace import ops
from headrace.graph import Tensor
from headrace.keras.adapter import keras_module
from headrace.keras.class_directory import (
    ClassDirectory,
    LabelMode,
    Labels,
    Subset,
    check_format,
    dataset_of,
)

__all__ = ["image_dataset_from_directory"]

_WHERE: Final = "keras.image_dataset_from_directory"
_FORMATS: Final = (".bmp", ".gif", ".jpeg", ".jpg", ".png")
_NUM_CHANNELS: Final = {"rgb": 3, "rgba": 4, "grayscale": 1}
# The resize methods, and whether Keras can crop with them.
_INTERPOLATIONS: Final = {
    "bilinear": True,
    "nearest": True,
    "bicubic": True,
    "area": True,
    "lanczos3": True,
    "lanczos5": True,
    "gaussian": False,
    "mitchellcubic": False,
}


def image_dataset_from_directory(
    directory: str | os.PathLike[str],
    labels: Labels = "inferred",
    label_mode: LabelMode = "int",
    class_names: Sequence[str] | None = None,
    color_mode: Literal["rgb", "rgba", "grayscale"] = "rgb",
    batch_size: int | None = 32,
    image_size: int | Sequence[int] = (256, 256),
    shuffle: bool = True,
    seed: int | None = None,
    validation_split: float | None = None,
    subset: Subset = None,
    interpolation: str = "bilinear",
    follow_links: bool = False,
    crop_to_aspect_ratio: bool = False,
    pad_to_aspect_ratio: bool = False,
    data_format: Literal["channels_last", "channels_first"] | None = None,
    format: Literal["tf"] = "tf",
    verbose: bool = True,
) -> Any:
    """Reads image files from a directory, like the `keras.utils` function of the same name.

    The files, the split, the labels and the pixels are the same as in Keras, but TensorFlow is not
    needed: the engine decodes and resizes on all cores. Only the shuffled order differs: each epoch
    shuffles all files, in an order that depends only on the seed.

    Args:
        directory: The directory with one subdirectory for each class.
        labels: "inferred" numbers the subdirectories. You can also pass a list with one number for
            each file, in the order of the paths, or None.
        label_mode: "int" (int32 numbers), "categorical" (float32 vectors), "binary" (float32, 0 or
            1) or None for no labels.
        class_names: The subdirectories to read, in the order of their labels. Defaults to all.
        color_mode: "rgb", "rgba" or "grayscale".
        batch_size: The number of images in a batch, or None for single images.
        image_size: The height and width of the images.
        shuffle: Whether to shuffle. If False, files are sorted by path.
        seed: The seed of the shuffle and the split. If None, a random seed is drawn. Pass a seed to
            resume in another process.
        validation_split: The share of files for validation.
        subset: "training" or "validation", or "both" for a tuple of two adapters.
        interpolation: "bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian"
            or "mitchellcubic".
        follow_links: Whether to read directories that are symbolic links.
        crop_to_aspect_ratio: Whether to crop images to the proportions of `image_size`.
        pad_to_aspect_ratio: Whether to pad images with zeros instead.
        data_format: "channels_last" or "channels_first". Defaults to Keras' setting.
        format: Only "tf" is supported. You still get an adapter.
        verbose: Whether to print the number of files.

    Returns:
        An adapter for `fit`; see `adapter`. Its `class_names` and `file_paths` are lists. Images
        are float32 from 0 to 255, or uint8 with "nearest".

    Raises:
        ModuleNotFoundError: If Keras is not installed.
        NotFoundError: If the directory does not exist.
        ValueError: If an argument is wrong. The message names it.

    Examples:
        >>> from pathlib import Path
        >>> encode = hr.native(lambda one: {"png": hr.ops.encode_png(one["image"])})
        >>> for name in ["cat/1.png", "dog/1.png", "dog/2.png"]:
        ...     Path("pets", name).parent.mkdir(parents=True, exist_ok=True)
        ...     png = encode({"image": np.zeros((4, 6, 3), np.uint8)})["png"]
        ...     length = Path("pets", name).write_bytes(png)
        >>> data = hr.keras.image_dataset_from_directory("pets", image_size=(2, 3), shuffle=False)
        Found 3 files belonging to 2 classes.
        >>> for images, labels in data:
        ...     print(images.shape, labels)
        (3, 2, 3, 3) [0 1 1]
    """
    keras = keras_module("image_dataset_from_directory")
    if color_mode not in _NUM_CHANNELS:
        raise ValueError(
            f"{_WHERE}: color_mode is {color_mode!r}, expected 'rgb', 'rgba' or 'grayscale'."
        )
    size = (image_size, image_size) if isinstance(image_size, int) else tuple(image_size)
    if len(size) != 2 or not all(isinstance(one, int) and one > 0 for one in size):
        raise ValueError(
            f"{_WHERE}: image_size is {image_size}, expected two positive integers, the height "
            "and the width."
        )
    method = interpolation.lower()
    if method not in _INTERPOLATIONS:
        raise ValueError(
            f"{_WHERE}: interpolation is {interpolation!r}, expected one of "
            f"{', '.join(_INTERPOLATIONS)}."
        )
    if crop_to_aspect_ratio and pad_to_aspect_ratio:
        raise ValueError(
            f"{_WHERE}: crop_to_aspect_ratio and pad_to_aspect_ratio are both True. Pass only one."
        )
    if crop_to_aspect_ratio and not _INTERPOLATIONS[method]:
        raise ValueError(
            f"{_WHERE}: interpolation={interpolation!r} does not work with crop_to_aspect_ratio. "
            "Choose another one, such as 'bicubic'."
        )
    check_format(_WHERE, format)
    if data_format is None:
        data_format = keras.config.image_data_format()
    if data_format not in ("channels_last", "channels_first"):
        raise ValueError(
            f"{_WHERE}: data_format is {data_format!r}, expected 'channels_last' or "
            "'channels_first'."
        )
    files = ClassDirectory(
        _WHERE,
        _FORMATS,
        directory,
        labels,
        label_mode,
        class_names,
        shuffle,
        seed,
        validation_split,
        subset,
        follow_links,
        verbose,
    )

    def load(contents: Tensor) -> Tensor:
        image = ops.decode_image(
            contents,
            channels=_NUM_CHANNELS[color_mode],
            expand_animations=False,
            dct_method="fast",  # TensorFlow's method.
        )
        if pad_to_aspect_ratio:
            image = ops.resize_with_pad(image, *size, method=method)
        else:
            image = _cropped(image, *size) if crop_to_aspect_ratio else image
            image = ops.resize(image, size, method=method)
        return image if data_format == "channels_last" else ops.transpose(image, [2, 0, 1])

    return dataset_of(files, "image", load, batch_size)


def _cropped(image: Tensor, target_height: int, target_width: int) -> Tensor:
    """Returns the largest centred crop with the target's aspect ratio."""
    shape = ops.shape(image)
    height, width = shape[0], shape[1]
    new_height = _shortened(height, width * target_height, target_width)
    new_width = _shortened(width, height * target_width, target_height)
    top, left = _half(height - new_height), _half(width - new_width)
    return image[top : top + new_height, left : left + new_width]


def _shortened(length: Tensor, numerator: Tensor, denominator: int) -> Tensor:
    wanted = ops.cast(ops.cast(numerator, np.float32) / np.float32(denominator), np.int32)
    return ops.maximum(ops.minimum(length, wanted), 1)


def _half(number: Tensor) -> Tensor:
    return ops.cast(ops.cast(number, np.float32) / np.float32(2), np.int32)
