"""Rotation, translation and projective transforms of images.

Source: `tf.contrib.image.transform`, `rotate` and `translate` in TensorFlow 1.15.
"""

from __future__ import annotations

import numpy as np

from headrace.core import dtypes
from headrace.core.shapes import TensorShape
from headrace.graph import Tensor, TensorLike, define, name_scope
from headrace.ops.array.fill import ones, zeros
from headrace.ops.array.join import concat, stack
from headrace.ops.array.reshape import expand_dims, squeeze
from headrace.ops.array.shape import shape
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.framework.folding import fold
from headrace.ops.framework.kernel import Array, fail
from headrace.ops.math.cast import cast
from headrace.ops.math.trigonometry import cos, sin

__all__ = [
    "angles_to_projective_transforms",
    "rotate",
    "transform",
    "translate",
    "translations_to_projective_transforms",
]

_TYPES = (
    *(dtypes.uint8, dtypes.int32, dtypes.int64),
    *(dtypes.float16, dtypes.float32, dtypes.float64),
)
_INTERPOLATIONS = ("NEAREST", "BILINEAR")


def transform(
    images: TensorLike,
    transforms: TensorLike,
    interpolation: str = "NEAREST",
    output_shape: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Applies projective transforms to images. Pixels from outside an image are 0.

    Args:
        images: (height, width), (height, width, channels) or (batch, height, width, channels);
            uint8, int32, int64 or a float type.
        transforms: float32, (8,) for all images, or (batch, 8): for a row `a0, a1, a2, b0, b1, b2,
            c0, c1`, the pixel at x, y comes from ((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k)
            with k = c0 x + c1 y + 1.
        interpolation: "NEAREST" or "BILINEAR".
        output_shape: The height and width of the result. Defaults to the height and width of the
            images.
        name: Name of the scope.

    Raises:
        TypeError: If the type or a rank is wrong, or a rank is unknown.
        ValueError: If the interpolation does not exist.
    """
    with name_scope(name, "transform", [images, transforms]):
        pixels = convert_to_tensor(images, name="images")
        rows = convert_to_tensor(transforms, dtype=dtypes.float32, name="transforms")
        if pixels.dtype.base_dtype not in _TYPES:
            raise TypeError(f"Invalid dtype {pixels.dtype}.")
        if interpolation.upper() not in _INTERPOLATIONS:
            raise ValueError(f"interpolation: got {interpolation!r}, expected NEAREST or BILINEAR.")
        if rows.shape.rank is None:
            raise TypeError("transform_or_transforms rank must be statically known")
        if rows.shape.rank not in (1, 2):
            raise TypeError("Transforms should have rank 1 or 2.")
        rows = expand_dims(rows, 0) if rows.shape.rank == 1 else rows
        pixels, rank = _as_batch(pixels)
        size = shape(pixels)[1:3] if output_shape is None else output_shape
        to = convert_to_tensor(size, dtypes.int32)
        result = project(pixels, rows, to, interpolation.upper())
        return _from_batch(result, rank)


def rotate(
    images: TensorLike,
    angles: TensorLike,
    interpolation: str = "NEAREST",
    name: str | None = None,
) -> Tensor:
    """Rotates images counter-clockwise around their centre. Uncovered corners are 0.

    Args:
        images: See `transform`.
        angles: The angles in radians: a scalar for all images, or a vector.
        interpolation: "NEAREST" or "BILINEAR".
        name: Name of the scope.

    Raises:
        TypeError: See `transform`.
        ValueError: See `transform`.
    """
    with name_scope(name, "rotate", [images, angles]):
        pixels, rank = _as_batch(convert_to_tensor(images))
        size = cast(shape(pixels), dtypes.float32)
        rows = angles_to_projective_transforms(angles, size[1:2], size[2:3])
        return _from_batch(transform(pixels, rows, interpolation), rank)


def translate(
    images: TensorLike,
    translations: TensorLike,
    interpolation: str = "NEAREST",
    name: str | None = None,
) -> Tensor:
    """Moves images to the right and down.

    Args:
        images: See `transform`.
        translations: float32, (2,) or (batch, 2): dx and dy in pixels.
        interpolation: "NEAREST" or "BILINEAR".
        name: Name of the scope.

    Raises:
        TypeError: See `transform`.
        ValueError: See `transform`.
    """
    with name_scope(name, "translate", [images, translations]):
        rows = translations_to_projective_transforms(translations)
        return transform(images, rows, interpolation)


def angles_to_projective_transforms(
    angles: TensorLike,
    image_height: TensorLike,
    image_width: TensorLike,
    name: str | None = None,
) -> Tensor:
    """Returns the transforms that rotate images around their centre: float32, (n, 8).

    Args:
        angles: The angles in radians, a scalar or a vector.
        image_height: The height of the images, float32.
        image_width: The width of the images, float32.
        name: Name of the scope.

    Raises:
        TypeError: If the angles have the wrong rank.
    """
    with name_scope(name, "angles_to_projective_transforms", [angles]):
        turns = convert_to_tensor(angles, dtype=dtypes.float32, name="angles")
        if turns.shape.rank not in (0, 1):
            raise TypeError("Angles should have rank 0 or 1.")
        turns = expand_dims(turns, 0) if turns.shape.rank == 0 else turns
        right = convert_to_tensor(image_width, dtype=dtypes.float32) - 1.0
        down = convert_to_tensor(image_height, dtype=dtypes.float32) - 1.0
        x = (right - (cos(turns) * right - sin(turns) * down)) / 2.0
        y = (down - (sin(turns) * right + cos(turns) * down)) / 2.0
        rows = stack([cos(turns), -sin(turns), x, sin(turns), cos(turns), y], axis=1)
        return concat([rows, zeros(stack([shape(turns)[0], 2]), dtypes.float32)], 1)


def translations_to_projective_transforms(
    translations: TensorLike, name: str | None = None
) -> Tensor:
    """Returns the transforms that shift images: float32, (n, 8).

    Args:
        translations: float32, (2,) or (n, 2): the distances to the right and down, in pixels.
        name: Name of the scope.

    Raises:
        TypeError: If the translations have the wrong rank.
    """
    with name_scope(name, "translations_to_projective_transforms", [translations]):
        moves = convert_to_tensor(translations, dtype=dtypes.float32, name="translations")
        if moves.shape.rank not in (1, 2):
            raise TypeError("Translations should have rank 1 or 2.")
        moves = expand_dims(moves, 0) if moves.shape.rank == 1 else moves
        count = shape(moves)[0]
        one, none = ones(stack([count, 1])), zeros(stack([count, 1]))
        x, y = -moves[:, 0:1], -moves[:, 1:2]
        return concat([one, none, x, none, one, y, none, none], 1)


def _as_batch(pixels: Tensor) -> tuple[Tensor, int]:
    """Returns images with four axes, and their original number of axes."""
    rank = pixels.shape.rank
    if rank is None:
        raise TypeError("image_or_images rank must be statically known")
    if rank not in (2, 3, 4):
        raise TypeError("Images should have rank between 2 and 4.")
    pixels = pixels if rank == 4 else expand_dims(pixels, 0)
    return (expand_dims(pixels, -1) if rank == 2 else pixels), rank


def _from_batch(pixels: Tensor, rank: int) -> Tensor:
    axes = {2: [0, 3], 3: [0]}.get(rank)
    return pixels if axes is None else squeeze(pixels, axes)


def project(
    pixels: Tensor,
    rows: Tensor,
    size: Tensor,
    interpolation: str = "NEAREST",
    name: str | None = None,
) -> Tensor:
    """Adds the `transform` operation, for a batch of images and "NEAREST" or "BILINEAR"."""
    static = fold(size)
    height, width = (None, None) if static is None else (int(n) for n in static)
    batch, *_, channels = pixels.shape.with_rank(4).as_list()

    def infer(images: Tensor, transforms: Tensor, size: Tensor) -> Outputs:
        return [(images.dtype.base_dtype, TensorShape([batch, height, width, channels]))]

    def kernel(images: Array, transforms: Array, size: Array) -> Array:
        if transforms.shape[1:] != (8,) or len(transforms) not in (1, len(images)):
            fail(
                "Input transform should be num_images x 8 or 1 x 8: got "
                f"{list(transforms.shape)} for {len(images)} images."
            )
        rows = np.broadcast_to(transforms, (len(images), 8))
        images_out = [_moved(i, r, size, interpolation) for i, r in zip(images, rows, strict=True)]
        return (
            np.stack(images_out)
            if images_out
            else np.zeros((0, *size, images.shape[3]), images.dtype)
        )

    inputs = [
        Input("images", pixels),
        Input("transforms", rows, dtypes.float32),
        Input("output_shape", size, dtypes.int32),
    ]
    attrs = {"interpolation": interpolation}
    kind = "ImageProjectiveTransformV2"
    op = apply_op(kind, inputs, infer, name=name, attrs=attrs, kernel=kernel)
    return op.outputs[0]


def _moved(image: Array, row: Array, size: Array, interpolation: str) -> Array:
    """Transforms one image of shape (height, width, channels)."""
    y, x = np.meshgrid(*(np.arange(n, dtype=np.float32) for n in size), indexing="ij")
    a, b, c = row[:3], row[3:6], row[6:]
    depth = c[0] * x + c[1] * y + np.float32(1)
    with np.errstate(divide="ignore", invalid="ignore"):
        from_x = (a[0] * x + a[1] * y + a[2]) / depth
        from_y = (b[0] * x + b[1] * y + b[2]) / depth
    # A pixel without a source is treated like one outside the image.
    nowhere = ~(np.isfinite(from_x) & np.isfinite(from_y))
    from_x[nowhere] = from_y[nowhere] = -9
    if interpolation == "NEAREST":
        return _read(image, _rounded(from_y), _rounded(from_x))
    left, top = np.floor(from_x), np.floor(from_y)
    right, bottom = left + np.float32(1), top + np.float32(1)
    to_left, to_right = (right - from_x)[..., None], (from_x - left)[..., None]
    pixels = image.astype(np.float32)
    upper = to_left * _read(pixels, top, left) + to_right * _read(pixels, top, right)
    lower = to_left * _read(pixels, bottom, left) + to_right * _read(pixels, bottom, right)
    mixed = (bottom - from_y)[..., None] * upper + (from_y - top)[..., None] * lower
    return np.asarray(mixed.astype(image.dtype))


def _rounded(coordinates: Array) -> Array:
    """Rounds numbers, with halves away from 0."""
    integers = np.trunc(coordinates)
    return np.asarray(integers + np.copysign(np.abs(coordinates - integers) >= 0.5, coordinates))


def _read(image: Array, y: Array, x: Array) -> Array:
    """Returns the pixels at the given positions, with 0 outside the image."""
    height, width, _ = image.shape
    inside = (y >= 0) & (y < height) & (x >= 0) & (x < width)
    rows, columns = (np.where(inside, coordinates, 0).astype(np.int64) for coordinates in (y, x))
    pixels = image[rows, columns] if height and width else np.zeros((*y.shape, image.shape[2]))
    return np.where(inside[..., None], pixels, image.dtype.type(0))


define("ImageProjectiveTransformV2")
