"""Stages that group examples, with stages before and after them. Batches are items, like examples.

Random pipelines (`tests/pipeline/generated`) compare combinations of them with a model.
"""

import json

import numpy as np
import pytest
from tests.pipeline.conftest import same
from tests.pipeline.generated.model import order

import headrace as hr
from headrace.core import errors

NUM_EXAMPLES = 48
WAYS = (
    {"num_threads": 1},
    {"num_threads": 2, "memory_bytes": 3_000_000},
    {"num_threads": 8, "memory_bytes": 20_000_000},
)
# The length of the list of each example.
LENGTHS = {
    "one length": lambda number: 5,
    "rising": lambda number: 5 + number // 12,
    "turning": lambda number: number % 4,
}


def list_of(number, length):
    return np.full(length(number), number, np.int64)


@hr.native
def native_copy(example):
    return {"n": example["n"] * 1, "l": example["l"] * 1}


@hr.native
def native_sum(item):
    first = next(iter(item))
    return {**item, first: item[first] + 1}


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    """Directories of JSON lines, one for each distribution of lengths."""
    directory = tmp_path_factory.mktemp("lines")
    for kind, length in LENGTHS.items():
        for index, numbers in enumerate([range(20), range(20, 20), range(20, NUM_EXAMPLES)]):
            (directory / kind).mkdir(exist_ok=True)
            lines = (json.dumps({"n": n, "l": list_of(n, length).tolist()}) for n in numbers)
            (directory / kind / f"{index}.jsonl").write_text("".join(f"{x}\n" for x in lines))
    return directory


def source(lines, holding, kind):
    """Examples with a number and a list, stored in blocks in several ways."""
    length = LENGTHS[kind]
    ragged = hr.json_lines(lines / kind, {"n": int, "l": hr.Ragged(int)})
    numbers = hr.arrays({"n": np.arange(NUM_EXAMPLES)})
    dense = numbers.map(lambda e: {"n": e["n"], "l": list_of(e["n"], length)})
    return {
        "ragged": lambda: ragged,
        "python": lambda: dense,
        "native": lambda: ragged.map(native_copy),
        "both": lambda: hr.concat([ragged.take(20), dense.skip(20)]),
        "mixed": lambda: hr.concat([dense.take(20), ragged.skip(20).map(native_copy)]),
    }[holding]()


def copied(state):
    return json.loads(json.dumps(state))


def run(batches):
    """All items, and the state before each and after the last."""
    states, items = [batches.state()], []
    for item in batches:
        items.append(item)
        states.append(batches.state())
    return items, states


@pytest.fixture
def items_of(items_of):
    """The fixture `items_of`, with enough memory for windows."""
    return lambda pipeline: items_of(pipeline, WAYS)


@pytest.fixture
def batches():
    """Five batches of 8 numbers."""
    return hr.arrays({"n": np.arange(40)}).batch(8)


def firsts(items):
    return [int(item["n"].ravel()[0]) for item in items]


def test_window_over_batches_yields_each_batch_once(batches, items_of):
    shuffled = batches.shuffle(window=4, seed=3)
    items = items_of(shuffled)
    assert len(shuffled) == len(items) == 5
    assert {item["n"].shape for item in items} == {(8,)}
    expected = [8 * place for place in order(5, 4, 3, 0)]
    assert firsts(items) == expected != sorted(expected)
    doubled = shuffled.map(lambda batch: {"n": batch["n"] * 2})
    assert firsts(items_of(doubled)) == [2 * first for first in expected]
    assert firsts(items_of(shuffled.filter(lambda batch: batch["n"][0] != 16))) == [
        first for first in expected if first != 16
    ]


def test_batches_of_different_sizes_are_mixed_individually(batches, items_of):
    others = hr.arrays({"n": np.arange(100, 140)}).batch(5)
    mixed = hr.mix([batches, others], seed=1, stop="all")
    items = items_of(mixed)
    assert len(mixed) == len(items) == 13
    assert sorted(len(item["n"]) for item in items) == [5] * 8 + [8] * 5
    assert sorted(n for item in items for n in item["n"].tolist()) == [
        *range(40),
        *range(100, 140),
    ]


