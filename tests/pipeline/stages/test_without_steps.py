"""`without_steps`: the remaining batches, their states, digests and ledgers."""

import json

import numpy as np
import pytest

import headrace as hr
from headrace.core import errors
from headrace.ledger import read_ledger
from headrace.pipeline.run import state as states_module
from headrace.pipeline.run.reader_shards import check_shares


def numbers_of(batches):
    return [batch["n"].tolist() for batch in batches]


def numbers(count=40):
    return hr.arrays({"n": np.arange(count)}).shuffle(seed=3)


def saved(state):
    return json.loads(json.dumps(state))


def states_of(pipe):
    """The state before each batch, and at the end."""
    with iter(pipe) as batches:
        states = [saved(batches.state())]
        states += [saved(batches.state()) for _ in batches]
    return states


PIPE = numbers().epochs(2).batch(4)
ALL = numbers_of(PIPE)


class TestBatches:
    @pytest.mark.parametrize(
        ("ranges", "steps"),
        [
            ([(3, 5)], {3, 4}),
            ([[0, 1]], {0}),
            ([(12, 14), (2, 5), (4, 6)], {2, 3, 4, 5, 12, 13}),
            ([(np.int64(18), 99)], {18, 19}),
            ([(99, 100)], set()),
            ([], set()),
        ],
    )
    def test_only_batches_of_the_listed_steps_are_omitted(self, ranges, steps):
        pipe = PIPE.without_steps(ranges)
        expected = [batch for step, batch in enumerate(ALL) if step not in steps]
        assert numbers_of(pipe) == expected
        assert len(pipe) == pipe.count() == len(expected)

    def test_random_and_stateful_functions_are_called_for_all_batches(self):
        def with_draw(batch, rng):
            return {**batch, "draw": rng.random()}

        calls = []

        def counted(batch):
            calls.append(batch)
            return batch

        pipe = PIPE.map(with_draw, seed=1).map(counted)
        draws = [batch["draw"] for batch in pipe]
        some = [batch["draw"] for batch in pipe.without_steps([(1, 18)])]
        assert some == [draws[0], *draws[18:]]
        assert len(calls) == 2 * len(ALL)

    def test_second_call_counts_the_steps_of_the_shortened_run(self):
        twice = PIPE.without_steps([(3, 5)]).without_steps([(2, 4), (10, 11)])
        first = [*ALL[:3], *ALL[5:]]
        assert numbers_of(twice) == [*first[:2], *first[4:10], *first[11:]]
        assert len(twice) == len(ALL) - 5

    def test_all_ranks_omit_the_same_steps(self):
        ranks = [numbers().shard(rank, 2, even="drop").batch(4) for rank in range(2)]
        results = [numbers_of(rank.without_steps([(1, 2)])) for rank in ranks]
        both = [numbers_of(rank) for rank in ranks]
        assert results == [[*batches[:1], *batches[2:]] for batches in both]

    def test_select_and_prefetch_can_follow(self):
        pipe = PIPE.without_steps([(0, 1)]).select("n").prefetch(5)
        assert numbers_of(pipe) == ALL[1:]

    def test_examples_skipped_in_omitted_steps_are_reported(self):
        def check(example):
            if example["n"] % 8 == 1:
                raise ValueError("bad")
            return example

        pipe = hr.arrays({"n": np.arange(40)}).map(check).skip_errors(9).batch(7)
        with iter(pipe) as whole, iter(pipe.without_steps([(0, 2)])) as some:
            assert numbers_of(whole)[2:] == numbers_of(some)
            assert [str(one) for one in whole.skipped] == [str(one) for one in some.skipped]

    def test_mix_counts_exclude_omitted_steps(self):
        parts = {"a": hr.arrays({"n": [0] * 20}), "b": hr.arrays({"n": [1] * 20})}
        pipe = hr.mix(parts, seed=1, stop="all").batch(4).without_steps([(0, 3), (6, 7)])
        with iter(pipe) as batches:
            ones = [one for batch in batches for one in batch["n"].tolist()]
            counts = {"a": ones.count(0), "b": ones.count(1)}
            assert batches.counts == counts
            assert batches.metrics()["headrace_part_examples_total"] == counts
            assert batches.state()["mixture"]["counts"] == counts
        with pipe.resume(states_of(pipe)[2]) as batches:
            next(batches)
            assert sum(batches.counts.values()) == 12


