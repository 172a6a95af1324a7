import re

import pytest

import headrace.tf1 as tf


def test_buckets_are_tensorflows(run):
    words = ["a", "hello", "", "x" * 20, "y" * 40, "z" * 70, "w" * 200]
    result = tf.string_to_hash_bucket_fast(words, 1000)
    assert (result.dtype, result.shape) == (tf.int64, [7])
    assert run(result).tolist() == [939, 296, 263, 348, 6, 619, 728]
    assert run(tf.strings.to_hash_bucket_fast("a", 2**62)) == 3694432073954588131


def test_there_is_a_bucket_at_least():
    words = "Attr 'num_buckets' of 'StringToHashBucketFast' Op passed 0 less than minimum 1."
    with pytest.raises(ValueError, match=re.escape(words)):
        tf.string_to_hash_bucket_fast("a", 0)
    with pytest.raises(TypeError, match="Expected string passed to parameter 'input'"):
        tf.string_to_hash_bucket_fast(5, 3)
