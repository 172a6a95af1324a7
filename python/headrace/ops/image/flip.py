"""Flipping, transposing and rotating images.

Source: `tf.image.flip_left_right` and similar functions of TensorFlow 1.15.
"""

from __future__ import annotations

from headrace.core import dtypes
from headrace.core.shapes import TensorShape, unknown_shape
from headrace.graph import Tensor, TensorLike, define, name_scope
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.inference import check_rank, like
from headrace.ops.image.frames import known_sizes, resized_shape, to_image

__all__ = ["flip_left_right", "flip_up_down", "rot90", "transpose_image"]

ROWS, COLUMNS = 0, 1


def flip_left_right(image: TensorLike) -> Tensor:
    """Flips an image, or each image of a batch, horizontally.

    Args:
        image: Numbers or bools, (height, width, channels) or (batch, height, width, channels).

    Raises:
        ValueError: If the image has the wrong rank.
    """
    with name_scope(None, "flip_left_right", [image]):
        return _flip(to_image(image), COLUMNS, [])


def flip_up_down(image: TensorLike) -> Tensor:
    """Flips an image, or each image of a batch, vertically.

    Args:
        image: Numbers or bools, (height, width, channels) or (batch, height, width, channels).

    Raises:
        ValueError: If the image has the wrong rank.
    """
    with name_scope(None, "flip_up_down", [image]):
        return _flip(to_image(image), ROWS, [])


def flip_if(image: Tensor, axis: int, draws: Tensor) -> Tensor:
    """Flips each image with a probability of 1/2, which its random number in [0, 1) decides.

    Args:
        image: An image, or a batch of them.
        axis: `ROWS` or `COLUMNS`, whose order is reversed.
        draws: float32. For an image, a scalar: the image is flipped if the number is below 1/2.
            For a batch, a vector: an image is flipped if its number is above 1/2.
    """
    return _flip(image, axis, [Input("draws", draws, dtypes.float32)])


def _flip(image: Tensor, axis: int, draws: list[Input]) -> Tensor:
    def infer(image: Tensor, *_: Tensor) -> Outputs:
        return like(image)

    inputs = [Input("image", image), *draws]
    return apply_op("FlipImage", inputs, infer, attrs={"axis": axis}).outputs[0]


def transpose_image(image: TensorLike, name: str | None = None) -> Tensor:
    """Transposes an image, or each image of a batch: rows become columns.

    Args:
        image: Numbers or bools, (height, width, channels) or (batch, height, width, channels).
        name: Name of the scope.

    Returns:
        (width, height, channels), or a batch of them.

    Raises:
        ValueError: If the image has the wrong rank.
    """
    with name_scope(name, "transpose_image", [image]):
        pixels = to_image(image)
        op = apply_op(
            "TransposeImage",
            [Input("image", pixels)],
            lambda image: [(image.dtype.base_dtype, _transposed(image))],
        )
        return op.outputs[0]


def rot90(image: TensorLike, k: TensorLike = 1, name: str | None = None) -> Tensor:
    """Rotates an image, or each image of a batch, counter-clockwise in steps of 90 degrees.

    Args:
        image: Numbers or bools, (height, width, channels) or (batch, height, width, channels).
        k: The number of steps, an integer or a scalar integer tensor.
        name: Name of the scope.

    Raises:
        ValueError: If the image has the wrong rank, or `k` is not a scalar.
    """
    with name_scope(name, "rot90", [image, k]):
        pixels = to_image(image)

        def infer(image: Tensor, quarters: Tensor) -> Outputs:
            check_rank(quarters.shape, 0)
            # As in TensorFlow, the static shape does not depend on k, even if k is known.
            is_square = len(set(known_sizes(image))) == 1
            shape = image.shape if is_square else resized_shape(image, None, None)
            return [(image.dtype.base_dtype, shape)]

        inputs = [Input("image", pixels), Input("k", k, dtypes.int32)]
        return apply_op("RotateImage", inputs, infer).outputs[0]


def _transposed(image: Tensor) -> TensorShape:
    if image.shape.rank is None:
        return unknown_shape()
    sizes = image.shape.as_list()
    sizes[-3], sizes[-2] = sizes[-2], sizes[-3]
    return TensorShape(sizes)


define("FlipImage", is_own=True)
define("RotateImage", is_own=True)
define("TransposeImage", is_own=True)