class TestStates:
    def test_state_resumes_with_the_next_batch(self):
        pipe = PIPE.without_steps([(3, 5), (12, 15)])
        rest = numbers_of(pipe)
        for index, state in enumerate(states_of(pipe)):
            assert numbers_of(pipe.resume(state)) == rest[index:]

    def test_state_from_before_the_first_omitted_step_is_accepted(self):
        pipe = PIPE.without_steps([(3, 5)])
        for step, state in enumerate(states_of(PIPE)):
            if step <= 3:
                assert numbers_of(pipe.resume(state)) == [*ALL[step:3], *ALL[5:]]
                continue
            with pytest.raises(ValueError, match=rf"saved at step {step}, after leaving out no st"):
                pipe.resume(state)

    def test_later_run_may_omit_more_steps(self):
        once = PIPE.without_steps([(3, 5)])
        twice = once.without_steps([(10, 12)])
        state = states_of(once)[9]
        assert numbers_of(twice.resume(state)) == numbers_of(once)[9:10] + numbers_of(once)[12:]
        with pytest.raises(ValueError, match="left out steps 3 to 4, but this pipeline does not"):
            PIPE.resume(state)
        assert numbers_of(PIPE.resume(states_of(once)[3])) == ALL[3:]
        with pytest.raises(ValueError, match="leaves out 3 to 4, 12 to 13 up to there"):
            twice.resume(states_of(once)[12])

    def test_different_number_of_ranks_continues_the_step_count(self):
        old = [numbers().shard(rank, 4).batch(2).without_steps([(1, 2)]) for rank in range(4)]
        state = states_of(old[2])[2]
        assert state["step"] == 3
        new = [numbers().shard(rank, 2).batch(2).without_steps([(1, 2), (4, 5)]) for rank in (0, 1)]
        for rank in new:
            whole = numbers_of(numbers().shard(0 if rank is new[0] else 1, 2).batch(2))
            assert numbers_of(rank.resume(state)) == [whole[6], *whole[8:]]

    def test_state_of_an_earlier_version_has_no_step(self):
        state = {k: v for k, v in states_of(PIPE)[2].items() if k not in ("step", "checksum")}
        state["checksum"] = states_module._checksum(state)
        assert numbers_of(PIPE.resume(state)) == ALL[2:]
        with pytest.raises(ValueError, match="does not include the number of its step"):
            PIPE.without_steps([(3, 5)]).resume(state)


class TestEpochs:
    def test_loops_over_epochs_count_the_batches_of_earlier_ones(self):
        whole = numbers().batch(4)
        pipe = whole.without_steps([(8, 12)])
        for epoch, kept in ((0, slice(0, 8)), (1, slice(2, 10)), (2, slice(0, 10))):
            expected = numbers_of(whole.epoch(epoch))[kept]
            assert numbers_of(pipe.epoch(epoch)) == expected
            with pipe.epoch(epoch) as batches:
                next(batches)
                state = saved(batches.state())
            assert numbers_of(pipe.resume(state)) == expected[1:]
        with whole.epoch(2) as batches:
            state = saved(batches.state())
        with pytest.raises(ValueError, match="saved at step 20, after leaving out no steps"):
            pipe.resume(state)

    def test_epochs_of_unknown_length_are_rejected(self):
        pipe = numbers().filter(lambda example: example["n"] > 3).batch(4).without_steps([(1, 2)])
        assert len(numbers_of(pipe.epoch(0))) == 8
        with pytest.raises(ValueError, match=r"first step of epoch 1 is, too. Use epochs"):
            pipe.epoch(1)


