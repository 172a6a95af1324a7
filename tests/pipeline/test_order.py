"""The order of a pipeline: a function of its description, its data and its seeds."""

import time
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.pipeline.conftest import CACHE_WAYS, LARGE_WAYS, NUM_EXAMPLES, same

import headrace as hr
from headrace import errors
from headrace import pipeline as hp


def order(pipeline):
    return [int(number) for batch in pipeline for number in np.ravel(batch["number"])]


@pytest.fixture
def numbers(records):
    return hp.tfrecords(records).parse({"number": int})


def test_a_window_shuffles_as_a_window_does(numbers):
    shuffled = order(numbers.shuffle(window=100, seed=7))
    assert sorted(shuffled) == list(range(NUM_EXAMPLES))
    assert all(number < place + 100 for place, number in enumerate(shuffled))
    assert shuffled != sorted(shuffled)
    assert order(numbers.shuffle(window=100, seed=7)) == shuffled
    assert order(numbers.shuffle(window=100, seed=8)) != shuffled
    assert order(numbers.shuffle(window=1, seed=8)) == list(range(NUM_EXAMPLES))


def test_each_epoch_has_an_order_of_its_own(numbers):
    shuffled = numbers.shuffle(window=100, seed=7)
    epochs = [order(shuffled.epoch(number)) for number in range(3)]
    assert order(shuffled.epochs(3)) == epochs[0] + epochs[1] + epochs[2]
    assert epochs[0] == order(shuffled)
    assert len({tuple(epoch) for epoch in epochs}) == 3


def test_a_full_shuffle_is_a_permutation():
    pipeline = hp.arrays({"number": np.arange(5000)}).shuffle(seed=3)
    shuffled = order(pipeline.batch(64))
    assert sorted(shuffled) == list(range(5000))
    assert np.mean(np.abs(np.array(shuffled) - np.arange(5000))) > 1000
    assert order(pipeline.epoch(1)) != shuffled


def test_a_seed_that_is_not_given_is_drawn_once(numbers):
    shuffled = numbers.shuffle(window=100)
    assert order(shuffled) == order(shuffled)
    assert order(shuffled) != order(numbers.shuffle(window=100))


def chi_square(counts):
    expected = counts.sum() / len(counts)
    return float(((counts - expected) ** 2 / expected).sum())


@pytest.mark.parametrize("window", [None, 10])
def test_each_place_is_as_likely(window):
    """The chi-square statistic over 1,000 seeds: its 0.9999 quantile for 9 degrees is 33.7."""
    places = np.zeros((10, 10))
    for seed in range(1000):
        pipeline = hp.arrays({"number": np.arange(10)}).shuffle(window, seed)
        for place, number in enumerate(order(pipeline.options(num_threads=1))):
            places[number, place] += 1
    assert max(chi_square(row) for row in places) < 33.7


def test_shards_are_places_of_one_global_order(numbers):
    shuffled = numbers.shuffle(window=100, seed=7)
    whole = order(shuffled)
    for count in (2, 5):
        shards = [order(shuffled.shard(index, count)) for index in range(count)]
        assert shards == [whole[index::count] for index in range(count)]


def stages():
    """Strategies for stages that may stand anywhere behind examples with a number."""
    small = st.integers(0, 40)
    return st.one_of(
        st.builds(lambda n: lambda p: p.take(n), st.integers(0, 900)),
        st.builds(lambda n: lambda p: p.skip(n), small),
        st.builds(lambda i, n: lambda p: p.shard(i, i + n), st.integers(0, 2), st.integers(1, 3)),
        st.builds(
            lambda w, s: lambda p: p.shuffle(w, s), st.integers(1, 300), st.integers(0, 2**63 - 1)
        ),
        st.builds(lambda m: lambda p: p.filter(lambda e: e["number"] % m != 1), st.integers(2, 5)),
        st.just(lambda p: p.map(lambda e: {"number": e["number"] + 1})),
        st.just(lambda p: p.map(native_sum)),
        st.builds(lambda seed: lambda p: p.map(native_noise, seed=seed), st.integers(0, 9)),
        st.just(lambda p: p.filter(native_predicate)),
        st.just(lambda p: p.flat_map(native_pair)),
        st.just(lambda p: p.map(slow)),
        st.builds(
            lambda m: lambda p: p.flat_map(lambda e: [e] * int(e["number"] % m)), st.integers(2, 3)
        ),
        st.just(lambda p: p.batch(7).unbatch()),
        st.just(lambda p: p.cache()),
        st.builds(lambda s: lambda p: p.map(add_draw, seed=s), st.integers(0, 2**63 - 1)),
        st.builds(
            lambda s, stop: lambda p: hp.mix([p.take(300), p.skip(3).take(99)], [2, 1], s, stop),
            st.integers(0, 2**63 - 1),
            st.sampled_from(["first", "all"]),
        ),
        st.just(
            lambda p: hp.zip(
                [p.select("number"), p.take(300).select("number").rename(other="number")], False
            )
        ),
        st.just(lambda p: hp.concat([p.take(300).select("number"), p.take(50).select("number")])),
        st.builds(
            lambda n: (
                lambda p: (
                    p.map(lengthened).bucket_by_length("list", [1, 2], n).select("number").unbatch()
                )
            ),
            st.integers(1, 90),
        ),
        st.builds(
            lambda s: lambda p: fully_shuffled(p, s),
            st.integers(0, 2**63 - 1),
        ),
    )


