"""Colours of images: their types, their spaces, and changes of them.

Source: `tf.image.convert_image_dtype` and its kin of TensorFlow 1.15.
"""

from typing import Any

from headrace.dtypes import as_dtype
from headrace.graph import Tensor, name_scope
from headrace.ops.arithmetic import floordiv, multiply
from headrace.ops.casting import cast
from headrace.ops.conversion import convert_to_tensor
from headrace.ops.placeholders import identity
from headrace.ops.saturation import saturate_cast

__all__ = ["convert_image_dtype"]


def convert_image_dtype(
    image: Any, dtype: Any, saturate: bool = False, name: str | None = None
) -> Tensor:
    """Converts pixels to another type and scales them to its range.

    Floats are from 0 to 1, integers from 0 to the largest of their type.

    Args:
        image: The pixels, of any shape.
        dtype: The type to make, of floats or integers.
        saturate: Whether values outside of the range become its ends; without it they wrap.
        name: Name of the operation.

    Returns:
        `dtype`, of the shape of `image`.

    Raises:
        AttributeError: If `dtype` is neither of floats nor of integers.
    """
    pixels = convert_to_tensor(image, name="image")
    wanted = as_dtype(dtype)
    if not (wanted.is_floating or wanted.is_integer):
        raise AttributeError("dtype must be either floating point or integer")
    given = pixels.dtype.base_dtype
    if wanted == given:
        return identity(pixels, name=name)
    convert = saturate_cast if saturate else cast
    with name_scope(name, "convert_image", [pixels]) as scope:
        if given.is_integer and wanted.is_integer:
            if given.max > wanted.max:
                scale = (given.max + 1) // (wanted.max + 1)
                return convert(floordiv(pixels, scale), wanted, name=scope)
            scale = (wanted.max + 1) // (given.max + 1)
            return multiply(convert(pixels, wanted), scale, name=scope)
        if given.is_floating and wanted.is_floating:
            return cast(pixels, wanted, name=scope)
        if given.is_integer:
            return multiply(cast(pixels, wanted), 1.0 / given.max, name=scope)
        # Half a step more, so that the cast, which cuts off, does not lose the largest value.
        return convert(multiply(pixels, wanted.max + 0.5), wanted, name=scope)
