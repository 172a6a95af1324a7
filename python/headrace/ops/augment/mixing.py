"""Mixes the images of a batch, or two images with targets.

Source: `torchvision.transforms.v2.MixUp` and `CutMix`. For detection: "Bag of Freebies for Training
Object Detection Neural Networks" (arXiv:1902.04103).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any, NamedTuple, overload

from headrace.core import dtypes
from headrace.core.shapes import TensorShape
from headrace.graph import Tensor, TensorLike, define, name_scope
from headrace.ops.augment.arguments import known_image, layout_axes
from headrace.ops.augment.combine import Combination, images_of
from headrace.ops.augment.targets import Move
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.image.crop import shifted
from headrace.ops.image.frames import require
from headrace.ops.math.cast import cast
from headrace.ops.random.numbers import random_uniform

__all__ = ["cutmix", "mixup"]

_PIXELS = (dtypes.uint8, dtypes.float32)
_MOST_ALPHA = 10_000


class Mixed(NamedTuple):
    """A batch after `mixup` or `cutmix`.

    Attributes:
        images: The mixed images, of the same type and shape as before.
        labels: float32, (batch, classes): the weight of each class.
    """

    images: Tensor
    labels: Tensor


@overload
def mixup(
    images: TensorLike,
    labels: TensorLike,
    alpha: float = 1.0,
    num_classes: int | None = None,
    seed: int | None = None,
) -> Mixed: ...


@overload
def mixup(
    images: Sequence[TensorLike],
    labels: Sequence[TensorLike] | None = None,
    alpha: float = 1.0,
    *,
    seed: int | None = None,
    boxes: Sequence[TensorLike] | None = None,
    masks: Sequence[TensorLike] | None = None,
    keypoints: Sequence[TensorLike] | None = None,
    format: str = "xyxy",
    normalized: bool = False,
    min_area: float | None = None,
) -> Any: ...


def mixup(
    images: Any,
    labels: Any = None,
    alpha: float = 1.0,
    num_classes: int | None = None,
    seed: int | None = None,
    *,
    boxes: Sequence[TensorLike] | None = None,
    masks: Sequence[TensorLike] | None = None,
    keypoints: Sequence[TensorLike] | None = None,
    format: str = "xyxy",
    normalized: bool = False,
    min_area: float | None = None,
) -> Any:
    """Mixes each image in a batch with the previous one, or two images with their targets.

    **For classification:** the first image of a batch is mixed with the last. One weight w is drawn
    for the whole batch from Beta(`alpha`, `alpha`). The result is w times the image plus 1 - w
    times the previous image. Labels are mixed in the same way. Call `mixup` after a shuffle and
    `batch`. float32 results are the same as in torchvision, to within 1e-6 of the largest value.
    uint8 results, which torchvision does not support, are rounded.

    **For detection:** pass a list of two images of the same shape, and their targets. The result is
    w times the first image plus 1 - w times the second one, with the targets of both images. YOLO
    trainers use `alpha=32`, so that w is near 0.5. To get two images in one example, use `hr.zip`
    with shuffles of different seeds.

    Args:
        images: uint8 or float32, (batch, ...). For detection, a list of two images (height, width,
            channels).
        labels: Integers, (batch,), from 0 to `num_classes - 1`. Or the weight of each class,
            float32, (batch, classes). For detection, a list of two tensors with one value per
            object, of any type, (objects, ...).
        alpha: The parameter of the distribution, above 0. If it is near 0, most weights are near 0
            or 1.
        num_classes: The number of classes, if labels are integers. Not used for detection.
        seed: Only used in TensorFlow 1 graphs. In a pipeline, set the seed of `map` instead.
        boxes: The boxes of both images, two float32 tensors, (boxes, 4), in pixels. Boxes are
            clipped to the image. None is removed unless you pass `min_area`.
        masks: The masks of both images, uint8 or bool, (masks, height, width).
        keypoints: The positions x, y in both images, float32, (points, 2) or (objects, points, 2).
        format: The format of boxes: "xyxy" (left, top, right, bottom), "xywh" (left, top, width,
            height) or "cxcywh" (centre, width, height).
        normalized: If True, boxes and keypoints are fractions of the width and the height.
        min_area: The smallest area of a box in pixels. Smaller boxes are removed, with their masks,
            keypoints and labels.

    Returns:
        A pair: images of the same type and shape, and labels, float32, (batch, classes). For
        detection, a named tuple with `image` and the targets that you passed (`boxes`, `masks`,
        `keypoints`, `labels`), in which the first image's targets come first. If you pass
        `min_area`, the tuple also contains `kept`, bool, which is False for removed boxes.

    Raises:
        InvalidArgumentError: At run time, if a label is not a class, the numbers of labels and
            images differ, or the two images or their targets have the wrong shape.
        TypeError: If images or labels have the wrong type, or an argument is not a list.
        ValueError: If an argument is out of range, `num_classes` is missing, or a list does not
            have two tensors.

    Source: `torchvision.transforms.v2.MixUp`.

    Examples:
        >>> @hr.native
        ... def mix(batch):
        ...     images, labels = hr.ops.mixup(batch["image"], batch["label"], num_classes=10)
        ...     return {"image": images, "label": labels}
        >>> data = {"image": np.zeros((4, 8, 8, 3), np.uint8), "label": [3, 1, 4, 1]}
        >>> next(iter(hr.arrays(data).batch(4).map(mix, seed=7)))["label"].shape
        (4, 10)
        >>> @hr.native
        ... def mix_two(example):
        ...     images, boxes = zip(*[(example[f"{k}.image"], example[f"{k}.boxes"]) for k in "ab"])
        ...     return hr.ops.mixup(images, alpha=32, boxes=boxes)._asdict()
        >>> data = {"image": np.zeros((4, 8, 8, 3), np.uint8), "boxes": [[[0, 0, 4, 6]]] * 4}
        >>> pipe = hr.arrays(data)
        >>> two = hr.zip({"a": pipe.shuffle(seed=1), "b": pipe.shuffle(seed=2)})
        >>> next(iter(two.map(mix_two, seed=3)))["boxes"].shape
        (2, 4)
    """
    if boxes is not None or masks is not None or keypoints is not None:
        targets = Combination(
            "mixup", 2, boxes, masks, keypoints, labels, format, normalized, min_area
        )
        return _mixed_pair(images, alpha, num_classes, seed, targets)
    if min_area is not None or normalized or format != "xyxy":
        raise ValueError(
            "mixup: format, normalized and min_area need boxes, expected boxes=[a, b]."
        )
    if labels is None:
        raise TypeError(
            "mixup: labels is None, expected the labels of a batch, or boxes=, masks= or "
            "keypoints= for two images."
        )
    with name_scope(None, "mixup", [images, labels]):
        pixels, classes = _batch("mixup", images), _labels("mixup", labels, num_classes)
        return _mixed(pixels, classes, _share("mixup", alpha, seed), num_classes)


def _mixed_pair(
    images: Any, alpha: float, num_classes: int | None, seed: int | None, targets: Combination
) -> Any:
    require(
        num_classes is None,
        f"mixup: num_classes is {num_classes!r}, but labels are not mixed if there are boxes, "
        "masks or keypoints. Omit num_classes.",
    )
    with name_scope(None, "mixup", []):
        return _blended(images_of("mixup", images, 2), _share("mixup", alpha, seed), targets)


def _blended(images: Sequence[Tensor], share: TensorLike, targets: Combination) -> Any:
    """Mixes two images with a weight (a float64 scalar), and joins their targets."""
    image, other = images

    def infer(image: Tensor, *_: Tensor) -> Outputs:
        return [(image.dtype.base_dtype, known_image(image))]

    inputs = [
        Input("image", image),
        Input("other", other),
        Input("share", share, dtypes.float64),
    ]
    blended = apply_op("BlendImages", inputs, infer).outputs[0]

    def moves(number: int) -> list[Move]:
        return [Move(images[number], blended, lambda *_: shifted(0.0, 0.0), lambda masks, _: masks)]

    return targets.combined(blended, moves)


def cutmix(
    images: TensorLike,
    labels: TensorLike,
    alpha: float = 1.0,
    num_classes: int | None = None,
    layout: str = "HWC",
    seed: int | None = None,
) -> Mixed:
    """Pastes a rectangle from the previous image into each image in a batch.

    The first image receives its rectangle from the last one. One area is drawn for the whole batch:
    the remaining fraction of each image has the distribution Beta(`alpha`, `alpha`). Parts of the
    rectangle outside the image are cut off, and labels are mixed in proportion to the remaining
    area. Call `cutmix` after a shuffle and `batch`. For the same rectangle, the images are the same
    as in torchvision.

    Args:
        images: uint8 or float32, (batch, height, width, channels), or (batch, channels, height,
            width) for the layout "CHW", with at most 4 channels.
        labels: Integers, (batch,), from 0 to `num_classes - 1`. Or the weight of each class,
            float32, (batch, classes).
        alpha: The parameter of the distribution, above 0.
        num_classes: The number of classes, if labels are integers.
        layout: "HWC", or "CHW" for the result of `normalize`.
        seed: Only used in TensorFlow 1 graphs. In a pipeline, set the seed of `map` instead.

    Returns:
        A pair: images of the same type and shape, and labels, float32, (batch, classes).

    Raises:
        InvalidArgumentError: At run time, if a label is not a class, the numbers of labels and
            images differ, or the layout is wrong.
        TypeError: If images or labels have the wrong type.
        ValueError: If an argument is out of range, `num_classes` is missing, or the images have the
            wrong rank.

    Source: `torchvision.transforms.v2.CutMix`.
    """
    axes = layout_axes("cutmix", layout)
    with name_scope(None, "cutmix", [images, labels]):
        pixels, classes = _batch("cutmix", images), _labels("cutmix", labels, num_classes)
        rank = pixels.shape.rank
        require(
            None if rank is None else rank == 4,
            f"cutmix: the images have shape {pixels.shape}, expected a batch with four axes. "
            "Call cutmix after batch.",
        )
        share = _share("cutmix", alpha, seed)
        return _cut(pixels, classes, share, random_uniform([2], seed=seed), num_classes, axes)


def _mixed(images: Tensor, labels: Tensor, share: TensorLike, num_classes: int | None) -> Mixed:
    """Mixes images with a weight (a float64 scalar)."""
    inputs = [
        Input("images", images),
        Input("labels", labels, var="L"),
        Input("share", share, dtypes.float64),
    ]
    attrs = {"num_classes": num_classes or 0}
    return Mixed(*apply_op("MixUp", inputs, _infer(num_classes), attrs=attrs).outputs)


def _cut(
    images: Tensor,
    labels: Tensor,
    share: TensorLike,
    draws: TensorLike,
    num_classes: int | None,
    axes: tuple[int, int, int],
) -> Mixed:
    """Pastes a rectangle sized by a float64 weight, at a random position (float32 in [0, 1))."""
    inputs = [
        Input("images", images),
        Input("labels", labels, var="L"),
        Input("share", share, dtypes.float64),
        Input("draws", draws, dtypes.float32),
    ]
    attrs = {"num_classes": num_classes or 0, "axes": [axis + 1 for axis in axes]}
    return Mixed(*apply_op("CutMix", inputs, _infer(num_classes), attrs=attrs).outputs)


def _infer(num_classes: int | None) -> Callable[..., Outputs]:
    def infer(images: Tensor, labels: Tensor, *_: Tensor) -> Outputs:
        is_list = labels.shape.rank == 2
        classes = labels.shape.as_list()[1] if is_list else num_classes
        size = labels.shape.as_list()[0]
        return [
            (images.dtype.base_dtype, images.shape),
            (dtypes.float32, TensorShape([size, classes])),
        ]

    return infer


def _batch(what: str, images: TensorLike) -> Tensor:
    tensor = convert_to_tensor(images, name="images")
    if tensor.dtype.base_dtype not in _PIXELS:
        raise TypeError(
            f"{what}: the images have type {tensor.dtype.name}, expected uint8 or float32."
        )
    return tensor


def _labels(what: str, labels: TensorLike, num_classes: int | None) -> Tensor:
    tensor = convert_to_tensor(labels, name="labels")
    dtype, shape = tensor.dtype.base_dtype, tensor.shape
    require(
        shape.rank in (1, 2),
        f"{what}: the labels have shape {shape}, expected (batch) or (batch, classes). Call "
        f"{what} after batch.",
    )
    if shape.rank == 1:
        if not dtype.is_integer:
            raise TypeError(f"{what}: the labels have type {dtype.name}, expected integers.")
        is_count = isinstance(num_classes, Integral) and num_classes > 0
        require(is_count, f"{what}: num_classes is {num_classes!r}, expected a positive integer.")
        return cast(tensor, dtypes.int64)
    if dtype != dtypes.float32:
        raise TypeError(
            f"{what}: the labels have shape {shape} and type {dtype.name}, expected one "
            "integer per image, or float32 class weights."
        )
    static_shape = shape.as_list()[1]
    require(
        None if None in (static_shape, num_classes) else static_shape == num_classes,
        f"{what}: num_classes is {num_classes}, but the labels have {static_shape} classes. "
        "Omit num_classes.",
    )
    return tensor


def _share(what: str, alpha: float, seed: int | None) -> Tensor:
    if not isinstance(alpha, Real) or not 0 < alpha <= _MOST_ALPHA:
        raise ValueError(
            f"{what}: alpha is {alpha!r}, expected a positive number of at most {_MOST_ALPHA}."
        )

    def infer(draw: Tensor) -> Outputs:
        return [(dtypes.float64, TensorShape([]))]

    draw = random_uniform([], dtype=dtypes.float64, seed=seed)
    inputs = [Input("draw", draw, dtypes.float64)]
    return apply_op("SymmetricBeta", inputs, infer, attrs={"alpha": float(alpha)}).outputs[0]


define("BlendImages", is_own=True)
define("CutMix", is_own=True)
define("MixUp", is_own=True)
define("SymmetricBeta", is_own=True)
