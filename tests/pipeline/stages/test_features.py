"""The features of `parse`: classes of TensorFlow 1, and lists that no record has."""

import warnings

import numpy as np
import pytest
from tests.pipeline.conftest import example

import headrace as hr
from headrace import ops
from headrace.core import dtypes, errors
from headrace.io.records import TFRecordWriter


@pytest.fixture
def records(tmp_path):
    with TFRecordWriter(tmp_path / "a") as writer:
        for number in range(2500):
            writer.write(example(number))
    return hr.tfrecords(tmp_path / "a")


def test_integers_are_never_rounded_to_floats(records):
    for feature in (float, hr.Ragged(float)):
        with pytest.raises(errors.InvalidArgumentError, match=r"/a: record 0, Key: number.*int64"):
            list(records.parse({"number": feature}))


def test_tensorflow_1_feature_classes_are_accepted(records):
    features = {
        "number": ops.FixedLenFeature([], dtypes.int64),
        "floats": ops.FixedLenFeature((3,), dtypes.float32),
        "text": ops.FixedLenFeature([], dtypes.string),
        "list": ops.VarLenFeature(dtypes.int64),
        "other": ops.FixedLenFeature([2], dtypes.string, default_value=["a", b"b"]),
        "word": ops.FixedLenFeature([], dtypes.string, "none"),
        "more": ops.FixedLenFeature([], dtypes.float32, default_value=0.5),
    }
    pipeline = records.parse(features)
    plain = records.parse(
        {
            "number": int,
            "floats": hr.Feature(float, (3,)),
            "text": bytes,
            "list": hr.Ragged(int),
            "other": hr.Feature(bytes, (2,), default=np.array([b"a", b"b"], object)),
            "word": hr.Feature(bytes, default=b"none"),
            "more": hr.Feature(float, default=0.5),
        }
    )
    assert pipeline.spec == plain.spec
    example = next(iter(pipeline.skip(7)))
    assert {name: np.asarray(value).tolist() for name, value in example.items()} == {
        "list": [0, 1, 2],
        "number": 7,
        "floats": [7, 7.25, -7],
        "text": b"text 7",
        "other": [b"a", b"b"],
        "word": b"none",
        "more": 0.5,
    }
    sequence = ops.FixedLenSequenceFeature([], dtypes.int64, allow_missing=True)
    assert next(iter(records.parse({"list": sequence}).skip(7)))["list"].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("feature", "error", "message"),
    [
        (ops.SparseFeature("i", "v", dtypes.int64, 9), TypeError, "'x' is a SparseFeature.*Ragged"),
        (
            ops.FixedLenFeature([None], dtypes.int64),
            ValueError,
            r"'x' has the shape .*all dimensions must be known",
        ),
        (
            ops.FixedLenSequenceFeature([2], dtypes.int64, allow_missing=True),
            ValueError,
            r"'x' is FixedLenSequenceFeature.*but only shape \(\)",
        ),
        (ops.FixedLenSequenceFeature([], dtypes.int64), ValueError, "'x' is .* allow_missing=True"),
        (ops.VarLenFeature(dtypes.int32), TypeError, "'x' is int32, but an Example stores"),
    ],
)
def test_unsupported_features_are_rejected(records, feature, error, message):
    with pytest.raises(error, match=f"parse: the feature {message}"):
        records.parse({"x": feature})


@pytest.mark.parametrize("way", [{"num_threads": 1}, {"num_threads": 8, "memory_bytes": 1 << 20}])
def test_list_missing_from_every_record_causes_one_warning(records, way):
    pipeline = records.parse({"lsit": hr.Ragged(int), "number": int})
    pipeline = pipeline.padded_batch(100).options(**way)
    batches = iter(pipeline.epochs(2))
    with pytest.warns(UserWarning, match="parse: no record has a feature named") as caught:
        results = list(batches)
    assert len(results) == 50
    [warning] = caught
    text = str(warning.message)
    assert "records read), so these lists are empty. For comparison, one record has " in text
    assert all(f"'{name}'" in text for name in ("number", "text", "floats", "list"))
    assert warning.filename == __file__


def test_warning_for_few_records_comes_at_the_end(records):
    batches = iter(records.parse({"lsit": hr.Ragged(int)}).take(5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        [next(batches) for _ in range(5)]
    with pytest.warns(UserWarning, match="parse: no record has a feature named 'lsit'"):
        assert list(batches) == []


def test_list_present_in_some_record_causes_no_warning(records, tmp_path):
    with TFRecordWriter(tmp_path / "b") as writer:
        for number in range(1500):
            writer.write(example(4 if number < 1499 else 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(list(records.parse({"list": hr.Ragged(int)}).padded_batch(10))) == 250
        # Its name is in each record, but the lists are empty.
        assert len(list(hr.tfrecords(tmp_path / "b").parse({"list": hr.Ragged(int)}))) == 1500
        assert list(records.take(0).parse({"lsit": hr.Ragged(int)})) == []
