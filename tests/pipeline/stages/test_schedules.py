"""Sizes of batches and lengths of packed rows that depend on the position."""

import json

import numpy as np
import pytest

import headrace as hr
from headrace.core import errors
from headrace.pipeline.run.reader_shards import ShareBatches

SIZES = {0: 2, 5: 3, 20: 10}
LENGTHS = {0: 4, 4: 6}


def numbers_of(batches):
    return [batch["n"].tolist() for batch in batches]


def numbers(count=40):
    return hr.arrays({"n": np.arange(count)}).shuffle(seed=3)


def sizes_of(batches):
    return [len(batch["n"]) for batch in batches]


def saved(state):
    return json.loads(json.dumps(state))


def states_of(pipe):
    """The state before each batch, and at the end."""
    with iter(pipe) as batches:
        states = [saved(batches.state())]
        states += [saved(batches.state()) for _ in batches]
    return states


def expected_sizes(count, sizes, num_ranks=1):
    """The sizes of one rank's batches of `count` examples."""
    found, position = [], 0
    while position < count * num_ranks:
        size = sizes[max(first for first in sizes if first <= position)]
        found.append(min(size, count - position // num_ranks))
        position += size * num_ranks
    return found


class TestBatch:
    @pytest.mark.parametrize("count", [0, 1, 4, 5, 6, 7, 19, 22, 40, 41])
    @pytest.mark.parametrize("sizes", [SIZES, {20: 1, 0: 7}, {0: 3, 1: 2}, {0: 4}])
    def test_each_batch_has_the_size_at_its_position(self, count, sizes):
        pipe = numbers(count).batch(sizes)
        assert sizes_of(pipe) == expected_sizes(count, sizes)
        together = [number for batch in numbers_of(pipe) for number in batch]
        assert together == [int(example["n"]) for example in numbers(count)]
        assert len(pipe) == len(expected_sizes(count, sizes))
        dropping = numbers(count).batch(sizes, "drop")
        assert len(dropping) == len(list(dropping))

    @pytest.mark.parametrize("num_ranks", [2, 3])
    def test_positions_count_the_examples_of_all_ranks(self, num_ranks):
        ranks = [numbers().shard(rank, num_ranks, "drop") for rank in range(num_ranks)]
        for rank in ranks:
            pipe = rank.batch(SIZES)
            assert sizes_of(pipe) == expected_sizes(40 // num_ranks, SIZES, num_ranks)
            assert len(pipe) == len(sizes_of(pipe))
            with iter(pipe) as batches:
                next(batches)
                assert batches.position == 2 * num_ranks

    def test_remainder_follows_the_last_size(self):
        for remainder, last in (("keep", [10, 7]), ("drop", [10]), ("pad", [10, 10])):
            batches = list(hr.arrays({"n": np.arange(38)}).batch(SIZES, remainder))
            assert sizes_of(batches) == [2, 2, 2, 3, 3, 3, 3, 3, *last][: len(batches)]
        assert batches[-1]["n"].tolist()[-2:] == [0, 0]
        assert batches[-1]["mask"].tolist() == [True] * 7 + [False] * 3
        assert batches[0]["mask"].tolist() == [True] * 2

    def test_each_epoch_after_batch_starts_with_the_first_size(self):
        assert sizes_of(numbers(7).batch(SIZES).epochs(2)) == [2, 2, 2, 1] * 2
        assert sizes_of(numbers(7).epochs(2).batch(SIZES)) == [2, 2, 2, 3, 3, 2]
        assert len(numbers(7).batch(SIZES).epochs(2)) == 8
        assert len(numbers(7).epochs(2).batch(SIZES)) == 6

    def test_padded_batch_follows_the_schedule(self):
        lists = hr.iterable(lambda: ({"n": np.arange(n % 3)} for n in range(12)))
        shapes = [batch["n"].shape for batch in lists.padded_batch({0: 2, 4: 5}, remainder="pad")]
        assert shapes == [(2, 1), (2, 2), (5, 2), (5, 2)]

    def test_spec_has_no_fixed_size(self):
        assert numbers().batch(SIZES, "drop").spec["n"].shape == (None,)
        assert numbers().batch({0: 4}, "drop").spec["n"].shape == (4,)
        assert str(numbers().batch(SIZES)._stages[-1]) == f"batch({SIZES}, 'keep')"

    @pytest.mark.parametrize("remainder", ["keep", "drop", "pad"])
    def test_state_resumes_at_each_batch(self, remainder):
        for pipe in (
            numbers().shard(1, 2).batch(SIZES, remainder).epochs(2),
            numbers().epochs(2).shard(1, 2).batch(SIZES, remainder),
        ):
            full = numbers_of(pipe)
            with iter(pipe) as batches:
                digests = [batches.digest() for _ in batches]
            for index, state in enumerate(states_of(pipe)):
                with pipe.resume(state) as batches:
                    rest = [(batch["n"].tolist(), batches.digest()) for batch in batches]
                assert rest == list(zip(full[index:], digests[index:], strict=True))

    @pytest.mark.parametrize(("old", "new"), [(4, 2), (2, 4), (1, 4), (4, 1)])
    def test_different_number_of_ranks_continues_at_the_position(self, old, new):
        sizes = {0: 4, 16: 8}
        step, position = 0, 0
        states = states_of(numbers(48).shard(0, old).batch(sizes))
        while position < 48:
            size = sizes[max(first for first in sizes if first <= position)]
            rests = [
                numbers_of(numbers(48).shard(rank, new).batch(sizes).resume(states[step]))
                for rank in range(new)
            ]
            together = [n for rest in zip(*rests, strict=True) for ns in rest for n in ns]
            order = [int(example["n"]) for example in numbers(48)]
            assert sorted(together) == sorted(order[position:])
            if rests[0]:
                assert len(rests[0][0]) == min(size, (48 - position) // new)
            step, position = step + 1, position + size * old

    def test_state_with_different_sizes_is_rejected(self):
        pipe = numbers().shard(0, 2)
        for old, new in ((SIZES, {0: 2, 6: 3}), (SIZES, 2), (2, SIZES)):
            with pytest.raises(ValueError, match=r"stage 3 is batch.* but it was batch"):
                pipe.batch(new).resume(states_of(pipe.batch(old))[2])

    def test_ranks_of_a_mesh_may_follow_a_combination(self):
        parts = hr.concat([hr.arrays({"n": range(8)}), hr.arrays({"n": range(8, 24)})])
        sizes = {0: 1, 6: 3}
        assert sizes_of(parts.shard(0, 2).batch(sizes)) == expected_sizes(12, sizes, 2)

    def test_functions_receive_batches_of_the_scheduled_sizes(self):
        seen = []

        def note(batch):
            seen.append(len(batch["n"]))
            return batch

        assert sizes_of(numbers(12).map(lambda one: one).batch(SIZES).map(note)) == seen
        assert sorted(seen) == [2, 2, 2, 3, 3]


class TestPack:
    def lists(self, lengths):
        return hr.iterable(
            lambda: ({"x": np.full(n, i + 1, np.int32)} for i, n in enumerate(lengths))
        )

    def rows_of(self, rows):
        return [row["x"].tolist() for row in rows]

    def test_first_example_of_a_row_determines_its_length(self):
        pipe = self.lists([3, 2, 2, 3, 3, 3, 1, 6]).pack(LENGTHS, "x")
        expected = [
            [2, 2, 3, 3],
            [1, 1, 1, 7],
            [5, 5, 5, 6, 6, 6],
            [8] * 6,
            [4, 4, 4, 0],
        ]
        assert sorted(self.rows_of(pipe)) == sorted(expected)
        for index, state in enumerate(states_of(pipe)):
            assert self.rows_of(pipe.resume(state)) == self.rows_of(pipe)[index:]

    def test_positions_count_the_examples_of_all_ranks(self):
        lists = hr.arrays({"n": np.arange(8)}).map(lambda e: {"x": np.full(2, e["n"], np.int32)})
        rows = [self.rows_of(lists.shard(rank, 2).pack({0: 2, 4: 4}, "x")) for rank in range(2)]
        assert rows == [[[0, 0], [2, 2], [4, 4, 6, 6]], [[1, 1], [3, 3], [5, 5, 7, 7]]]

    def test_rows_are_lists_that_padded_batch_joins(self):
        pipe = self.lists([4, 4, 4, 4, 6]).pack(LENGTHS, "x", values=-1)
        assert pipe.spec["x"].shape == pipe.spec["segment_ids"].shape == (None,)
        shapes = [batch["x"].shape for batch in pipe.padded_batch(3)]
        assert shapes == [(3, 4), (2, 6)]
        with pytest.raises(ValueError, match="Use padded_batch"):
            next(iter(pipe.batch(3)))

    def test_error_for_an_example_that_is_too_long_names_the_length(self):
        with pytest.raises(errors.InvalidArgumentError, match=r"6 elements, .* at most 4\. Cut"):
            list(self.lists([4, 6, 6, 6, 6]).pack(LENGTHS, "x"))

    def test_padding_is_counted_with_the_length_of_each_row(self):
        batches = iter(self.lists([3, 4, 4, 4, 6]).pack(LENGTHS, "x"))
        assert len(list(batches)) == 5
        (padding,) = (s.padding for s in batches.statistics().stages if s.name == "pack")
        assert padding == pytest.approx(1 / 22)

    def test_scheduled_lengths_cannot_split_lists(self):
        with pytest.raises(ValueError, match="split=True needs one length, but length is a dict"):
            self.lists([3]).pack(LENGTHS, "x", split=True)


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ({}, r"size is \{\}, but it has no entry for the beginning. Add one for position 0"),
        ({5: 2}, "has no entry for the beginning"),
        ({0: 2, -1: 3}, "a position in size is -1, expected an int of at least 0"),
        ({0: 2, 1.5: 3}, r"a position in size is 1\.5"),
        ({0: 0}, r"size\[0\] is 0, expected an int of at least 1"),
        ({0: 2, 4: "3"}, r"size\[4\] is '3'"),
        (True, "size is True, expected an int"),
    ],
)
def test_wrong_sizes_are_rejected(sizes, words):
    for call in (numbers().batch, numbers().padded_batch):
        with pytest.raises(ValueError, match=words):
            call(sizes)


def test_shared_readers_divide_scheduled_batches():
    pipe = numbers().batch(SIZES)
    shares = [ShareBatches(pipe, index, 3) for index in range(3)]
    try:
        full = numbers_of(pipe)
        assert [next(shares[n % 3])["n"].tolist() for n in range(len(full))] == full
    finally:
        for share in shares:
            share.close()


def test_trainers_accept_batches_of_several_sizes():
    torch = pytest.importorskip("torch")
    loader = numbers().batch(SIZES).to_torch()
    assert [tuple(batch["n"].shape) for batch in loader][:4] == [(2,), (2,), (2,), (3,)]
    assert all(torch.is_tensor(batch["n"]) for batch in loader)
    assert loader.batch_sampler.batch_size == 2
    assert len(loader) == len(numbers().batch(SIZES))