class TestDigests:
    def test_digest_changes_at_the_first_omitted_step(self):
        with iter(PIPE) as whole, iter(PIPE.without_steps([(3, 5)])) as some:
            digests = [whole.digest() for _ in whole]
            results = [(some.digest(), some.position) for _ in some]
        assert [digest for digest, _ in results[:3]] == digests[:3]
        assert not {digest for digest, _ in results[3:]} & set(digests)
        assert [position for _, position in results] == [4, 8, 12, *range(24, 81, 4)]

    def test_digest_continues_after_a_resume_and_is_equal_on_all_ranks(self):
        ranks = [numbers().shard(rank, 2).batch(2).without_steps([(1, 3)]) for rank in range(2)]
        with iter(ranks[0]) as first, iter(ranks[1]) as second:
            digests = [first.digest() for _ in first]
            assert [second.digest() for _ in second] == digests
        with ranks[1].resume(states_of(ranks[0])[4]) as batches:
            assert [batches.digest() for _ in batches] == digests[4:]

    def test_ledger_numbers_the_steps_of_the_loop(self, tmp_path):
        path = tmp_path / "run.ledger"
        pipe = PIPE.without_steps([(3, 5)])
        with hr.Ledger(path) as ledger, iter(pipe) as batches:
            for step, _ in enumerate(batches):
                ledger.record(step, batches)
        entries = list(read_ledger(path))
        assert [entry.step for entry in entries] == list(range(18))
        assert [entry.examples for entry in entries[2:4]] == [12, 24]


class TestArguments:
    @pytest.mark.parametrize(
        ("ranges", "error", "words"),
        [
            ((340, 352), TypeError, r"expected a list of pairs, such as \[\(340, 352\)\]"),
            (5, TypeError, "expected a list of pairs"),
            ([(1, 2, 3)], TypeError, "expected a list of pairs"),
            ([(-1, 2)], ValueError, "the start of a range is -1, expected an int of at least 0"),
            ([(1, 2.5)], ValueError, "the end of a range is 2.5"),
            ([(4, 4)], ValueError, r"the range \(4, 4\) contains no step"),
            ([(5, 4)], ValueError, r"Write the first step .* such as \(5, 6\)"),
        ],
    )
    def test_wrong_ranges_are_rejected(self, ranges, error, words):
        with pytest.raises(error, match=words):
            PIPE.without_steps(ranges)

    def test_pipeline_must_yield_batches_that_no_later_stage_changes(self):
        with pytest.raises(ValueError, match=r"yields examples, expected batches. Call without_st"):
            numbers().without_steps([(0, 1)])
        pipe = PIPE.without_steps([(0, 1)])
        for name, change in (
            ("epochs", lambda: pipe.epochs(2)),
            ("take", lambda: pipe.take(2)),
            ("unbatch", pipe.unbatch),
            ("shard", lambda: pipe.shard(0, 2)),
            ("concat", lambda: hr.concat([pipe, pipe])),
        ):
            with pytest.raises(ValueError, match=rf"^{name}: .*without_steps"):
                change()

    def test_order_must_be_fixed(self):
        pipe = PIPE.options(deterministic=False).without_steps([(0, 1)])
        with pytest.raises(ValueError, match="deterministic=False"):
            iter(pipe)

    def test_shared_readers_are_rejected(self):
        with pytest.raises(ValueError, match="each reader sees only its own batches"):
            check_shares("serve", PIPE.without_steps([(0, 1)]))


def test_torch_loader_counts_whole_epochs():
    torch = pytest.importorskip("torch")
    loader = numbers().batch(4).without_steps([(8, 12)]).to_torch()
    assert len(loader) == 10
    lengths = [sum(torch.is_tensor(batch["n"]) for batch in loader) for _ in range(3)]
    assert lengths == [8, 8, 10]
    fixed = numbers().batch(4).without_steps([(8, 12)]).to_torch(length=10)
    assert [len(list(fixed)) for _ in range(2)] == [8, 8]


def test_error_in_an_omitted_step_ends_the_iteration():
    def fail(batch):
        if 4 in batch["n"]:
            raise LookupError("four")
        return batch

    pipe = hr.arrays({"n": np.arange(20)}).batch(2).map(fail).without_steps([(2, 4)])
    with iter(pipe) as batches:
        assert numbers_of([next(batches), next(batches)]) == [[0, 1], [2, 3]]
        with pytest.raises((LookupError, errors.OpError)):
            next(batches)
        assert batches.state()["step"] == 2
