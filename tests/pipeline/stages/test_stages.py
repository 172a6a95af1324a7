"""The result of each stage, for all numbers of threads and all budgets."""

import numpy as np
import pytest
from tests.pipeline.conftest import NUM_EXAMPLES, example

from headrace import pipeline as hp
from headrace.core import errors
from headrace.io.records import TFRecordWriter
from headrace.protos import Example

FEATURES = {"number": int, "floats": hp.Feature(float, (3,)), "text": bytes}


@pytest.fixture
def numbers(records):
    return hp.tfrecords(records).parse({"number": int})


def numbers_of(examples):
    return [int(number) for example in examples for number in np.ravel(example["number"])]


def test_parse_reads_examples(records, items_of):
    examples = items_of(hp.tfrecords(records).parse({**FEATURES, "list": hp.Ragged(int)}))
    assert len(examples) == NUM_EXAMPLES
    last = examples[-1]
    assert last["number"] == 999
    assert last["text"] == b"text 999"
    assert last["floats"].tolist() == [999, 999.25, -999]
    assert last["list"].tolist() == [0, 1, 2]
    assert [last["number"].dtype, last["floats"].dtype] == [np.int64, np.float32]


def test_missing_feature_uses_its_default(records, items_of):
    features = {"n": hp.Feature(int, (2,), default=7), "s": hp.Feature(str, default="none")}
    assert numbers_of(
        [{"number": row["n"]} for row in items_of(hp.tfrecords(records).parse(features))]
    )
    [first] = hp.tfrecords(records).parse(features).take(1)
    assert (first["n"].tolist(), first["s"]) == ([7, 7], "none")


def test_text_is_decoded(records):
    [batch] = hp.tfrecords(records).parse({"text": str}).take(2).batch(2)
    assert batch["text"].tolist() == ["text 0", "text 1"]


