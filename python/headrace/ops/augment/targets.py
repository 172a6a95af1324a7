"""Boxes, masks and keypoints, which operations transform together with their image.

An operation that accepts targets returns a `Move`: the new image, and how positions change. The
decorator `takes_targets` adds the arguments for targets, and applies the change to them.

Source: the kernels for `BoundingBoxes`, `Mask` and `KeyPoints` in `torchvision.transforms.v2`.
"""

from __future__ import annotations

import functools
import inspect
from collections import namedtuple
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import Any, Final, ParamSpec, Protocol, cast, overload

from headrace.core import dtypes
from headrace.core.shapes import TensorShape
from headrace.graph import Tensor, TensorLike, define, name_scope
from headrace.ops.array.gather import boolean_mask
from headrace.ops.array.join import stack
from headrace.ops.array.reshape import squeeze
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.image.frames import require
from headrace.ops.math.cast import cast as cast_op

__all__ = [
    "Move",
    "TakesTargets",
    "Targets",
    "affine_map",
    "image_size",
    "result_type",
    "takes_targets",
]

_FORMATS: Final = ("xyxy", "xywh", "cxcywh")
_Arguments = ParamSpec("_Arguments")


@dataclass(frozen=True)
class Move:
    """An image before and after an operation, and how the operation moves positions.

    Attributes:
        image: The image before the operation.
        moved: The result.
        homography: A function that returns 6 or 9 float64 numbers: the map from positions in the
            image to positions in the result, as in `affine_map`. It accepts the sizes of the image
            and of the result, as int32 vectors of the height and width.
        masks: A function that moves the pixels of images (images, height, width, 1) in the same
            way. It also accepts the size of the result.
        has_whole_pixels: Whether the operation reorders pixels without interpolation, such as a
            flip. The first column of keypoints then becomes the last column, not the right edge.
        with_targets: A function that returns the result by torchvision's rules, which apply if
            there are targets. None if the result already follows these rules.
        sizes: The sizes of the image and of the result. None to read them from the tensors.
        is_inside: Whether each box is still in the image, bool. Other boxes become empty.
    """

    image: Tensor
    moved: Tensor
    homography: Callable[[Tensor, Tensor], Tensor]
    masks: Callable[[Tensor, Tensor], Tensor]
    has_whole_pixels: bool = False
    with_targets: Callable[[], Tensor] | None = None
    sizes: tuple[Tensor, Tensor] | None = None
    is_inside: Tensor | None = None


class TakesTargets(Protocol[_Arguments]):
    """A function on an image that also transforms targets."""

    __name__: str

    @overload
    def __call__(self, *args: _Arguments.args, **kwargs: _Arguments.kwargs) -> Tensor: ...

    @overload
    def __call__(self, *args: Any, boxes: TensorLike, **kwargs: Any) -> Any: ...

    @overload
    def __call__(self, *args: Any, masks: TensorLike, **kwargs: Any) -> Any: ...

    @overload
    def __call__(self, *args: Any, keypoints: TensorLike, **kwargs: Any) -> Any: ...


