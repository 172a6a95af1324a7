"""The size of an image, from the header of its file."""

from __future__ import annotations

from headrace.core import dtypes
from headrace.core.shapes import TensorShape
from headrace.graph import Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.inference import check_rank

__all__ = ["image_size"]


def image_size(contents: TensorLike, orientation: bool = False, name: str | None = None) -> Tensor:
    """Reads the height and width of an image from its file, without decoding it.

    Use it to choose images, or to balance them across ranks, before they are decoded. If the file
    is not damaged, `decode_image` returns an image of this size.

    Args:
        contents: The bytes of the file, a scalar string in any format of `decode_image`.
        orientation: If True, returns the size after the image is rotated according to its EXIF
            data, as with `decode_image(contents, orientation=True)`.
        name: Name of the operation.

    Returns:
        int32, (2,): the height and width. If there are several frames, those of the first frame.

    Raises:
        InvalidArgumentError: When run, if the file is not an image, its header is damaged, or it
            has more than 178,956,970 pixels.

    Examples:
        >>> png = hr.native(lambda one: {"png": hr.ops.encode_png(one["x"])})
        >>> size = hr.native(lambda one: {"size": hr.ops.image_size(one["png"])})
        >>> size(png({"x": np.zeros((4, 6, 3), np.uint8)}))["size"]
        array([4, 6], dtype=int32)
    """

    def infer(contents: Tensor) -> Outputs:
        check_rank(contents.shape, 0)
        return [(dtypes.int32, TensorShape([2]))]

    inputs = [Input("contents", contents, dtypes.string)]
    attrs = {"orientation": bool(orientation)}
    return apply_op("ImageFileSize", inputs, infer, name=name, attrs=attrs).outputs[0]


define("ImageFileSize", is_own=True)
