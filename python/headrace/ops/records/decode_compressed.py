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

    In a pipeline, each is read to its end: several streams one after the other are all read, and
    data that are cut short are an error. Under the names of TensorFlow 1, the first zlib stream
    alone is, and what is there of data that are cut short, as there.

    Args:
        bytes: The strings, of any shape.
        compression_type: "GZIP" (several members follow each other), "ZLIB", or "" for strings that
            are not compressed.
        name: Name of the operation.

    Returns:
        The decompressed strings, of the same shape. One that is cut short gives what there is.

    Raises:
        DataLossError: When run: a string is damaged or not compressed so.
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
