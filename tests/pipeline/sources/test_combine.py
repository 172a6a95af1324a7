"""Combined pipelines: mixed, side by side, one after the other."""

import numpy as np
import pytest
from tests.pipeline.conftest import LARGE_WAYS, example

from headrace import pipeline as hp
from headrace.core import errors
from headrace.io.records import TFRecordWriter


def numbers(start, stop, name="n"):
    return hp.arrays({name: np.arange(start, stop)})


def values(examples, name="n"):
    return [int(row[name]) for row in examples]


def test_example_skipped_by_a_longer_part_after_the_end_is_not_reported():
    def failing(example):
        if example["m"] in (1, 5):
            raise LookupError
        return example

    longer = numbers(0, 20, "m").map(failing).skip_errors(9)
    pipeline = hp.zip([numbers(0, 4), longer], strict=False)
    with iter(pipeline) as batches:
        states = [batches.state()]
        states += [batches.state() for _ in batches]
    # The row after number 5 is not wanted: the shortest part has ended.
    for state in states:
        with pipeline.resume(state) as resumed:
            assert len(list(resumed)) == 4 - states.index(state)
            assert [len(actual) for actual in (batches.skipped, resumed.skipped)] == [1, 1]


def test_mix_draws_by_weight_and_keeps_the_order_of_each_part(items_of):
    mixed = hp.mix([numbers(0, 9000), numbers(10_000, 19_000)], weights=[3, 1], seed=5, stop="all")
    result = np.array(values(items_of(mixed.take(8000))))
    for part in (result[result < 10_000], result[result >= 10_000]):
        assert (np.diff(part) == 1).all()
    shares = [(window < 10_000).mean() for window in np.split(result, 8)]
    # The standard deviation of a share of 1,000 draws is 0.014.
    assert all(abs(share - 0.75) < 0.06 for share in shares)
    assert values(mixed.take(50)) != values(hp.mix(_parts(), weights=[3, 1], seed=6).take(50))


def _parts():
    return [numbers(0, 9000), numbers(10_000, 19_000)]


def test_each_epoch_of_a_mix_has_different_draws(items_of):
    mixed = hp.mix([numbers(0, 100), numbers(1000, 1100)], seed=5, stop="all")
    both = values(items_of(mixed.epochs(2)))
    assert sorted(both[:200]) == sorted(both[200:]) == [*range(100), *range(1000, 1100)]
    assert both[:200] != both[200:]
    assert both[200:] == values(mixed.epoch(1))


def test_mix_stops_with_the_first_or_the_last_part(items_of):
    parts = [numbers(0, 10), numbers(1000, 2000)]
    first = values(items_of(hp.mix(parts, seed=5)))
    assert first[-1] >= 1000
    assert [number for number in first if number < 1000] == list(range(10))
    assert len(first) < 100
    rest = values(items_of(hp.mix(parts, seed=5, stop="all")))
    assert rest[: len(first)] == first
    assert sorted(rest) == [*range(10), *range(1000, 2000)]
    assert values(items_of(hp.mix([numbers(0, 0), numbers(0, 3)], seed=5, stop="all"))) == [0, 1, 2]
    assert len(hp.mix(parts, stop="all")) == 1010
    with pytest.raises(TypeError, match="number of examples in mix is unknown"):
        len(hp.mix(parts))


def test_mix_of_files_can_be_shuffled_and_repeated(records, items_of):
    one = hp.tfrecords(records).parse({"number": int}).shuffle(window=50, seed=1).epochs()
    other = hp.tfrecords(records).parse({"number": int}).map(lambda row: {"number": -row["number"]})
    mixed = hp.mix([one, other.epochs(2)], weights=[0.5, 0.5], seed=3).take(3000).batch(100)
    batches = items_of(mixed, LARGE_WAYS)
    assert len(batches) == 30
    assert 0.4 < np.mean([batch["number"] < 0 for batch in batches]) < 0.6
    one_part = items_of(hp.mix([one], seed=3).take(2000), LARGE_WAYS)
    assert values(one_part, "number") == values(one.take(2000), "number")


