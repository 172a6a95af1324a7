"""Moves pixel blocks into the channels and back.

Source: `tf.depth_to_space` and `tf.space_to_depth` in TensorFlow 1.15.
"""

from __future__ import annotations

from typing import Final

from headrace.core.shapes import TensorShape, bracketed
from headrace.graph import Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.inference import ShapeConflict, check_rank
from headrace.ops.framework.kernel import Array, fail

__all__ = ["depth_to_space", "space_to_depth"]

_FORMATS: Final = ("NHWC", "NCHW")


def depth_to_space(
    input: TensorLike, block_size: int, data_format: str = "NHWC", name: str | None = None
) -> Tensor:
    """Moves channels into blocks of pixels.

    Args:
        input: Images, (batch, height, width, channels), or with channels second for "NCHW".
        block_size: The height and width of a block, at least 2.
        data_format: "NHWC" or "NCHW".
        name: Name of the operation.

    Returns:
        Images that are `block_size` times as high and as wide, with fewer channels.

    Raises:
        ValueError: If the number of channels is not a multiple of the number of pixels in a block.
    """
    order = _order_of("DepthToSpace", block_size, data_format)
    block = int(block_size)

    def sizes(shape: TensorShape) -> list[int | None]:
        batch, height, width, depth = (shape[axis].value for axis in order)
        if depth is not None and depth % block**2:
            raise ShapeConflict(
                f"Dimension size must be evenly divisible by {block**2} but is {depth}"
            )
        return [batch, _times(height, block), _times(width, block), _over(depth, block**2)]

    def kernel(array: Array) -> Array:
        _check_ndim(array)
        images = array.transpose(order)
        batch, height, width, depth = images.shape
        if depth % block**2:
            fail(f"Input depth dimension {depth} should be divisible by: {block**2}")
        split = images.reshape(batch, height, width, block, block, -1)
        moved = split.transpose(0, 1, 3, 2, 4, 5)
        return _back(moved.reshape(batch, height * block, width * block, -1), order)

    return _make("DepthToSpace", input, block, data_format, name, order, sizes, kernel)


def space_to_depth(
    input: TensorLike, block_size: int, data_format: str = "NHWC", name: str | None = None
) -> Tensor:
    """Moves blocks of pixels into the channels.

    Args:
        input: Images, (batch, height, width, channels), or with channels second for "NCHW".
        block_size: The height and width of a block, at least 2.
        data_format: "NHWC" or "NCHW".
        name: Name of the operation.

    Returns:
        Images with more channels and one pixel per block.

    Raises:
        ValueError: If the height or width is not a multiple of `block_size`.
    """
    order = _order_of("SpaceToDepth", block_size, data_format)
    block = int(block_size)

    def sizes(shape: TensorShape) -> list[int | None]:
        batch, height, width, depth = (shape[axis].value for axis in order)
        for size in (height, width):
            if size is not None and size % block:
                raise ShapeConflict(
                    f"Dimension size must be evenly divisible by {block} but is {size}"
                )
        return [batch, _over(height, block), _over(width, block), _times(depth, block**2)]

    def kernel(array: Array) -> Array:
        _check_ndim(array)
        images = array.transpose(order)
        batch, height, width, depth = images.shape
        if height % block or width % block:
            fail(f"Image width {width} and height {height} should be divisible by: {block}")
        split = images.reshape(batch, height // block, block, width // block, block, depth)
        moved = split.transpose(0, 1, 3, 2, 4, 5)
        return _back(moved.reshape(batch, height // block, width // block, -1), order)

    return _make("SpaceToDepth", input, block, data_format, name, order, sizes, kernel)


def _make(
    op_type: str,
    input: TensorLike,
    block: int,
    data_format: str,
    name: str | None,
    order: tuple[int, ...],
    sizes: object,
    kernel: object,
) -> Tensor:
    def infer(tensor: Tensor) -> Outputs:
        check_rank(tensor.shape, 4)
        result_shape = sizes(tensor.shape.with_rank(4))  # type: ignore[operator]
        return [
            (
                tensor.dtype.base_dtype,
                TensorShape([result_shape[order.index(axis)] for axis in range(4)]),
            )
        ]

    attrs = {"block_size": block, "data_format": data_format}
    inputs = [Input("input", input)]
    op = apply_op(op_type, inputs, infer, name=name, attrs=attrs, kernel=kernel)  # type: ignore[arg-type]
    return op.outputs[0]


def _order_of(op_type: str, block_size: object, data_format: str) -> tuple[int, ...]:
    """Checks the attributes and returns the batch, height, width and channel axes."""
    if not isinstance(block_size, int) or isinstance(block_size, bool):
        raise TypeError(f"Expected int for argument 'block_size' not {block_size!r}.")
    if block_size < 2:
        raise ValueError(
            f"Attr 'block_size' of '{op_type}' Op passed {block_size} less than minimum 2."
        )
    if data_format not in _FORMATS:
        allowed = '", "'.join((*_FORMATS, "NCHW_VECT_C"))
        raise ValueError(
            f"Value for attr 'data_format' of \"{data_format}\" is not in the list of allowed "
            f'values: "{allowed}"'
        )
    return (0, 1, 2, 3) if data_format == "NHWC" else (0, 2, 3, 1)


def _check_ndim(array: Array) -> None:
    if array.ndim != 4:
        fail(f"Input rank should be: 4 instead of: {array.ndim}, shape {bracketed(array.shape)}")


def _back(images: Array, order: tuple[int, ...]) -> Array:
    return images.transpose([order.index(axis) for axis in range(4)])


def _times(size: int | None, factor: int) -> int | None:
    return None if size is None else size * factor


def _over(size: int | None, divisor: int) -> int | None:
    return None if size is None else size // divisor


define("DepthToSpace")
define("SpaceToDepth")
