"""A reader returns any requested batch, after any other requests."""

import random

import numpy as np
import pytest
from tests.pipeline.conftest import same

import headrace as hr
from headrace.pipeline.run.reader_shards import BEGINNING
from headrace.read_service import BatchRequest, Reader
from headrace.read_service.reader import num_bytes_of

PIPE = hr.arrays({"n": np.arange(1000)}).shuffle(50, seed=1).epochs(2).batch(8)


def request_for(number, count=1, cursor=BEGINNING):
    return BatchRequest(number, count, cursor, 0, 0)


@pytest.fixture
def reader():
    instance = Reader(PIPE, parked_bytes=1 << 20)
    yield instance
    instance.close()


@pytest.fixture(scope="module")
def whole():
    return list(PIPE)


def test_batches_requested_in_order_are_built_once(reader, whole):
    results = [reader.give(request_for(number, 2)) for number in range(1, 250, 2)]
    assert same([one.batch for one in results], whole[1::2])
    assert reader.num_made == 125
    assert reader.give(request_for(251, 2)).batch is None
    assert all(one.num_bytes == num_bytes_of(one.batch) == 64 for one in results)
    assert 0 < results[-1].working <= 1


def test_list_batches_are_sent_and_their_bytes_counted():
    rows = hr.arrays({"n": np.arange(6)}).map(lambda e: {"x": np.arange(e["n"]), "name": "ab"})
    pipe = rows.batch(3, lists=("x", "name"))
    reader = Reader(pipe, parked_bytes=1 << 20)
    results = [reader.give(request_for(number)) for number in range(2)]
    assert same([one.batch for one in results], list(pipe))
    assert [one.num_bytes for one in results] == [8 * 3 + 6, 8 * 12 + 6]
    reader.close()


def test_two_trainers_can_use_one_reader_in_any_order(reader, whole):
    order = [*range(0, 100, 2), *range(1, 100, 2)]
    results = {number: reader.give(request_for(number)).batch for number in order}
    assert same([results[number] for number in range(100)], whole[:100])
    assert reader.num_made == 100, "those in between were parked"


def test_evicted_batch_is_rebuilt(whole):
    reader = Reader(PIPE, parked_bytes=3 * 64)
    cursor = reader.give(request_for(40)).cursor
    assert same([reader.give(request_for(number)).batch for number in (37, 38, 39)], whole[37:40])
    assert reader.num_made == 41
    assert same(
        [reader.give(request_for(5)).batch, reader.give(request_for(41)).batch],
        [whole[5], whole[41]],
    )
    assert same([reader.give(request_for(40, 3, cursor)).batch], [whole[40]])
    reader.close()


def test_new_reader_can_start_at_any_batch(whole):
    drawn = random.Random(1)
    reader, cursor, results = Reader(PIPE, 1 << 20), BEGINNING, []
    for number in range(len(whole)):
        if drawn.random() < 0.2:
            reader.close()
            reader = Reader(PIPE, 1 << 20)
        result = reader.give(request_for(number, drawn.choice([1, 2, 5]), cursor))
        assert result.cursor.first <= number
        cursor = max(cursor, result.cursor, key=lambda one: one.first)
        results.append(result.batch)
    reader.close()
    assert same(results, whole)


def test_requests_of_different_epochs_are_kept_separate():
    pipe = hr.arrays({"n": np.arange(100)}).shuffle(seed=1).batch(10)
    reader = Reader(pipe, 1 << 20)
    epochs = [
        [reader.give(BatchRequest(number, 1, BEGINNING, epoch, 0)).batch for number in range(10)]
        for epoch in (3, 0)
    ]
    reader.close()
    assert same(epochs[0], list(pipe.epoch(3)))
    assert same(epochs[1], list(pipe))


def test_second_request_raises_the_same_error():
    def fail(example):
        if example["n"] == 25:
            raise LookupError("25")
        return example

    reader = Reader(hr.arrays({"n": np.arange(100)}).map(fail).batch(10), 1 << 20)
    cursor = reader.give(request_for(1)).cursor
    for _ in range(2):
        with pytest.raises(LookupError, match="25"):
            reader.give(request_for(2, 1, cursor))
    assert list(reader.give(request_for(1, 1, cursor)).batch["n"]) == list(range(10, 20))
    reader.close()


def test_each_skipped_example_is_reported_once(tables):
    pipe = hr.tfrecords(tables / "damaged").parse({"number": int}).skip_errors(1000).batch(9)
    batches = iter(pipe)
    expected = [batches.skipped for _ in batches]
    for count in (1, 2):
        readers = [Reader(pipe, 1 << 20) for _ in range(count)]
        reported = []
        for number, skipped in enumerate(expected):
            ask = BatchRequest(number, count, BEGINNING, 0, len(reported))
            reported += readers[number % count].give(ask).skipped
            # A share reports at least the examples that one machine would have skipped by then.
            assert reported[: len(skipped)] == skipped
        for reader in readers:
            reader.close()
        assert reported == batches.skipped[: len(reported)]


def test_fast_batches_are_sent_together(reader, whole, monkeypatch):
    monkeypatch.setattr("headrace.read_service.reader.TOGETHER_S", 60.0)
    results, seconds = reader.give_together([request_for(number) for number in range(10)])
    assert same([one.batch for one in results], whole[:10])
    assert seconds > 0
    results, _ = reader.give_together([request_for(number) for number in range(248, 260)])
    assert same([one.batch for one in results[:2]], whole[248:250])
    assert [one.batch for one in results[2:]] == [None], "those after the end are omitted"


def test_slow_batches_are_sent_one_at_a_time(reader, whole, monkeypatch):
    monkeypatch.setattr("headrace.read_service.reader.TOGETHER_S", -1.0)
    results, _ = reader.give_together([request_for(0), request_for(1)])
    assert same([one.batch for one in results], whole[:1])
    assert same([one.batch for one in reader.give_together([request_for(1)]).given], whole[1:2])


def test_failing_batch_is_omitted_until_it_is_requested_first(monkeypatch):
    monkeypatch.setattr("headrace.read_service.reader.TOGETHER_S", 60.0)

    def positive(row):
        if row["n"] == 30:
            raise ValueError("thirty")
        return row

    reader = Reader(hr.arrays({"n": np.arange(100)}).map(positive).batch(8), 1 << 20)
    results, _ = reader.give_together([request_for(number) for number in range(6)])
    assert [one.batch["n"][0] for one in results] == [0, 8, 16]
    with pytest.raises(ValueError, match="thirty"):
        reader.give_together([request_for(number) for number in range(3, 6)])
    reader.close()
