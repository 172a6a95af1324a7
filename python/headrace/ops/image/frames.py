"""What operations on pixels ask of their arguments when the graph is built.

An image has the shape (height, width, channels); a batch of them one axis more in front. What
is not known yet is checked again when the operation runs, in the same words.
"""

from typing import Any

from headrace.graph import Tensor
from headrace.ops.framework.conversion import convert_to_tensor, is_tensor
from headrace.shapes import TensorShape

__all__ = ["is_number", "known_sizes", "require", "resized_shape", "to_image"]


def to_image(image: Any, name: str = "image") -> Tensor:
    """Returns a tensor that can be an image or a batch of images.

    Raises:
        ValueError: If it has another rank than 3 or 4, or cannot have a pixel.
    """
    tensor = convert_to_tensor(image, name=name)
    shape = tensor.shape
    if shape.rank is None:
        return tensor
    if shape.rank < 3:
        raise ValueError(f"'image' (shape {shape}) must be at least three-dimensional.")
    if shape.rank > 4:
        raise ValueError(f"'image' (shape {shape}) must have either 3 or 4 dimensions.")
    if 0 in shape.as_list()[-3:]:
        raise ValueError(f"inner 3 dims of 'image.shape' must be > 0: {shape}")
    return tensor


def known_sizes(image: Tensor) -> tuple[int | None, int | None]:
    """Returns height and width; None for what is not known."""
    if image.shape.rank is None:
        return None, None
    height, width, _ = image.shape.as_list()[-3:]
    return height, width


def resized_shape(image: Tensor, height: Any, width: Any) -> TensorShape:
    """Returns the static shape of an image, or of a batch, of another size.

    Args:
        image: The image before. If nothing is known of it, it counts for one image.
        height: The new height; a tensor or None if it is not known.
        width: The new width.
    """
    sizes = [number if is_number(number) else None for number in (height, width)]
    if image.shape.rank is None:
        return TensorShape([*sizes, None])
    whole = image.shape.as_list()
    return TensorShape([*whole[:-3], *sizes, whole[-1]])


def is_number(value: Any) -> bool:
    """Says whether a value is a Python number and neither a tensor nor unknown."""
    return value is not None and not is_tensor(value)


def require(condition: Any, text: str) -> None:
    """Raises ValueError if a condition over known values does not hold; None is not known."""
    if condition is not None and not condition:
        raise ValueError(text)
