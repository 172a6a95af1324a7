"""Assigns image files to buckets by their aspect ratio, and crops them to their bucket's shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core import dtypes
from headrace.core.shapes import TensorShape
from headrace.graph import Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.inference import check_rank

__all__ = ["crop_to_bucket", "shape_bucket"]


def shape_bucket(
    contents: TensorLike, buckets: Sequence[tuple[int, int]], orientation: bool = False
) -> Tensor:
    """Returns the number of the bucket with the aspect ratio nearest to an image's.

    Only the header of the file is read.

    Args:
        contents: The bytes of the file, a scalar string in any format of `decode_image`.
        buckets: The height and width of each bucket.
        orientation: Whether the EXIF orientation is applied.

    Returns:
        An int32 scalar. If several buckets are equally near, the first one is returned.

    Raises:
        InvalidArgumentError: At run time, if the file is not an image or is damaged.
    """

    def infer(contents: Tensor) -> Outputs:
        check_rank(contents.shape, 0)
        return [(dtypes.int32, TensorShape([]))]

    inputs = [Input("contents", contents, dtypes.string)]
    attrs = _attrs(buckets, orientation)
    return apply_op("ShapeBucket", inputs, infer, attrs=attrs).outputs[0]


def crop_to_bucket(
    contents: TensorLike,
    bucket: TensorLike,
    buckets: Sequence[tuple[int, int]],
    orientation: bool = False,
) -> Tensor:
    """Decodes an image, scales it until it covers its bucket's shape, and crops its centre.

    Args:
        contents: The bytes of the file, a scalar string in any format of `decode_image`.
        bucket: The bucket number, an int32 scalar.
        buckets: The height and width of each bucket.
        orientation: Whether the EXIF orientation is applied.

    Returns:
        uint8, (height, width, 3), RGB, 0-255. The image is resized bilinearly with antialiasing.

    Raises:
        InvalidArgumentError: At run time, if the file is not an image or is damaged.
    """

    def infer(contents: Tensor, bucket: Tensor) -> Outputs:
        check_rank(contents.shape, 0)
        check_rank(bucket.shape, 0)
        return [(dtypes.uint8, TensorShape([None, None, 3]))]

    inputs = [
        Input("contents", contents, dtypes.string),
        Input("bucket", bucket, dtypes.int32),
    ]
    attrs = _attrs(buckets, orientation)
    return apply_op("CropToBucket", inputs, infer, attrs=attrs).outputs[0]


def _attrs(buckets: Sequence[tuple[int, int]], orientation: bool) -> dict[str, Any]:
    return {
        "orientation": bool(orientation),
        "heights": [height for height, _ in buckets],
        "widths": [width for _, width in buckets],
    }


define("ShapeBucket", is_own=True)
define("CropToBucket", is_own=True)
