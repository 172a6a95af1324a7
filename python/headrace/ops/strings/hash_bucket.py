"""Strings as numbers of buckets.

Source: `tf.strings.to_hash_bucket_fast` of TensorFlow 1.15.
"""

from typing import Any

from headrace import dtypes
from headrace.graph import Tensor, define
from headrace.ops.framework.arguments import Input, apply_op

__all__ = ["string_to_hash_bucket_fast"]


def string_to_hash_bucket_fast(input: Any, num_buckets: int, name: str | None = None) -> Tensor:
    """Returns for each string the number of its bucket.

    Equal strings have equal numbers, on every machine and for good. Who knows the hash (FarmHash)
    can make strings that fall into one bucket.

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

    def infer(strings: Tensor) -> Any:
        return [(dtypes.int64, strings.shape)]

    inputs = [Input("input", input, dtypes.string)]
    attrs = {"num_buckets": num_buckets}
    return apply_op("StringToHashBucketFast", inputs, infer, name=name, attrs=attrs).outputs[0]


define("StringToHashBucketFast")