def test_function_can_keep_several_batches(batches):
    """Resumes at each batch, including several batches from one block."""
    shuffled = batches.shuffle(window=4, seed=3).map(
        lambda batch: {**batch, "sum": batch["n"].sum()}
    )
    inputs, states = run(iter(shuffled))
    assert [int(item["sum"]) for item in inputs] == [int(item["n"].sum()) for item in inputs]
    for place, state in enumerate(states):
        assert same(list(shuffled.resume(copied(state))), inputs[place:])


def test_unbatch_splits_batches_of_batches_into_batches(batches, items_of):
    doubled = batches.batch(2)
    assert [item["n"].shape for item in items_of(doubled)] == [(2, 8), (2, 8), (1, 8)]
    assert same(items_of(doubled.unbatch()), items_of(batches))
    assert same(items_of(doubled.unbatch().map(native_sum)), items_of(batches.map(native_sum)))
    assert firsts(items_of(doubled.unbatch().shuffle(window=5, seed=7).unbatch().take(8)))


def test_differing_batches_cannot_form_one_batch():
    numbers = hr.arrays({"n": np.arange(42)})
    expected = r"one batch has .*, another .*, expected .*\. Call unbatch\(\) first"
    with pytest.raises(errors.InvalidArgumentError, match=expected):
        list(numbers.batch(8).batch(2))
    lists = numbers.map(lambda e: {"l": np.arange(e["n"] % 5 + e["n"] // 8)})
    padded = list(lists.padded_batch(8).padded_batch(2))
    assert [batch["l"].shape for batch in padded] == [(2, 8, 5), (2, 8, 7), (2, 8, 8)]
    full = numbers.batch(8, remainder="pad").batch(2)
    assert [item["n"].shape for item in full] == [(2, 8)] * 3


def test_strings_stay_with_their_batch(items_of):
    words = hr.arrays({"s": [f"{n}" for n in range(20)]}).batch(4).shuffle(window=3, seed=5)
    expected = [[f"{4 * place + n}" for n in range(4)] for place in order(5, 3, 5, 0)]
    assert [item["s"].tolist() for item in items_of(words)] == expected
    assert [item["s"].tolist() for item in items_of(words.map(lambda batch: batch))] == expected
    pytest.importorskip("pyarrow")
    both = words.batch(1).unbatch().options(strings="arrow")
    assert [item["s"].to_pylist() for item in both] == expected
    assert [batch["s"].to_pylist() for batch in words.to_arrow()] == expected


def test_failing_batches_are_skipped_individually(batches, items_of):
    def failing(batch):
        if batch["n"][0] in (8, 24):
            raise LookupError(batch["n"])
        return batch

    for function in (failing, native_failing):
        pipeline = batches.shuffle(window=4, seed=3).map(function).skip_errors(9)
        every = firsts(batches.shuffle(window=4, seed=3))
        assert firsts(items_of(pipeline)) == [first for first in every if first not in (8, 24)]
        iterator = iter(pipeline)
        states = run(iterator)[1]
        assert [skipped.record_number for skipped in iterator.skipped] == [
            first // 8 for first in every if first in (8, 24)
        ]
        for place, state in enumerate(states):
            assert firsts(pipeline.resume(copied(state))) == firsts(items_of(pipeline))[place:]


@hr.native
def native_failing(batch):
    # The index is out of range for the batches that begin with 8 and 24.
    place = hr.ops.gather(np.array([0, 9, 0, 9, 0]), batch["n"][0] // 8)
    return {"n": batch["n"] + hr.ops.gather(np.zeros(1, np.int64), place)}


def with_list(example):
    return {"n": example["n"], "l": list_of(int(example["n"]), lambda number: number % 7)}


@pytest.mark.parametrize("rank", range(3))
@pytest.mark.parametrize("grouping", ["buckets", "rows"])
def test_sharded_groups_resume_from_every_state(grouping, rank):
    def pipeline():
        lists = hr.arrays({"n": np.arange(60)}).map(with_list)
        if grouping == "buckets":
            return lists.bucket_by_length("l", [2, 4], size=3).shard(rank, 3)
        return lists.select("l").pack(9, "l").shard(rank, 3)

    inputs, states = run(iter(pipeline()))
    assert len(inputs) > 4
    for place, state in enumerate(states):
        assert same(list(pipeline().resume(copied(state))), inputs[place:]), place


@pytest.mark.parametrize("grouping", ["buckets", "rows"])
@pytest.mark.parametrize("place", [0, 1, 4])
def test_skip_after_a_grouping_is_applied_once(lines, grouping, place):
    def pipeline(skipped=3):
        lists = hr.json_lines(lines / "turning", {"n": int, "l": hr.Ragged(int)})
        if grouping == "buckets":
            return lists.bucket_by_length("l", [1, 2], size=3).skip(skipped)
        return lists.select("l").pack(5, "l").skip(skipped)

    inputs, states = run(iter(pipeline()))
    assert len(inputs) > 8
    assert same(inputs, list(pipeline(0))[3:])
    again, later = run(pipeline().resume(copied(states[place])))
    assert same(again, inputs[place:])
    assert same(list(pipeline().resume(copied(later[1]))), inputs[place + 1 :])
    twice = run(iter(pipeline().skip(2)))[1]
    assert same(list(pipeline().skip(2).resume(copied(twice[place]))), inputs[2 + place :])


@pytest.mark.parametrize("holding", ["ragged", "python", "native", "both", "mixed"])
def test_padding_does_not_depend_on_list_storage(lines, holding, items_of):
    lists = {kind: source(lines, holding, kind) for kind in LENGTHS}
    widths = [item["l"].shape for item in items_of(lists["one length"].padded_batch(12, -1, 8))]
    assert widths == [(12, 8)] * 4
    (first, *_) = items_of(lists["one length"].padded_batch(12, -1, 8))
    assert first["l"][3].tolist() == [3] * 5 + [-1] * 3
    widths = [
        item["l"].shape[1] for item in items_of(lists["rising"].padded_batch(6, multiple_of=8))
    ]
    assert widths == [8] * 8
    plain = [item["l"].shape[1] for item in items_of(lists["rising"].padded_batch(6))]
    assert plain == [5, 5, 6, 6, 7, 7, 8, 8]
    for kind in ("one length", "rising"):
        bucketed = lists[kind].bucket_by_length("l", [9], size=6, pad_to_boundary=True)
        assert {item["l"].shape[1] for item in items_of(bucketed)} == {9}
    again = lists["one length"].padded_batch(12, multiple_of=8).unbatch().padded_batch(5, 0, 6)
    assert {item["l"].shape[1] for item in items_of(again)} == {12}


def test_component_of_a_fixed_shape_is_not_padded(items_of):
    arrays = hr.arrays({"n": np.arange(6), "x": np.ones((6, 5))})
    for pipeline in (arrays, arrays.map(native_sum)):
        assert pipeline.padded_batch(3, multiple_of=8).spec["x"].shape == (None, 5)
        assert {b["x"].shape for b in items_of(pipeline.padded_batch(3, multiple_of=8))} == {(3, 5)}
    bounded = arrays.bucket_by_length("x", [4, 8], size=3, pad_to_boundary=True)
    assert bounded.spec["x"].shape == (None, 8)
    assert {item["x"].shape for item in items_of(bounded)} == {(3, 8)}
    fixed = arrays.map(lambda e: e).map(with_shape).padded_batch(3, multiple_of=8)
    assert {item["x"].shape for item in items_of(fixed)} == {(3, 5)}


@hr.native
def with_shape(example):
    return {**example, "x": hr.ops.ensure_shape(example["x"], (5,))}


def test_pipelines_of_different_shapes_have_no_common_shape():
    rows = hr.arrays({"n": np.arange(20)}).map(lambda e: {"n": e["n"]})
    sizes = [rows.batch(size, remainder="drop") for size in (2, 4)]
    assert [part.spec["n"].shape for part in sizes] == [(2,), (4,)]
    assert hr.concat(sizes).spec["n"].shape == (None,)
    assert {len(batch["n"]) for batch in hr.concat(sizes)} == {2, 4}