PARQUET = {"parquet": lambda records, tables: hp.parquet(tables / "*.parquet", ["number"])}
SOURCES = {
    **(PARQUET if find_spec("pyarrow") else {}),
    "tfrecords": lambda records, tables: hp.tfrecords(records).parse({"number": int}),
    "csv": lambda records, tables: hp.csv(tables / "csv", {"number": int}),
    "json_lines": lambda records, tables: hp.json_lines(
        tables / "*.jsonl", {"number": int, "list": hp.Ragged(int)}
    ).select("number"),
    "image_folder": lambda records, tables: hp.image_folder(tables / "images").map(
        lambda image: {"number": int(image["data"])}
    ),
    "webdataset": lambda records, tables: hp.webdataset(tables / "*.tar").map(
        lambda sample: {"number": int(sample["number"])}
    ),
    "arrays": lambda records, tables: hp.arrays({"number": np.arange(NUM_EXAMPLES)}),
    "parts": lambda records, tables: hp.concat(
        [
            hp.tfrecords(records).parse({"number": int}).map(slow),
            hp.arrays({"number": np.arange(100)}),
        ]
    ),
}


@hr.native
def native_sum(example):
    return {"number": example["number"] + 1}


@hr.native
def native_noise(example):
    return {"number": example["number"] + hr.ops.random_uniform([], 0, 100, "int64")}


@hr.native
def native_predicate(example):
    return example["number"] % 3 != 1


@hr.native
def native_pair(example):
    return {"number": hr.ops.stack([example["number"], -example["number"]])}


def fully_shuffled(pipeline, seed):
    """Shuffles all examples where they can be reached, else over a window."""
    try:
        return pipeline.shuffle(seed=seed)
    except ValueError:
        return pipeline.shuffle(window=200, seed=seed)


def add_draw(values, rng):
    return {**values, "number": values["number"] + rng.integers(3)}


def lengthened(values):
    return {"number": values["number"], "list": np.zeros(int(values["number"]) % 4)}


def slow(values):
    if values["number"] % 50 == 0:
        time.sleep(0.001)
    return values


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    source=st.sampled_from(sorted(SOURCES)),
    chain=st.lists(stages(), max_size=4),
    size=st.integers(1, 300),
    remainder=st.sampled_from(["keep", "drop", "pad"]),
    epochs=st.integers(1, 3),
)
def test_the_batches_depend_on_nothing_but_the_description(
    records, tables, source, chain, size, remainder, epochs
):
    def pipeline():
        made = SOURCES[source](records, tables)
        for add in chain:
            made = add(made)
        return made.select("number").batch(size, remainder).epochs(epochs)

    # Python functions learn their components from the first example, if there is one.
    try:
        pipeline().spec  # noqa: B018
    except errors.OutOfRangeError:
        return
    cached = pipeline()
    first, *others = (list(made.options(**way)) for made, way in _each_way(pipeline, cached))
    assert all(same(first, other) for other in others)


def _each_way(pipeline, cached):
    """Pipelines and options: each way one made anew, and one that may keep data for its second."""
    ways = CACHE_WAYS if "cache()" in cached.describe().lower() else LARGE_WAYS
    yield from ((pipeline(), way) for way in ways)
    yield from ((cached, way) for way in ways[:2])


def test_a_window_that_does_not_fit_says_what_it_needs(tmp_path):
    path = tmp_path / "a"
    path.write_bytes((b"x" * 99 + b"\n") * 50_000)
    pipeline = hp.text_lines(path).shuffle(window=40_000).options(memory_bytes=1_000_000)
    message = r"shuffle\(window=40000\) needs about .* bytes, expected at most the 1000000"
    with pytest.raises(errors.ResourceExhaustedError, match=message):
        next(iter(pipeline))
