"""Caches in memory."""

import threading

import numpy as np
import pytest

from headrace import pipeline as hp
from headrace.core import errors


class Calls:
    """A function that counts its calls."""

    def __init__(self):
        self.count = 0
        self._lock = threading.Lock()

    def __call__(self, row):
        with self._lock:
            self.count += 1
        return row


@pytest.fixture
def calls():
    return Calls()


@pytest.fixture
def cached(records, calls):
    pipeline = hp.tfrecords(records).parse({"number": int}).map(calls).cache()
    assert list(pipeline.spec) == ["number"]
    assert calls.count == 1
    return pipeline


def order(pipeline):
    return [int(number) for row in pipeline for number in np.ravel(row["number"])]


def test_functions_before_a_cache_are_called_once(cached, calls):
    assert order(cached.batch(30).epochs(3)) == [*range(1000)] * 3
    assert calls.count == 1000
    for number in range(3):
        assert order(cached.epoch(number)) == list(range(1000))
    assert calls.count == 1000


def test_files_are_not_read_again(tmp_path):
    (tmp_path / "a").write_text("1\n2\n")
    pipeline = hp.text_lines(tmp_path / "a").cache()
    first = list(pipeline)
    (tmp_path / "a").write_text("3\n")
    assert list(pipeline) == first


def test_unfinished_pass_keeps_its_examples(cached, calls):
    with iter(cached.batch(10)) as batches:
        taken = [next(batches)["number"].tolist() for _ in range(100)]  # All, but not the end.
    assert taken[-1][-1] == 999
    assert calls.count == 1000
    assert order(cached.epochs(3)) == [*range(1000)] * 3
    assert calls.count == 1000


def test_resumed_passes_call_functions_less_each_time(cached, calls):
    for number in (10, 300, 600):
        with iter(cached) as examples:
            assert [int(next(examples)["number"]) for _ in range(number)] == list(range(number))
    begun = calls.count
    assert order(cached) == list(range(1000))
    # 400 examples, and a partial block.
    assert calls.count - begun < 660
    begun = calls.count
    assert order(cached.take(3).epochs(2)) == [0, 1, 2] * 2
    assert calls.count == begun


def test_epochs_that_stop_early_reuse_the_cached_examples(calls):
    rows = hp.iterable(lambda: ({"number": number} for number in range(40))).map(calls).cache()
    list(rows.take(1))  # Infers the components.
    assert order(rows.take(25).epochs(4)) == [*range(25)] * 4
    assert order(rows.shuffle(window=10, seed=1).epoch(2)) == order(
        hp.arrays({"number": np.arange(40)}).shuffle(window=10, seed=1).epoch(2)
    )


def test_earlier_skipped_examples_are_reported_once_per_pass(records, calls):
    def odd(row):
        if row["number"] % 2 == 0:
            raise ValueError("even")
        return calls(row)

    numbers = hp.tfrecords(records).parse({"number": int}).map(odd)
    cached = numbers.skip_errors(5000).cache()
    with iter(cached) as examples:
        assert [int(next(examples)["number"]) for _ in range(100)] == list(range(1, 200, 2))
    for _ in range(2):
        with iter(cached) as examples:
            assert order(examples) == list(range(1, 1000, 2))
            assert len(examples.skipped) == 500
            assert len({one.record_number for one in examples.skipped}) >= 300


def test_cache_after_a_resume_uses_the_order_of_the_resumed_seed(records):
    def drawn():
        return hp.tfrecords(records).parse({"number": int}).shuffle(window=50).cache()

    one, other = drawn(), drawn()
    expected = order(one)
    assert order(other) != expected
    with iter(one) as batches:
        state = batches.state()
    assert order(other.resume(state)) == expected
    assert order(other) != expected


def test_iterable_is_restarted_after_an_unfinished_pass():
    rows = hp.iterable(lambda: ({"number": number} for number in range(100)))
    assert order(rows.cache().take(3).epochs(2)) == [0, 1, 2] * 2