def test_error_in_a_part_follows_the_preceding_examples():
    def fail(row):
        if row["n"] == 50:
            raise KeyError("x")
        return row

    mixed = hp.mix([numbers(0, 100), numbers(0, 100).map(fail)], seed=3, stop="all")
    for num_threads in (1, 8):
        results = []
        with pytest.raises(KeyError):
            results.extend(int(row["n"]) for row in mixed.options(num_threads=num_threads))
        assert results == values(hp.mix([numbers(0, 100)] * 2, seed=3, stop="all"))[: len(results)]
        assert len(results) > 60


def test_zip_joins_the_components(records, items_of):
    numbered = hp.tfrecords(records).parse({"number": int})
    zipped = hp.zip([numbered, numbers(0, 1000), hp.iterable(lambda: iter(_squares()))])
    result = items_of(zipped)
    assert list(result[0]) == ["number", "n", "square"]
    assert all(row["number"] == row["n"] and row["square"] == row["n"] ** 2 for row in result)
    assert len(result) == 1000
    assert [len(batch["n"]) for batch in items_of(zipped.batch(300))] == [300, 300, 300, 100]
    batches = items_of(hp.zip([numbered.batch(10), numbers(0, 1000).batch(10)]))
    assert [batch["n"].tolist() for batch in batches] == [b["number"].tolist() for b in batches]


def _squares():
    return ({"square": number**2} for number in range(1000))


def test_zip_of_a_dict_adds_the_keys_to_the_names(records, items_of):
    numbered = hp.tfrecords(records).parse({"number": int})
    tens = numbers(0, 1000, "number").map(lambda row: {"number": row["number"] * 10})
    zipped = hp.zip({"a": numbered, "b": tens.select("number")})
    result = items_of(zipped)
    assert list(result[0]) == ["a.number", "b.number"]
    assert all(row["b.number"] == 10 * row["a.number"] for row in result)
    assert len(result) == 1000


def test_zip_shuffles_each_pipeline_independently(items_of):
    pipeline = numbers(0, 50)
    zipped = hp.zip({"a": pipeline.shuffle(seed=1), "b": pipeline.shuffle(seed=2)}).epochs(2)
    result = items_of(zipped)
    for name in ("a.n", "b.n"):
        assert sorted(values(result[:50], name)) == sorted(values(result[50:], name))
        assert sorted(values(result[:50], name)) == list(range(50))
    assert values(result, "a.n") != values(result, "b.n")
    assert values(result[:50], "a.n") != values(result[50:], "a.n")
    shards = [values(zipped.shard(rank, 2), "b.n") for rank in range(2)]
    assert sorted(shards[0] + shards[1]) == sorted(values(result, "b.n"))


def test_zip_raises_at_the_end_of_the_shorter_part(items_of):
    results = []
    message = "zip: pipeline 1 ends after 20 examples, pipeline 0 continues.*strict=False"
    with pytest.raises(errors.InvalidArgumentError, match=message):
        results.extend(hp.zip([numbers(0, 30), numbers(0, 20, "m")]))
    assert len(results) == 20
    assert len(items_of(hp.zip([numbers(0, 30), numbers(0, 20, "m")], strict=False))) == 20
    assert len(hp.zip([numbers(0, 30), numbers(0, 20, "m")], strict=False)) == 20


