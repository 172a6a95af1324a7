"""`tf.image`: decoding, encoding and changing images."""

from headrace.ops.image.colour import convert_image_dtype
from headrace.ops.image.decoding import (
    decode_and_crop_jpeg,
    decode_bmp,
    decode_gif,
    decode_image,
    decode_jpeg,
    decode_png,
    extract_jpeg_shape,
    is_jpeg,
)
from headrace.ops.image.encoding import encode_jpeg, encode_png

__all__ = [
    "convert_image_dtype",
    "decode_and_crop_jpeg",
    "decode_bmp",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "encode_jpeg",
    "encode_png",
    "extract_jpeg_shape",
    "is_jpeg",
]
