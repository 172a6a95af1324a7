"""Hashing strings into buckets.

Source: `tf.strings.to_hash_bucket_fast` and similar functions in TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core import dtypes
from headrace.graph import Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.batching import elementwise

__all__ = [
    "string_to_hash_bucket",
    "string_to_hash_bucket_fast",
    "string_to_hash_bucket_strong",
]


def string_to_hash_bucket_fast(
    input: TensorLike, num_buckets: int, name: str | None = None
) -> Tensor:
    """Hashes each string and returns the index of its bucket.

    Equal strings have the same result on every machine and in every version. The hash (FarmHash) is
    not cryptographic: an attacker can create strings that share a bucket.

    Args:
        input: The strings.
        num_buckets: The number of buckets.
        name: Name of the operation.

    Returns:
        An int64 tensor of the same shape, in [0, num_buckets).

    Raises:
        ValueError: If `num_buckets` is below 1.

    Examples:
        >>> bucket = hr.ops.string_to_hash_bucket_fast
        >>> hash_word = hr.native(lambda one: {"n": bucket(one["x"], 100)})
        >>> hash_word({"x": b"apple"})
        {'n': np.int64(1)}
    """
    return _hashed("StringToHashBucketFast", "input", input, num_buckets, name)


def string_to_hash_bucket_strong(
    input: TensorLike, num_buckets: int, key: Sequence[int], name: str | None = None
) -> Tensor:
    """Hashes each string with a key and returns the index of its bucket.

    Equal strings have the same result on every machine and in every version. Without the key,
    nobody can create many strings that share a bucket. The hash (SipHash) is slower than that of
    `string_to_hash_bucket_fast`.

    Args:
        input: The strings.
        num_buckets: The number of buckets.
        key: Two integers.
        name: Name of the operation.

    Returns:
        An int64 tensor of the same shape, in [0, num_buckets).

    Raises:
        InvalidArgumentError: At run time, if the key has the wrong length.
        TypeError: If the key is not a list.
        ValueError: If `num_buckets` is below 1.
    """
    if not isinstance(key, (list, tuple)):
        raise TypeError(
            "Expected list for 'key' argument to 'string_to_hash_bucket_strong' Op, not "
            f"{key!r}. Pass two integers."
        )
    attrs = {"key": [int(number) for number in key]}
    return _hashed("StringToHashBucketStrong", "input", input, num_buckets, name, attrs)


def string_to_hash_bucket(
    string_tensor: TensorLike, num_buckets: int, name: str | None = None
) -> Tensor:
    """Hashes each string to a bucket, with the hash function of early TensorFlow versions.

    Use `string_to_hash_bucket_fast` in new programs: its hash function is better and will never
    change.

    Args:
        string_tensor: The strings.
        num_buckets: The number of buckets.
        name: Name of the operation.

    Returns:
        An int64 tensor of the same shape, in [0, num_buckets).

    Raises:
        ValueError: If `num_buckets` is below 1.
    """
    return _hashed("StringToHashBucket", "string_tensor", string_tensor, num_buckets, name)


def _hashed(
    op_type: str,
    parameter: str,
    strings: TensorLike,
    num_buckets: int,
    name: str | None,
    more: dict[str, Any] | None = None,
) -> Tensor:
    if num_buckets < 1:
        raise ValueError(
            f"Attr 'num_buckets' of '{op_type}' Op passed {num_buckets} less than minimum 1. "
            "Use at least one bucket."
        )

    def infer(strings: Tensor) -> Outputs:
        return [(dtypes.int64, strings.shape)]

    inputs = [Input(parameter, strings, dtypes.string)]
    attrs = {"num_buckets": num_buckets, **(more or {})}
    return apply_op(op_type, inputs, infer, name=name, attrs=attrs).outputs[0]


define("StringToHashBucket", batch_rule=elementwise)
define("StringToHashBucketFast", batch_rule=elementwise)
define("StringToHashBucketStrong", batch_rule=elementwise)
