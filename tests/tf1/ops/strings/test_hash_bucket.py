import re

import pytest

import headrace.tf1 as tf

# The results of TensorFlow for the words below.
STRONG = [646, 622, 435, 326]
FIRST = [868, 938, 899, 341]


def test_hash_buckets_match_tensorflow(run):
    words = ["a", "hello", "", "x" * 20, "y" * 40, "z" * 70, "w" * 200]
    result = tf.string_to_hash_bucket_fast(words, 1000)
    assert (result.dtype, result.shape) == (tf.int64, [7])
    assert run(result).tolist() == [939, 296, 263, 348, 6, 619, 728]
    assert run(tf.strings.to_hash_bucket_fast("a", 2**62)) == 3694432073954588131


def test_at_least_one_bucket_is_required():
    words = "Attr 'num_buckets' of 'StringToHashBucketFast' Op passed 0 less than minimum 1."
    with pytest.raises(ValueError, match=re.escape(words)):
        tf.string_to_hash_bucket_fast("a", 0)
    with pytest.raises(TypeError, match="Expected string passed to parameter 'input'"):
        tf.string_to_hash_bucket_fast(5, 3)


def test_strong_and_legacy_hashes_match_tensorflow(run):
    words = ["a", "hello", "", "x" * 20]
    strong = tf.string_to_hash_bucket_strong(words, 1000, [1, 2])
    assert (strong.dtype, strong.shape) == (tf.int64, [4])
    first = tf.string_to_hash_bucket(words, 1000)
    assert run([strong, first])[0].tolist() == STRONG
    assert run(first).tolist() == FIRST
    assert run(tf.strings.to_hash_bucket_strong("a", 1000, (1, 2))) == STRONG[0]
    assert run(tf.strings.to_hash_bucket(input="a", num_buckets=1000)) == FIRST[0]


def test_keys_and_buckets_are_checked(run):
    with pytest.raises(TypeError, match="Expected list for 'key' argument"):
        tf.string_to_hash_bucket_strong("a", 9, 5)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Key must have 2 elements"):
        run(tf.string_to_hash_bucket_strong("a", 9, [1]))
    with pytest.raises(TypeError, match="num_buckets is None, but it is required"):
        tf.string_to_hash_bucket("a")
    with pytest.raises(ValueError, match="passed 0 less than minimum 1"):
        tf.string_to_hash_bucket("a", 0)
