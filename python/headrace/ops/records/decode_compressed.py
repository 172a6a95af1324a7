"""Decompressing strings.

Source: `tf.decode_compressed` in TensorFlow 1.15.
"""

from __future__ import annotations

from headrace.core.dtypes import string
from headrace.graph import Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input, apply_op

__all__ = ["decode_compressed"]


def decode_compressed(
    bytes: TensorLike, compression_type: str = "", name: str | None = None
) -> Tensor:
    """Decompresses each string separately.

    In a pipeline, all streams of a string are read, and truncated data is an error. In a TensorFlow
    1 graph, only the first zlib stream is read, and for truncated data, the available part is
    returned, as in TensorFlow.

    Args:
        bytes: The strings, of any shape.
        compression_type: "GZIP" (also with several members), "ZLIB", or "" for uncompressed
            strings.
        name: Name of the operation.

    Returns:
        The decompressed strings, of the same shape.

    Raises:
        DataLossError: At run time, if a string is damaged or has a different compression.
        InvalidArgumentError: At run time, if the compression type does not exist.
    """
    return apply_op(
        "DecodeCompressed",
        [Input("bytes", bytes, dtype=string)],
        lambda strings: [(string, strings.shape)],
        name=name,
        attrs={"compression_type": compression_type},
    ).outputs[0]


define("DecodeCompressed")
