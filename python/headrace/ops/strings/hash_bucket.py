"""Hashing strings into buckets.

Source: `tf.strings.to_hash_bucket_fast` of TensorFlow 1.15.
"""

from __future__ import annotations

from headrace import dtypes
from headrace.graph import Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.batching import elementwise

__all__ = ["string_to_hash_bucket_fast"]


def string_to_hash_bucket_fast(
    input: TensorLike, num_buckets: int, name: str | None = None
) -> Tensor:
    """Hashes each string into a bucket and returns the bucket's number.

    Equal strings have equal numbers, on every machine and in every version. The hash (FarmHash) is
    not cryptographic: strings that share a bucket can be made on purpose.

    Args:
        input: The strings.
        num_buckets: How many buckets there are.
        name: Name of the operation.

    Returns:
        An int64 tensor of the same shape, in [0, num_buckets).

    Raises:
        ValueError: If there is no bucket.
    """
    if num_buckets < 1:
        raise ValueError(
            f"Attr 'num_buckets' of 'StringToHashBucketFast' Op passed {num_buckets} less than "
            "minimum 1. Ask for at least one bucket."
        )

    def infer(strings: Tensor) -> Outputs:
        return [(dtypes.int64, strings.shape)]

    inputs = [Input("input", input, dtypes.string)]
    attrs = {"num_buckets": num_buckets}
    return apply_op("StringToHashBucketFast", inputs, infer, name=name, attrs=attrs).outputs[0]


define("StringToHashBucketFast", batch_rule=elementwise)