def takes_targets(function: Callable[_Arguments, Move]) -> TakesTargets[_Arguments]:
    """Adds the arguments for targets to a function on an image.

    The decorated function returns the result, or a named tuple if it receives targets.
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        options = {name: kwargs.pop(name) for name in _OPTIONS if name in kwargs}
        targets = Targets(function.__name__, **options)
        move = function(*args, **kwargs)
        return targets.moved(move) if targets.names() else move.moved

    signature = inspect.signature(function)
    parameters = [*signature.parameters.values(), *_OPTIONS.values()]
    call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    call.__doc__ = _documented(inspect.getdoc(function) or "")
    return cast("TakesTargets[_Arguments]", call)


def affine_map(a: Any, b: Any, c: Any, d: Any, e: Any, f: Any) -> Tensor:
    """Returns the map from x, y to a x + b y + c, d x + e y + f, as 6 float64 numbers.

    The upper left corner of an image is at 0, 0, and the centre of its first pixel at 0.5, 0.5.

    Args:
        a: A number or a scalar tensor, like all arguments.
        b: Multiplied by y for the new x.
        c: Added to the new x.
        d: Multiplied by x for the new y.
        e: Multiplied by y for the new y.
        f: Added to the new y.
    """
    return stack([cast_op(number, dtypes.float64) for number in (a, b, c, d, e, f)])


def image_size(image: Tensor) -> Tensor:
    """Returns the height and width of one image, as int32. Raises an error when run on a batch."""
    inputs = [Input("image", image)]
    return apply_op("ImageSize", inputs, lambda _: [(dtypes.int32, TensorShape([2]))]).outputs[0]


@dataclass(frozen=True)
class Targets:
    """The arguments of a call that relate to targets.

    Attributes:
        what: Name of the function, for error messages.
        boxes: The boxes, or None.
        masks: The masks, or None.
        keypoints: The keypoints, or None.
        format: The format of the boxes.
        normalized: Whether boxes and keypoints are fractions of the sides.
        min_area: The smallest area of a box that is kept; None to keep all boxes.
    """

    what: str
    boxes: TensorLike | None = None
    masks: TensorLike | None = None
    keypoints: TensorLike | None = None
    format: str = "xyxy"
    normalized: bool = False
    min_area: float | None = None

    def __post_init__(self) -> None:
        require(
            self.format in _FORMATS,
            f"{self.what}: format is {self.format!r}, expected 'xyxy', 'xywh' or 'cxcywh'.",
        )
        if self.min_area is not None:
            require(
                self.min_area >= 0,
                f"{self.what}: min_area is {self.min_area!r}, expected a number of at least 0.",
            )
            require(
                self.boxes is not None,
                f"{self.what}: min_area needs boxes, expected boxes=... as well.",
            )

    def names(self) -> list[str]:
        """Returns the names of the targets that were passed."""
        names = ("boxes", "masks", "keypoints")
        return [name for name in names if getattr(self, name) is not None]

    def moved(self, move: Move) -> Any:
        """Returns the image and its moved targets, as a named tuple."""
        with name_scope(None, f"{self.what}_targets", [move.image]):
            image = move.moved if move.with_targets is None else move.with_targets()
            self._check_rank("the image", image, 3)
            before, after = move.sizes or (image_size(move.image), image_size(image))
            positions = [move.homography(before, after), before, after]
            values = {"image": image}
            kept: Tensor | None = None
            if self.boxes is not None:
                values["boxes"], are_kept = self._moved_boxes(positions, move.is_inside)
                kept = None if self.min_area is None else are_kept
            if self.masks is not None:
                values["masks"] = _rows(self._moved_masks(self.masks, move, before, after), kept)
            if self.keypoints is not None:
                offset = 0.5 if move.has_whole_pixels else 0.0
                values["keypoints"] = _rows(
                    self._moved_keypoints(self.keypoints, positions, offset), kept
                )
            if kept is not None:
                values["kept"] = kept
            return result_type(tuple(values))(*values.values())

    def box_tensor(self) -> Tensor:
        """Returns the boxes as float32.

        Raises:
            ValueError: If the boxes have the wrong rank, or there are none.
        """
        require(self.boxes is not None, f"{self.what}: boxes is None, expected boxes.")
        tensor = self._floats("boxes", cast("TensorLike", self.boxes))
        self._check_rank("boxes", tensor, 2)
        return tensor

    def _moved_boxes(
        self, positions: list[Tensor], is_inside: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        attrs = {
            "what": self.what,
            "format": self.format,
            "normalized": bool(self.normalized),
            "min_area": -1.0 if self.min_area is None else float(self.min_area),
        }

        def infer(boxes: Tensor, *_: Tensor) -> Outputs:
            count = boxes.shape.as_list()[0] if boxes.shape.rank == 2 else None
            rows = count if self.min_area is None else None
            return [
                (dtypes.float32, TensorShape([rows, 4])),
                (dtypes.bool, TensorShape([count])),
            ]

        inputs = _inputs("boxes", self.box_tensor(), positions)
        if is_inside is not None:
            inputs.append(Input("is_inside", is_inside, dtypes.bool))
        moved, kept = apply_op("MoveBoxes", inputs, infer, attrs=attrs).outputs
        return moved, kept

    def _moved_keypoints(
        self, keypoints: TensorLike, positions: list[Tensor], offset: float
    ) -> Tensor:
        tensor = self._floats("keypoints", keypoints)
        self._check_rank("keypoints", tensor, 2, 3)
        attrs = {"what": self.what, "normalized": bool(self.normalized), "offset": offset}

        def infer(keypoints: Tensor, *_: Tensor) -> Outputs:
            return [(dtypes.float32, keypoints.shape)]

        inputs = _inputs("keypoints", tensor, positions)
        return apply_op("MoveKeypoints", inputs, infer, attrs=attrs).outputs[0]

    def _moved_masks(self, masks: TensorLike, move: Move, before: Tensor, after: Tensor) -> Tensor:
        tensor = convert_to_tensor(masks, name="masks")
        dtype = tensor.dtype.base_dtype
        if dtype not in (dtypes.uint8, dtypes.bool):
            raise TypeError(
                f"{self.what}: masks has type {dtype.name}, expected uint8 or bool. Cast it first."
            )
        self._check_rank("masks", tensor, 3)

        def infer(masks: Tensor, _: Tensor) -> Outputs:
            sizes = masks.shape.as_list() if masks.shape.rank == 3 else [None] * 3
            return [(masks.dtype.base_dtype, TensorShape([*sizes, 1]))]

        inputs = [
            Input("masks", cast_op(tensor, dtypes.uint8)),
            Input("size", before, dtypes.int32),
        ]
        attrs = {"what": self.what}
        images = apply_op("MasksAsImages", inputs, infer, attrs=attrs).outputs[0]
        return cast_op(squeeze(move.masks(images, after), [3]), dtype)

    def _floats(self, name: str, value: TensorLike) -> Tensor:
        tensor = convert_to_tensor(value, name=name)
        dtype = tensor.dtype.base_dtype
        if not (dtype.is_floating or dtype.is_integer):
            raise TypeError(f"{self.what}: {name} has type {dtype.name}, expected float32.")
        return cast_op(tensor, dtypes.float32)

    def _check_rank(self, name: str, tensor: Tensor, *ranks: int) -> None:
        shapes = {
            "the image": "(height, width, channels). Call it on each image, before batch",
            "boxes": "(boxes, 4). For an image without boxes, use shape (0, 4)",
            "masks": "(masks, height, width)",
            "keypoints": "(points, 2) or (objects, points, 2)",
        }
        rank = tensor.shape.rank
        require(
            None if rank is None else rank in ranks,
            f"{self.what}: {name} has shape {tensor.shape}, expected {shapes[name]}.",
        )


_OPTIONS: Final = {
    item.name: inspect.Parameter(
        item.name, inspect.Parameter.KEYWORD_ONLY, default=item.default, annotation=item.type
    )
    for item in fields(Targets)[1:]
}
_ARGS: Final = """\
    boxes: float32, (boxes, 4): boxes to move with the image, in pixels. They are clipped to the
        result, and none is removed unless you pass `min_area`.
    masks: uint8 or bool, (masks, height, width): masks to move with the image. Their pixels are
        not interpolated.
    keypoints: float32, (points, 2) or (objects, points, 2): positions x, y to move with the image.
        They are not clipped.
    format: The format of boxes: "xyxy" (left, top, right, bottom), "xywh" (left, top, width,
        height) or "cxcywh" (centre, width, height).
    normalized: If True, boxes and keypoints are fractions of the width and the height.
    min_area: The smallest area of a box in pixels of the result. Smaller boxes are removed, with
        their masks and keypoints."""
_RETURNS: Final = """ With `boxes`, `masks` or `keypoints`, a named tuple: `image`, those of
    the three that you passed, and with `min_area` also `kept`, bool, (boxes,), which is False for
    removed boxes."""


def _documented(text: str) -> str:
    """Adds the arguments for targets to a docstring."""
    sections = text.split("\n\n")
    for number, section in enumerate(sections):
        if section.startswith("Args:"):
            sections[number] = f"{section}\n{_ARGS}"
        elif section.startswith("Returns:"):
            sections[number] = section + _RETURNS
    return "\n\n".join(sections)


@functools.cache
def result_type(names: tuple[str, ...]) -> Callable[..., Any]:
    """Returns the named tuple with these fields."""
    return namedtuple("Moved", names)


def _inputs(name: str, tensor: Tensor, positions: Iterable[Tensor]) -> list[Input]:
    homography, before, after = positions
    return [
        Input(name, tensor, dtypes.float32),
        Input("homography", homography, dtypes.float64),
        Input("before", before, dtypes.int32),
        Input("after", after, dtypes.int32),
    ]


def _rows(values: Tensor, kept: Tensor | None) -> Tensor:
    return values if kept is None else boolean_mask(values, kept)


define("ImageSize", is_own=True)
define("MasksAsImages", is_own=True)
define("MoveBoxes", is_own=True)
define("MoveKeypoints", is_own=True)