@pytest.mark.parametrize("text_bytes", [10, 10_000])
def test_strings_are_the_same_in_short_and_long_records(tmp_path, items_of, text_bytes):
    """Strings of short records are copied, and strings of long records share their memory."""
    texts = [b"%d" % number * (text_bytes // 2) for number in range(10, 60)]
    with TFRecordWriter(tmp_path / "a") as writer:
        for text in texts:
            message = Example()
            message.features.feature["text"].bytes_list.value.append(text)
            writer.write(message.SerializeToString())
    features = {"text": bytes, "none": hp.Feature(bytes, default=b"-")}
    parsed = hp.tfrecords(tmp_path / "a").parse(features)
    assert [(row["text"], row["none"]) for row in items_of(parsed)] == [
        (text, b"-") for text in texts
    ]
    [batch] = parsed.batch(50)
    assert batch["text"].tolist() == texts


def test_strings_of_short_and_long_records_fit_into_one_batch(tmp_path, items_of):
    texts = [b"ab" * (2_500 * (number // 100) + number) for number in range(200)]
    for index in range(2):
        with TFRecordWriter(tmp_path / str(index)) as writer:
            for text in texts[100 * index : 100 * (index + 1)]:
                message = Example()
                message.features.feature["text"].bytes_list.value.append(text)
                writer.write(message.SerializeToString())
    kept = hp.tfrecords(tmp_path).parse({"text": bytes}).filter(lambda row: len(row["text"]) != 6)
    expected = sorted(text for text in texts if len(text) != 6)
    mixed = kept.shuffle(window=20, seed=1)
    threads = [{"num_threads": count} for count in (1, 2, 8)]
    assert sorted(row["text"] for row in items_of(mixed, threads)) == expected
    batches = list(mixed.batch(64))
    assert sorted(text for batch in batches for text in batch["text"]) == expected


def test_error_for_a_feature_of_the_wrong_type_names_file_and_record(records):
    with pytest.raises(errors.InvalidArgumentError, match=r"0.tfrecord: record 0, Key: number"):
        list(hp.tfrecords(records).parse({"number": float}))


def test_take_skip_and_shard_count_across_files(numbers, items_of):
    assert numbers_of(items_of(numbers.skip(699).take(3))) == [699, 700, 701]
    assert numbers_of(items_of(numbers.take(5).skip(5))) == []
    shards = [numbers_of(items_of(numbers.shard(index, 3))) for index in range(3)]
    assert shards == [list(range(index, NUM_EXAMPLES, 3)) for index in range(3)]


def test_batches_can_span_files(numbers, items_of):
    sizes = [len(batch["number"]) for batch in items_of(numbers.batch(300))]
    assert sizes == [300, 300, 300, 100]
    assert numbers_of(items_of(numbers.batch(300))) == list(range(NUM_EXAMPLES))
    assert numbers_of(items_of(numbers.batch(300, "drop"))) == list(range(900))


def test_padded_remainder_has_a_mask(numbers, items_of):
    batches = items_of(numbers.batch(300, "pad"))
    assert [batch["mask"].sum() for batch in batches] == [300, 300, 300, 100]
    assert [len(batch["number"]) for batch in batches] == [300] * 4
    assert not batches[-1]["number"][100:].any()


def test_lists_are_padded_to_the_longest(records, items_of):
    lists = hp.tfrecords(records).parse({"list": hp.Ragged(int)})
    first = items_of(lists.padded_batch(4, values=-1).take(1))[0]["list"]
    assert first.tolist() == [[-1, -1, -1], [0, -1, -1], [0, 1, -1], [0, 1, 2]]
    widths = {batch["list"].shape[1] for batch in items_of(lists.padded_batch(4, multiple_of=8))}
    assert widths == {8}


def test_epochs_repeat_all_preceding_stages(numbers, items_of):
    assert numbers_of(items_of(numbers.take(3).epochs(2))) == [0, 1, 2, 0, 1, 2]
    sizes = [len(batch["number"]) for batch in items_of(numbers.take(5).batch(3).epochs(2))]
    assert sizes == [3, 2, 3, 2]
    sizes = [len(batch["number"]) for batch in items_of(numbers.take(5).epochs(2).batch(3))]
    assert sizes == [3, 3, 3, 1]
    forever = iter(numbers.take(2).epochs())
    assert numbers_of(next(forever) for _ in range(5)) == [0, 1, 0, 1, 0]


def test_unbatch_splits_examples_along_the_first_axis():
    rows = hp.arrays({"x": np.arange(12).reshape(4, 3)}).unbatch()
    assert [batch["x"].tolist() for batch in rows.batch(7)] == [list(range(7)), list(range(7, 12))]
    sums = rows.batch(7).map(lambda batch: {"sum": batch["x"].sum()})
    assert [int(batch["sum"]) for batch in sums] == [21, 45]


def test_unbatch_restores_the_examples(numbers, items_of):
    assert numbers_of(items_of(numbers.batch(7).unbatch())) == list(range(NUM_EXAMPLES))


def test_select_keeps_and_rename_renames_components(records, items_of):
    examples = items_of(hp.tfrecords(records).parse(FEATURES).select("text", "number").take(1))
    assert list(examples[0]) == ["text", "number"]
    renamed = hp.tfrecords(records).parse(FEATURES).rename(number="n", text="label").take(1)
    assert list(items_of(renamed)[0]) == ["n", "floats", "label"]


def test_concat_joins_pipelines_end_to_end(numbers, items_of):
    joined = hp.concat([numbers.take(2), numbers.skip(998), numbers.take(0), numbers.take(1)])
    assert numbers_of(items_of(joined)) == [0, 1, 998, 999, 0]
    with pytest.raises(ValueError, match="have different components"):
        hp.concat([numbers, numbers.rename(number="n")])


def test_spec_is_available_before_anything_is_opened():
    pipeline = hp.tfrecords("nowhere").parse({**FEATURES, "list": hp.Ragged(int)})
    assert pipeline.spec == {
        "list": hp.Spec(np.dtype(np.int64), (None,), is_ragged=True),
        "number": hp.Spec(np.dtype(np.int64), ()),
        "floats": hp.Spec(np.dtype(np.float32), (3,)),
        "text": hp.Spec(bytes, ()),
    }
    batch = pipeline.padded_batch(4, remainder="drop").spec
    assert batch["floats"] == hp.Spec(np.dtype(np.float32), (4, 3))
    assert batch["list"] == hp.Spec(np.dtype(np.int64), (4, None))


def test_length_of_arrays_is_known():
    rows = hp.arrays({"x": np.arange(10)})
    assert len(rows.skip(1).batch(2)) == 5
    assert len(rows.batch(4).epochs(3)) == 9
    assert len(rows.batch(4, "drop")) == 2
    assert [len(rows.shard(index, 3)) for index in range(3)] == [4, 3, 3]
    for endless in (rows.epochs(), rows.filter(bool), hp.text_lines("a")):
        with pytest.raises(TypeError, match="len: "):
            len(endless)


def test_pipelines_are_compared_by_their_stages():
    one = hp.text_lines("a").shuffle(10, seed=3).batch(4)
    assert one == hp.text_lines("a").shuffle(10, seed=3).batch(4)
    assert hash(one) == hash(hp.text_lines("a").shuffle(10, seed=3).batch(4))
    assert one != hp.text_lines("a").shuffle(10, seed=4).batch(4)
    assert (
        repr(one) == "Pipeline(text_lines(('a'), 'auto'), shuffle(10, 3, 16, 'shuffled'), "
        "batch(4, 'keep'))"
    )
    assert "component 'text': Spec(bytes, (None,))" in one.describe()


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda p: p.parse({"a": int}), ValueError, "parse: there is no component 'record'"),
        (lambda p: p.select("a"), ValueError, "there is no component 'a', expected one of 'text'"),
        (lambda p: p.select(), ValueError, "select: the names are .*, expected at least one"),
        (lambda p: p.rename(b="a"), ValueError, "rename: there is no component 'b'"),
        (lambda p: p.rename(new="text"), ValueError, r"rename\(text='new'\)"),
        (lambda p: p.batch(0), ValueError, "batch: size is 0, expected an int of at least 1"),
        (lambda p: p.batch(True), ValueError, "batch: size is True"),
        (lambda p: p.batch(2, "never"), ValueError, "remainder is 'never', expected 'keep'"),
        (lambda p: p.take(-1), ValueError, "take: count is -1"),
        (lambda p: p.skip(2**70), ValueError, "skip: count is"),
        (lambda p: p.shard(3, 3), ValueError, "index is 3, expected a number less than count"),
        (lambda p: p.epochs(2).shuffle(3), ValueError, "different epochs are never mixed"),
        (
            lambda p: p.take(2).shuffle(),
            ValueError,
            r"Pass a window, such as shuffle\(window=10_000\)",
        ),
        (lambda p: p.shuffle(0), ValueError, "shuffle: window is 0"),
        (lambda p: p.shuffle(3, seed=-1), ValueError, "shuffle: seed is -1"),
        (lambda p: p.map(3), TypeError, "map: got 3, expected a function"),
        (lambda p: p.unbatch(), ValueError, "'text' is a scalar, expected a leading axis"),
        (lambda p: p.batch(2).flat_map(list), ValueError, r"Call unbatch\(\) first"),
        (lambda p: p.options(num_threads=0), ValueError, "num_threads is 0"),
        (lambda p: p.epochs(2).epoch(0), ValueError, "has epochs"),
        (lambda p: p.prefetch(0), ValueError, "prefetch: count is 0"),
        (lambda p: hp.concat([p, 3]), TypeError, "concat: got 3"),
        (lambda p: hp.concat([]), ValueError, "concat: there are no pipelines"),
        (lambda p: hp.Feature(list), TypeError, "is not a valid type"),
        (lambda p: hp.Feature(int, (-1,)), ValueError, "expected sizes of at least 0"),
    ],
)
def test_invalid_arguments_are_rejected_at_the_call(make, error, message):
    with pytest.raises(error, match=message):
        make(hp.text_lines("a"))


@pytest.mark.parametrize(
    ("features", "error", "message"),
    [
        ({}, ValueError, "features is empty"),
        ({"a": np.int32}, TypeError, "'a' is int32, but an Example stores only int64, float32"),
        ({"a": hp.Ragged(bool)}, TypeError, "'a' is bool"),
        ({"a": "nothing"}, TypeError, "is not a valid type"),
    ],
)
def test_unsupported_features_are_rejected(features, error, message):
    with pytest.raises(error, match=message):
        hp.tfrecords("a").parse(features)


def test_parsing_batches_is_rejected():
    with pytest.raises(ValueError, match="expected one string for each example"):
        hp.tfrecords("a").batch(3).parse({"n": int})


def test_batching_lists_without_padding_is_rejected(records):
    lists = hp.tfrecords(records).parse({"list": hp.Ragged(int)})
    with pytest.raises(
        ValueError, match=r"'list' is a list whose length varies.* Use padded_batch"
    ):
        lists.batch(3)


def test_record_can_be_larger_than_a_block(tmp_path):
    with TFRecordWriter(tmp_path / "a") as writer:
        for record in (example(1), b"x" * 5_000_000, example(2)):
            writer.write(record)
    lengths = [len(row["record"]) for row in hp.tfrecords(tmp_path / "a")]
    assert lengths == [len(example(1)), 5_000_000, len(example(2))]