def test_order_and_draws_before_a_cache_are_fixed_and_vary_after_it(records, items_of):
    def draw(row, rng):
        return {"number": row["number"], "draw": rng.integers(2**62)}

    numbers = hp.tfrecords(records).parse({"number": int})
    before = numbers.map(draw, seed=3).cache()
    assert {int(row["draw"]) for row in items_of(before.epochs(2), _WAYS)} == {
        int(row["draw"]) for row in before
    }
    behind = numbers.cache().map(draw, seed=3)
    first, second = list(behind.epoch(0)), list(behind.epoch(1))
    assert [row["draw"] for row in first] == [row["draw"] for row in numbers.map(draw, seed=3)]
    assert {int(row["draw"]) for row in first}.isdisjoint({int(row["draw"]) for row in second})
    shuffled = numbers.shuffle(window=50, seed=3).cache()
    assert order(shuffled.epoch(5)) == order(shuffled.epoch(0))
    in_order = numbers.shuffle(window=50, seed=3, num_open=1, file_order="sequential")
    assert order(numbers.cache().shuffle(window=50, seed=3)) == order(in_order)


_WAYS = ({"num_threads": 1}, {"num_threads": 8, "memory_bytes": 300_000})


def test_filtered_examples_and_batches_are_cached(cached, items_of):
    even = cached.filter(lambda row: row["number"] % 2 == 0).cache()
    assert order(items_of(even.epochs(2), _WAYS)) == [*range(0, 1000, 2)] * 2
    assert order(items_of(cached.batch(64).cache().epochs(2), _WAYS)) == [*range(1000)] * 2


def test_examples_that_do_not_fit_into_memory_are_rejected():
    rows = hp.arrays({"x": np.zeros((1000, 1000))}).cache()
    message = "cache needs more than .* bytes, expected at most the 1000000 of memory_bytes"
    with pytest.raises(errors.ResourceExhaustedError, match=message):
        list(rows.batch(10).options(memory_bytes=1_000_000))
    list(rows.batch(10))
    with pytest.raises(errors.ResourceExhaustedError, match=r"cache needs 80\d{5} bytes"):
        list(rows.batch(10).options(memory_bytes=1_000_000))


def test_concurrent_iterations_read_everything_and_later_ones_use_the_cache(cached, calls):
    pairs = list(zip(cached.batch(100), cached.batch(100), strict=True))
    assert all((one["number"] == other["number"]).all() for one, other in pairs)
    assert calls.count == 2000
    assert order(cached) == list(range(1000))
    assert calls.count == 2000


def test_epochs_before_a_cache_are_rejected(cached):
    with pytest.raises(ValueError, match="cache: cannot come after epochs"):
        cached.epochs(2).cache()


def test_equal_descriptions_have_separate_caches(records):
    one, other = (hp.tfrecords(records).parse({"number": int}).cache() for _ in range(2))
    assert one == other
    assert hash(one) == hash(other)


def test_each_kind_of_function_before_a_cache_is_called_once_per_example():
    calls = []

    def counted(example):
        calls.append(int(example["n"]))
        return {"m": example["n"] + 1}

    def doubled(example):
        calls.append(-int(example["m"]))
        return {"k": 2 * example["m"]}

    def twice(example):
        calls.append(1000 + int(example["k"]))
        yield from ({"k": example["k"]}, {"k": example["k"]})

    numbers = hp.arrays({"n": np.arange(10)}).map(counted).map(doubled)
    pipe = numbers.flat_map(twice).cache().epochs(3)
    once = [2 * (n + 1) for n in range(10)]
    expected = [k for k in once for _ in range(2)] * 3
    assert [int(example["k"]) for example in pipe] == expected
    assert [int(example["k"]) for example in pipe] == expected
    assert sorted(calls) == sorted(
        [*range(10), *(-n - 1 for n in range(10)), *(1000 + k for k in once)]
    )


class Logged:
    """Functions that record their arguments."""

    def __init__(self):
        self.calls = []

    def is_large(self, example):
        self.calls.append(("is_large", int(example["n"])))
        return example["n"] >= 7

    def more(self, example):
        self.calls.append(("more", int(example["n"])))
        return {"n": example["n"] + 1}

    def twice(self, example):
        self.calls.append(("twice", int(example["n"])))
        return ({"n": example["n"]} for _ in range(2))


