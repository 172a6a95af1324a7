"""`tf.image`: decoding, encoding and changing images."""

from typing import TYPE_CHECKING

from headrace.ops.image.colour import (
    adjust_brightness,
    adjust_contrast,
    adjust_gamma,
    adjust_hue,
    adjust_saturation,
    convert_image_dtype,
    grayscale_to_rgb,
    hsv_to_rgb,
    per_image_standardization,
    rgb_to_grayscale,
    rgb_to_hsv,
    rgb_to_yiq,
    rgb_to_yuv,
    yiq_to_rgb,
    yuv_to_rgb,
)
from headrace.ops.image.crop import (
    central_crop,
    crop_to_bounding_box,
    pad_to_bounding_box,
    resize_image_with_crop_or_pad,
)
from headrace.ops.image.crop import (
    resize_image_with_crop_or_pad as resize_with_crop_or_pad,
)
from headrace.ops.image.decode import (
    decode_and_crop_jpeg,
    decode_bmp,
    decode_gif,
    decode_jpeg,
    decode_png,
    extract_jpeg_shape,
    is_jpeg,
)
from headrace.ops.image.differences import image_gradients, psnr, sobel_edges, total_variation
from headrace.ops.image.encode import encode_jpeg, encode_png
from headrace.ops.image.flip import flip_left_right, flip_up_down, rot90, transpose_image
from headrace.ops.image.flip import transpose_image as transpose
from headrace.ops.image.jpeg_quality import adjust_jpeg_quality, random_jpeg_quality
from headrace.ops.image.random import (
    random_brightness,
    random_contrast,
    random_crop,
    random_flip_left_right,
    random_flip_up_down,
    random_hue,
    random_saturation,
)
from headrace.ops.image.resize import resize_area
from headrace.ops.random.bounding_box import sample_distorted_bounding_box
from headrace.tf1.adapters.image import (
    ResizeMethod,
    crop_and_resize,
    decode_image,
    draw_bounding_boxes,
    extract_image_patches,
    extract_patches,
    resize_bicubic,
    resize_bilinear,
    resize_image_with_pad,
    resize_images,
    resize_nearest_neighbor,
)
from headrace.tf1.adapters.image import resize_images as resize
from headrace.tf1.namespace import namespace
from headrace.tf1.ops.image.similarity import ssim, ssim_multiscale
from headrace.tf1.ops.image.suppression import (
    non_max_suppression,
    non_max_suppression_overlaps,
    non_max_suppression_padded,
)

__all__ = [
    "ResizeMethod",
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_jpeg_quality",
    "adjust_saturation",
    "central_crop",
    "convert_image_dtype",
    "crop_and_resize",
    "crop_to_bounding_box",
    "decode_and_crop_jpeg",
    "decode_bmp",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "draw_bounding_boxes",
    "encode_jpeg",
    "encode_png",
    "extract_image_patches",
    "extract_jpeg_shape",
    "extract_patches",
    "flip_left_right",
    "flip_up_down",
    "grayscale_to_rgb",
    "hsv_to_rgb",
    "image_gradients",
    "is_jpeg",
    "non_max_suppression",
    "non_max_suppression_overlaps",
    "non_max_suppression_padded",
    "pad_to_bounding_box",
    "per_image_standardization",
    "psnr",
    "random_brightness",
    "random_contrast",
    "random_crop",
    "random_flip_left_right",
    "random_flip_up_down",
    "random_hue",
    "random_jpeg_quality",
    "random_saturation",
    "resize",
    "resize_area",
    "resize_bicubic",
    "resize_bilinear",
    "resize_image_with_crop_or_pad",
    "resize_image_with_pad",
    "resize_images",
    "resize_nearest_neighbor",
    "resize_with_crop_or_pad",
    "rgb_to_grayscale",
    "rgb_to_hsv",
    "rgb_to_yiq",
    "rgb_to_yuv",
    "rot90",
    "sample_distorted_bounding_box",
    "sobel_edges",
    "ssim",
    "ssim_multiscale",
    "total_variation",
    "transpose",
    "transpose_image",
    "yiq_to_rgb",
    "yuv_to_rgb",
]

if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__)
