import pytest

import headrace.tf1 as tf

FIXED, VAR = tf.FixedLenFeature, tf.VarLenFeature
ROWS, SPARSE = tf.FixedLenSequenceFeature, tf.SparseFeature


def test_feature_classes_are_tuples_with_tensorflow_fields_and_defaults():
    assert FIXED([2], tf.int64)._asdict() == {
        **{"shape": [2], "dtype": tf.int64, "default_value": None},
    }
    assert VAR(tf.string) == (tf.string,)
    assert ROWS([], tf.float32) == ([], tf.float32, False, None)
    assert SPARSE("i", "v", tf.float32, 9) == ("i", "v", tf.float32, 9, False)
    assert tf.io.FixedLenFeature is FIXED


def parse(features):
    return tf.parse_single_example(tf.placeholder(tf.string), features)


@pytest.mark.parametrize(
    ("feature", "error", "words"),
    [
        (FIXED([], None), ValueError, r"^Missing type for feature f\."),
        (VAR(None), ValueError, r"^Missing type for feature f\."),
        (ROWS([], None, allow_missing=True), ValueError, r"^Missing type for feature f\."),
        (SPARSE("i", "v", None, 9), ValueError, r"^Missing type for feature f\."),
        (FIXED(None, tf.int64), ValueError, r"^Missing shape for feature f\."),
        (ROWS(None, tf.int64, allow_missing=True), ValueError, r"^Missing shape for feature f\."),
        (FIXED([], tf.int32), TypeError, "f has DataType int32 not in list of allowed values"),
        (
            FIXED([None], tf.int64),
            ValueError,
            "First dimension of shape for feature f unknown. Con",
        ),
        (
            FIXED([2, None], tf.int64),
            ValueError,
            r"All dimensions of shape for feature f need to be known but received \[2, None\]",
        ),
        (
            ROWS([None], tf.int64, allow_missing=True),
            ValueError,
            "of shape for feature f need to be",
        ),
        (ROWS([], tf.int64), ValueError, "Unsupported: FixedLenSequenceFeature requires allow_mis"),
        (SPARSE(None, "v", tf.int64, 9), ValueError, "Missing index_key for SparseFeature"),
        (SPARSE("i", None, tf.int64, 9), ValueError, "Missing value_key for SparseFeature"),
        (
            SPARSE("i", "i", tf.float32, 9),
            ValueError,
            "Conflicting type int64 vs float32 for feature i",
        ),
        (5, ValueError, "^Invalid feature f:5.$"),
        (FIXED([2], tf.int64, 1), ValueError, "Cannot reshape"),
        (FIXED([1], tf.int64, "x"), TypeError, "x"),
        (
            SPARSE(["i"], "v", tf.int64, 9),
            TypeError,
            "vocab_size has to be a list of Tensors or Py",
        ),
        (
            SPARSE("i", "v", tf.int64, [9]),
            TypeError,
            "vocab_size has to be a list of Tensors or Py",
        ),
        (
            SPARSE(["i", "j"], "v", tf.int64, [9]),
            ValueError,
            "have to have equal lengths, got Sparse",
        ),
    ],
)
def test_invalid_features_are_rejected_at_once(feature, error, words):
    with pytest.raises(error, match=words):
        parse({"f": feature})


def test_conflicting_features_are_rejected():
    with pytest.raises(ValueError, match="Conflicting type float32 vs int64 for feature i"):
        parse({"i": VAR(tf.float32), "s": SPARSE("i", "v", tf.int64, 9)})
    with pytest.raises(ValueError, match=r"sparse keys must not intersect; intersection: \{'v'\}"):
        parse({"v": FIXED([], tf.int64), "s": SPARSE("i", "v", tf.int64, 9)})


def test_missing_features_are_rejected():
    record = tf.placeholder(tf.string)
    for parser in (tf.parse_example, tf.parse_single_example):
        for features in ({}, None):
            with pytest.raises(ValueError, match=r"^Missing"):
                parser(record, features)


def test_result_has_sparse_features_first_and_each_kind_in_order():
    features = {
        "b": FIXED([], tf.int64),
        "a": ROWS([], tf.int64, allow_missing=True),
        "Z": VAR(tf.int64),
        "é": VAR(tf.int64),
        "y": SPARSE("x", "w", tf.float32, 5),
    }
    # The parts of a SparseFeature are left out, and the feature itself is last.
    assert list(parse(features)) == ["Z", "é", "a", "b", "y"]
