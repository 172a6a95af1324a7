"""Decompressing strings.

Source: `tf.decode_compressed` of TensorFlow 1.15.
"""

from __future__ import annotations

from headrace.core.dtypes import string
from headrace.graph import Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input, apply_op

__all__ = ["decode_compressed"]


def decode_compressed(
    bytes: TensorLike, compression_type: str = "", name: str | None = None
) -> Tensor:
    """Decompresses strings, each by itself.

    In a pipeline, each string is read to its end: all streams in it are read, and truncated data
    are an error. Under the names of TensorFlow 1, as there, only the first zlib stream is read, and
    truncated data give the part that exists.

    Args:
        bytes: The strings, of any shape.
        compression_type: "GZIP" (several members follow each other), "ZLIB", or "" for strings that
            are not compressed.
        name: Name of the operation.

    Returns:
        The decompressed strings, of the same shape.

    Raises:
        DataLossError: When run: a string is damaged or has another compression.
        InvalidArgumentError: When run: there is no such compression.
    """
    return apply_op(
        "DecodeCompressed",
        [Input("bytes", bytes, dtype=string)],
        lambda strings: [(string, strings.shape)],
        name=name,
        attrs={"compression_type": compression_type},
    ).outputs[0]


define("DecodeCompressed")