@pytest.fixture
def logged():
    return Logged()


@pytest.mark.parametrize("is_asked", [False, True], ids=["", "spec first"])
@pytest.mark.parametrize("options", [{}, {"num_threads": 8, "memory_bytes": 300_000}])
def test_filter_before_an_inferred_function_is_called_once_per_example(logged, is_asked, options):
    numbers = hp.arrays({"n": np.arange(12)}).filter(logged.is_large).map(logged.more)
    pipe = numbers.flat_map(logged.twice).cache().epochs(2).options(**options)
    if is_asked:
        assert list(pipe.spec) == ["n"]
    expected = [n + 1 for n in range(7, 12) for _ in range(2)]
    for _ in range(2):
        assert [int(example["n"]) for example in pipe] == expected * 2
    assert sorted(logged.calls) == sorted(
        [("is_large", n) for n in range(12)]
        + [("more", n) for n in range(7, 12)]
        + [("twice", n + 1) for n in range(7, 12)]
    )


class Numbering:
    """A function whose state is the number of examples so far."""

    def __init__(self):
        self.count, self.calls = 0, []

    def __call__(self, example):
        self.calls.append(int(example["n"]))
        self.count += 1
        return {"n": example["n"], "number": np.int64(self.count)}

    def state(self):
        return self.count

    def restore(self, state):
        self.count = state


@pytest.mark.parametrize("is_asked", [False, True], ids=["", "spec first"])
def test_stateful_function_before_a_cache_is_called_once_per_example(logged, is_asked):
    numbering, later = Numbering(), Numbering()
    numbers = hp.arrays({"n": np.arange(12)}).map(numbering).filter(logged.is_large).map(later)
    pipe = numbers.cache().epochs(2)
    if is_asked:
        assert list(pipe.spec) == ["n", "number"]
    for _ in range(2):
        inputs = [(int(example["n"]), int(example["number"])) for example in pipe]
        assert inputs == [(n, n - 6) for n in range(7, 12)] * 2
    assert sorted(numbering.calls) == list(range(12))
    assert sorted(later.calls) == list(range(7, 12))


def test_cache_after_a_combination_calls_each_part_once(logged):
    other = Logged()
    parts = [
        hp.arrays({"n": np.arange(9)}).filter(one.is_large).map(one.more) for one in (logged, other)
    ]
    pipe = hp.concat(parts).cache()
    assert list(pipe.spec) == ["n"]
    for epoch in (1, 0):
        assert [int(example["n"]) for example in pipe.epoch(epoch)] == [8, 9] * 2
    for one in (logged, other):
        assert sorted(one.calls) == [*(("is_large", n) for n in range(9)), ("more", 7), ("more", 8)]


def test_empty_list_is_inferred_without_a_second_call(logged):
    def lists(example):
        logged.more(example)
        return {"x": [0.5] * (int(example["n"]) - 6)}

    pipe = hp.arrays({"n": np.arange(9)}).filter(logged.is_large).skip(0).map(lists).cache()
    lengths = [len(example["x"]) for example in pipe.epochs(2)]
    assert lengths == [1, 2] * 2
    empty = hp.arrays({"n": np.arange(6, 9)}).map(lists).cache()
    logged.calls.clear()
    assert [len(example["x"]) for example in empty.epochs(2)] == [0, 1, 2] * 2
    assert logged.calls == [("more", 6), ("more", 7), ("more", 8)]


def test_results_of_two_functions_are_not_confused():
    numbers = hp.arrays({"n": np.arange(3)})
    assert list(numbers.spec) == ["n"]
    tens = numbers.map(lambda example: {"n": example["n"] + 10})
    twenties = numbers.map(lambda example: {"n": example["n"] + 20})
    assert tens.count() == twenties.count() == 3
    assert [int(example["n"]) for example in tens] == [10, 11, 12]
    assert [int(example["n"]) for example in twenties] == [20, 21, 22]


