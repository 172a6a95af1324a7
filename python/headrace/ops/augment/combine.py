"""Combines the boxes, masks, keypoints and labels of several images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.core import dtypes
from headrace.graph import Tensor, TensorLike
from headrace.ops.array.fill import ones_like
from headrace.ops.array.gather import boolean_mask
from headrace.ops.array.join import concat
from headrace.ops.augment.arguments import one_image
from headrace.ops.augment.targets import Move, Targets, result_type
from headrace.ops.framework.conversion import convert_to_tensor

__all__ = ["Combination", "images_of"]

_PIXELS = (dtypes.uint8, dtypes.float32)


def images_of(what: str, images: Sequence[TensorLike], count: int) -> list[Tensor]:
    """Returns the images to combine.

    Args:
        what: Name of the function, for error messages.
        images: The images.
        count: The number of images that the function combines.

    Raises:
        TypeError: If the images are not a list, or have wrong or different types.
        ValueError: If the number of images is wrong, or an image has the wrong rank.
    """
    tensors = [one_image(what, image, _PIXELS) for image in _listed(what, "images", images, count)]
    names = {tensor.dtype.base_dtype.name for tensor in tensors}
    if len(names) > 1:
        raise TypeError(f"{what}: the images have types {sorted(names)}, expected one type.")
    return tensors


@dataclass(frozen=True)
class Combination:
    """The targets of several images, each as a list with one tensor per image.

    Attributes:
        what: Name of the function, for error messages.
        count: The number of images.
        boxes: The boxes of each image, or None.
        masks: The masks of each image, or None.
        keypoints: The keypoints of each image, or None.
        labels: The labels of each image, or None.
        format: The format of the boxes.
        normalized: Whether boxes and keypoints are fractions of the sides.
        min_area: The smallest area of a box that is kept; None to keep all boxes.
    """

    what: str
    count: int
    boxes: Sequence[TensorLike] | None
    masks: Sequence[TensorLike] | None
    keypoints: Sequence[TensorLike] | None
    labels: Sequence[TensorLike] | None
    format: str
    normalized: bool
    min_area: float | None

    def __post_init__(self) -> None:
        # Checks the options.
        Targets(self.what, self.boxes, None, None, self.format, self.normalized, self.min_area)

    def combined(self, image: Tensor, moves: Callable[[int], Sequence[Move]]) -> Any:
        """Returns the combined image, or a named tuple with the image and the combined targets.

        Args:
            image: The combined image.
            moves: A function that accepts the number of an image and returns the steps that move
                positions in that image.
        """
        targets = {
            name: _listed(self.what, name, values, self.count)
            for name in ("boxes", "masks", "keypoints", "labels")
            if (values := getattr(self, name)) is not None
        }
        if not targets:
            return image
        parts = [
            self._moved({name: values[number] for name, values in targets.items()}, moves(number))
            for number in range(self.count)
        ]
        values = {name: concat([part[name] for part in parts], 0) for name in parts[0]}
        return result_type(("image", *values))(image, **values)

    def _moved(self, targets: dict[str, Any], moves: Sequence[Move]) -> dict[str, Tensor]:
        """Returns the targets of one image after the moves."""
        order = [*targets, "kept"]
        labels = targets.pop("labels", None)
        kept: Tensor | None = None
        for number, move in enumerate(moves if targets else ()):
            options: dict[str, Any] = {
                "format": self.format,
                "normalized": self.normalized,
                "min_area": None if number else self.min_area,
            }
            moved = Targets(self.what, **targets, **options).moved(move)._asdict()
            targets = {name: moved[name] for name in targets}
            kept = moved.get("kept", kept)
        if labels is not None:
            targets["labels"] = self._labels_of(labels, targets.get("boxes"), kept)
        if kept is not None:
            targets["kept"] = kept
        return {name: targets[name] for name in order if name in targets}

    def _labels_of(self, labels: Any, boxes: Tensor | None, kept: Tensor | None) -> Tensor:
        tensor = convert_to_tensor(labels, name="labels")
        if tensor.shape.rank == 0:
            raise ValueError(
                f"{self.what}: labels has shape {tensor.shape}, expected one label per object."
            )
        if kept is None and boxes is not None:
            # Another number of labels than boxes is an error.
            kept = ones_like(boxes[:, 0], dtypes.bool)
        return tensor if kept is None else boolean_mask(tensor, kept)


def _listed(what: str, name: str, values: Any, count: int) -> list[Any]:
    if not isinstance(values, (list, tuple)):
        raise TypeError(
            f"{what}: {name} is {values!r}, expected a list with one tensor for each of the "
            f"{count} images."
        )
    if len(values) != count:
        raise ValueError(
            f"{what}: {name} has {len(values)} tensors, expected one for each of {count} images."
        )
    return list(values)
