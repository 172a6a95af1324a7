"""Image encoders: from pixels to the bytes of a file.

Source: `tf.image.encode_jpeg` and `tf.image.encode_png` in TensorFlow 1.15.
"""

from __future__ import annotations

from headrace.core import dtypes
from headrace.core.shapes import TensorShape
from headrace.graph import Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.inference import check_rank

__all__ = ["encode_jpeg", "encode_jpeg_variable_quality", "encode_png"]


def encode_jpeg(
    image: TensorLike,
    format: str = "",
    quality: int = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    density_unit: str = "in",
    x_density: int = 300,
    y_density: int = 300,
    xmp_metadata: str = "",
    name: str | None = None,
) -> Tensor:
    """Encodes pixels as a JPEG.

    Args:
        image: uint8, (height, width, channels), 0-255. 1 channel is grey, and 3 channels are RGB.
        format: "grayscale" or "rgb", which must match the channels. "" selects the format from the
            channels.
        quality: The quality, from 0 to 100.
        progressive: If True, the file is a progressive JPEG, which starts with a coarse image.
        optimize_size: If True, encoding takes longer, but the file is smaller and has the same
            pixels.
        chroma_downsampling: If True, chroma is stored at half the resolution.
        density_unit: The unit of the densities: "in" or "cm".
        x_density: The number of dots per unit along a row, for the header.
        y_density: The number of dots per unit along a column, for the header.
        xmp_metadata: The XMP metadata to write to the file.
        name: Name of the operation.

    Returns:
        The bytes of the file, a scalar string.

    Raises:
        InvalidArgumentError: At run time, if an argument is out of range.
    """
    attrs = {
        "format": format,
        "quality": quality,
        "progressive": bool(progressive),
        "optimize_size": bool(optimize_size),
        "chroma_downsampling": bool(chroma_downsampling),
        "density_unit": density_unit,
        "x_density": x_density,
        "y_density": y_density,
        "xmp_metadata": xmp_metadata,
    }
    inputs = [Input("image", image, dtypes.uint8)]
    return apply_op("EncodeJpeg", inputs, _infer, name=name, attrs=attrs).outputs[0]


def encode_jpeg_variable_quality(
    images: TensorLike, quality: TensorLike, name: str | None = None
) -> Tensor:
    """Encodes pixels as a JPEG. Unlike in `encode_jpeg`, the quality can be a tensor.

    Args:
        images: uint8, (height, width, channels), 0-255: 1 channel is grey, 3 are RGB.
        quality: The quality from 0 to 100, an int32 scalar.
        name: Name of the operation.

    Returns:
        The bytes of the file, a scalar string.

    Raises:
        InvalidArgumentError: At run time, if the image or the quality is invalid.
    """

    def infer(image: Tensor, number: Tensor) -> Outputs:
        check_rank(number.shape, 0)
        return _infer(image)

    inputs = [Input("images", images, dtypes.uint8), Input("quality", quality, dtypes.int32)]
    return apply_op("EncodeJpegVariableQuality", inputs, infer, name=name).outputs[0]


def encode_png(image: TensorLike, compression: int = -1, name: str | None = None) -> Tensor:
    """Encodes pixels as a PNG.

    Args:
        image: uint8 or uint16, (height, width, channels). 1 channel is grey, 2 are grey and alpha,
            3 are RGB, and 4 are RGBA.
        compression: The compression level, from 0 (none) to 9 (smallest file). -1 selects 6.
        name: Name of the operation.

    Returns:
        The bytes of the file, a scalar string.

    Raises:
        InvalidArgumentError: At run time, if an argument is out of range.
    """
    inputs = [Input("image", image, allowed=(dtypes.uint8, dtypes.uint16))]
    attrs = {"compression": compression}
    return apply_op("EncodePng", inputs, _infer, name=name, attrs=attrs).outputs[0]


def _infer(image: Tensor) -> Outputs:
    check_rank(image.shape, 3)
    return [(dtypes.string, TensorShape([]))]


define("EncodeJpeg")
define("EncodeJpegVariableQuality")
define("EncodePng")