def test_inferred_first_example_is_reused_only_with_the_cache():
    added = [1]
    plain = hp.arrays({"n": np.arange(3)}).map(lambda example: {"m": example["n"] + added[0]})
    cached = plain.cache()
    assert list(cached.spec) == ["m"]
    added[0] = 5
    assert [int(example["m"]) for example in plain] == [5, 6, 7]
    # A cache keeps the results of the first call.
    assert [int(example["m"]) for example in cached] == [1, 6, 7]


def test_function_changed_after_inference_is_called_again():
    added = [1]
    pipe = hp.arrays({"n": np.arange(3)}).map(lambda example: {"m": example["n"] + added[0]})
    assert list(pipe.spec) == ["m"]
    added[0] = 5
    assert [int(example["m"]) for example in pipe] == [5, 6, 7]


def test_first_result_is_kept_although_the_function_reuses_its_buffer():
    buffer = np.zeros(1, np.int64)

    def reusing(example):
        buffer[0] = example.pop("n")
        return {"m": buffer}

    pipe = hp.arrays({"n": np.arange(3)}).map(reusing)
    assert [example["m"].tolist() for example in pipe] == [[0], [1], [2]]


def test_first_example_uses_the_draws_of_its_position():
    def drawn(example, rng):
        return {"m": example["n"] + rng.integers(1 << 40)}

    pipe = hp.arrays({"n": np.arange(5)}).map(drawn, seed=3)
    first, again = (
        [int(example["m"]) for example in of] for of in (pipe, pipe.select("m").epochs(1))
    )
    assert first == again
    assert len(set(first)) == 5


@pytest.mark.parametrize("count", [1, 130, 600, 999])
def test_partially_cached_archives_are_read_completely_in_the_next_pass(tables, count):
    pipe = hp.webdataset(tables / "*.tar").select("number").cache()
    for memory_bytes in (60_000, 64 << 20):
        with iter(pipe.options(memory_bytes=memory_bytes)) as samples:
            for _ in range(count):
                next(samples)
        numbers = [int(sample["number"]) for sample in pipe]
        assert numbers == list(range(1000))
        pipe = hp.webdataset(tables / "*.tar").select("number").cache()


@pytest.mark.parametrize("size", [1, 3, 8])
def test_iterator_examples_appear_once_if_two_functions_are_inferred(size):
    def numbers():
        yield from ({"number": number} for number in range(10))

    learned = hp.iterable(numbers).cache().map(dict).batch(size).map(dict)
    assert [order(learned), order(learned)] == [list(range(10))] * 2
    combined = hp.concat([hp.iterable(numbers).take(4).cache(), hp.iterable(numbers).cache()])
    assert order(combined.map(dict).batch(size).map(dict)) == [*range(4), *range(10)]


def fails_at_thirds(example):
    if example["n"] % 3 == 1:
        raise ValueError("a third")
    return example


class TestSkippedFailures:
    """A cache in memory belongs to pipelines that skip the same failures."""

    @pytest.fixture
    def source(self):
        return hp.arrays({"n": np.arange(8)})

    def numbers(self, pipe):
        with iter(pipe) as batches:
            return [int(example["n"]) for example in batches], batches.skipped

    def test_failure_is_raised_without_skip_errors(self, source):
        cached = source.map(fails_at_thirds).cache()
        kept, skipped = self.numbers(cached.skip_errors(5))
        assert (kept, len(skipped)) == ([0, 2, 3, 5, 6], 3)
        assert self.numbers(cached.skip_errors(5)) == (kept, skipped)
        with pytest.raises(ValueError, match="a third"):
            self.numbers(cached)

    def test_combined_and_later_stages_report_the_same_skips(self, source):
        cached = source.map(fails_at_thirds).skip_errors(5).cache()
        kept, skipped = self.numbers(cached)
        for _ in range(2):
            both, again = self.numbers(hp.concat([source, cached]))
            assert both == [*range(8), *kept]
            assert again == skipped
        assert self.numbers(cached.map(dict).skip_errors(3)) == (kept, skipped)