def test_zip_raises_an_error_in_a_part(tmp_path):
    with TFRecordWriter(tmp_path / "a") as writer:
        for number in range(30):
            writer.write(example(number))
    data = bytearray((tmp_path / "a").read_bytes())
    data[-6] ^= 1
    (tmp_path / "a").write_bytes(data)
    results = []
    with pytest.raises(errors.DataLossError, match="record 29"):
        results.extend(hp.zip([hp.tfrecords(tmp_path / "a"), numbers(0, 30)]))
    assert values(results) == list(range(29))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda p: hp.mix([]), ValueError, "mix: there are no pipelines"),
        (lambda p: hp.mix([p, 3]), TypeError, "mix: got 3, expected a pipeline"),
        (
            lambda p: hp.mix([p, p], weights=[1]),
            ValueError,
            "1 weights, expected one for each of the 2",
        ),
        (lambda p: hp.mix([p, p], weights=[1, -1]), ValueError, "expected numbers of at least 0"),
        (lambda p: hp.mix([p, p], weights=[0, 0]), ValueError, "0.0.*, not all of them 0"),
        (lambda p: hp.mix([p, p], weights=[1, float("nan")]), ValueError, "weights are .*nan"),
        (lambda p: hp.mix([p], stop="never"), ValueError, "stop is 'never', expected 'first'"),
        (lambda p: hp.mix([p], seed=-1), ValueError, "mix: seed is -1"),
        (lambda p: hp.mix([p, p.batch(2)]), ValueError, "have different components"),
        (lambda p: hp.mix([p, p.rename(n="m")]), ValueError, "have different components"),
        (lambda p: hp.zip([p, p]), ValueError, "two pipelines have a component 'n'"),
        (
            lambda p: hp.zip([p, p.rename(n="m").batch(2)]),
            ValueError,
            "batches and others examples",
        ),
        (lambda p: hp.zip([]), ValueError, "zip: there are no pipelines"),
        (lambda p: hp.zip({}), ValueError, "zip: there are no pipelines"),
        (lambda p: hp.zip({"a": 3}), TypeError, "zip: got 3, expected a pipeline"),
        (lambda p: hp.zip({1: p}), TypeError, "zip: the key 1 is not a string"),
        (
            lambda p: hp.zip({"a": p.map(lambda row: row)}),
            ValueError,
            r"component names of the pipeline 'a' are unknown until it is read. Call select\(",
        ),
        (
            lambda p: hp.mix([p, p.epochs(2)]).shuffle(3),
            ValueError,
            "different epochs are never mixed",
        ),
        (
            lambda p: hp.concat([p, p.epochs(2)]).shuffle(3),
            ValueError,
            "different epochs are never mixed",
        ),
    ],
)
def test_invalid_arguments_are_rejected(make, error, message):
    with pytest.raises(error, match=message):
        make(numbers(0, 3))


def test_function_output_components_are_compared_when_inferred():
    mapped = numbers(0, 3).map(lambda row: {"n": 0.5})
    with pytest.raises(ValueError, match="concat: the pipelines have different components"):
        list(hp.concat([numbers(0, 3), mapped]))


@pytest.mark.parametrize("seed", range(5))
def test_any_thousand_examples_match_the_weights(seed):
    """The share of a part with weight 0.2 among 1,000 has a standard deviation of 0.0126."""
    parts = [numbers(0, 1).epochs(), numbers(1000, 1001).epochs()]
    mixed = hp.mix(parts, weights=[4, 1], seed=seed).take(50_000).batch(50_000)
    drawn = next(iter(mixed))["n"] >= 1000
    shares = np.convolve(drawn, np.ones(1000), "valid") / 1000
    # By chance, none of 49,001 windows is so far away in fewer than one of 500 such tests.
    assert abs(drawn.mean() - 0.2) < 0.01
    assert np.abs(shares - 0.2).max() < 5.5 * 0.0126


def test_one_part_of_a_mix_can_repeat():
    small = numbers(0, 10).shuffle(seed=1).epochs()
    mixed = values(hp.mix([numbers(1000, 1200), small], seed=2))
    repeated = [number for number in mixed if number < 1000]
    epochs = [repeated[index : index + 10] for index in range(0, len(repeated) - 9, 10)]
    assert len(epochs) > 10
    assert all(sorted(epoch) == list(range(10)) for epoch in epochs)
    assert epochs[0] != epochs[1]
