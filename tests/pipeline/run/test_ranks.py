"""States that can or cannot be resumed with another number of ranks."""

import json
from collections import Counter

import numpy as np
import pytest
from tests.tiers import nightly_after

import headrace as hr
from headrace.core import errors

REFUSED = (ValueError, errors.InvalidArgumentError)


def numbers_of(batches):
    return [int(number) for batch in batches for number in np.ravel(batch["n"])]


def steps_of(pipeline):
    """The numbers of each step of a rank, and the states before the steps and at the end."""
    with iter(pipeline) as batches:
        states, steps = [batches.state()], []
        for batch in batches:
            steps.append(numbers_of([batch]))
            states.append(batches.state())
    return steps, [json.loads(json.dumps(state)) for state in states]


def check_ranks(pipeline, old, new, **changed):
    """Resumes `old` ranks as `new` ones after each step, from the state of each rank.

    The new ranks yield all remaining examples, each as often as expected, or every rank's state is
    rejected. Returns the number of steps that are not rejected.
    """
    ranks = [steps_of(pipeline(rank, old)) for rank in range(old)]
    full = Counter(number for steps, _ in ranks for step in steps for number in step)
    num_accepted = 0
    for step in range(max(len(steps) for steps, _ in ranks) + 1):
        value = Counter(n for steps, _ in ranks for some in steps[:step] for n in some)
        answers = set()
        for steps, states in ranks:
            if step > len(steps):
                continue
            try:
                rest = [
                    numbers_of(pipeline(rank, new, **changed).resume(states[step]))
                    for rank in range(new)
                ]
            except REFUSED as error:
                answers.add("refused" if "shard" in str(error) else repr(error))
            else:
                answers.add("accepted")
                follows = Counter(number for rank in rest for number in rank)
                assert follows == full - value, step
        assert answers in ({"refused"}, {"accepted"}), (step, answers)
        num_accepted += answers == {"accepted"}
    return num_accepted


def shuffled(count):
    return hr.arrays({"n": np.arange(count)}).shuffle(seed=3)


def as_it_is(example):
    return {"n": example["n"]}


class Counting:
    """A function with a state."""

    def __init__(self):
        self.calls = 0

    def __call__(self, example):
        self.calls += 1
        return example

    def state(self):
        return self.calls

    def restore(self, state):
        self.calls = state


CHAINS = {
    "rows": lambda p, size: p,
    "batches": lambda p, size: p.batch(size),
    "a function": lambda p, size: p.map(as_it_is).batch(size),
    "a function of batches": lambda p, size: p.batch(size).map(as_it_is),
    "epochs": lambda p, size: p.epochs(3),
    "batches and epochs": lambda p, size: p.batch(size).epochs(3),
    "epochs and batches": lambda p, size: p.epochs(3).batch(size),
    "epochs between functions": lambda p, size: p.map(as_it_is).epochs(3).map(as_it_is).batch(size),
    "batches on both sides of epochs": lambda p, size: p.batch(2).epochs(3).batch(2),
}


@pytest.mark.timeout(120)
@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize(("old", "new"), [(4, 2), (2, 4), (3, 1), (1, 2)])
def test_all_remaining_examples_follow_if_shards_are_even(chain, old, new):
    def pipeline(rank, world):
        return CHAINS[chain](shuffled(48).shard(rank, world), 3)

    num_steps = len(steps_of(pipeline(0, old))[0]) + 1
    num_accepted = check_ranks(pipeline, old, new)
    assert num_accepted == num_steps if old % new == 0 else num_accepted > num_steps // 4


@pytest.mark.timeout(120)
@pytest.mark.parametrize("chain", [chain for chain in CHAINS if "both sides" not in chain])
@pytest.mark.parametrize("count", nightly_after(1, [33, 34, 35]))
@pytest.mark.parametrize(("old", "new"), [(4, 2), (4, 8), (2, 1)])
def test_ranks_at_different_positions_after_an_uneven_epoch_are_rejected(chain, count, old, new):
    def pipeline(rank, world):
        return CHAINS[chain](shuffled(count).shard(rank, world), 4)

    # Within the first epoch they are at one position.
    assert check_ranks(pipeline, old, new) > 0


def test_ranks_with_equal_batch_counts_may_have_unequal_shards():
    def pipeline(rank, world):
        return shuffled(103).shard(rank, world).batch(8, "drop").epochs(4)

    steps, states = steps_of(pipeline(3, 4))
    assert len(steps) == 4 * 3
    uninterrupted = Counter(
        n for rank in range(4) for step in steps_of(pipeline(rank, 4))[0] for n in step
    )
    # Behind 7 steps: 32 examples of the third epoch.
    rest = Counter(n for rank in range(2) for n in numbers_of(pipeline(rank, 2).resume(states[7])))
    assert len(uninterrupted) == 103
    assert sum(rest.values()) == (103 - 32) // 16 * 16 + 103 // 16 * 16


def test_batch_size_can_change_after_a_shard_of_epochs():
    def pipeline(rank, world, size=4):
        return shuffled(48).shard(rank, world).epochs(2).batch(size)

    assert check_ranks(pipeline, 4, 2, size=8) == 7
    assert check_ranks(pipeline, 2, 4, size=2) == 13


def test_error_explains_why_ranks_after_uneven_epochs_are_rejected():
    def pipeline(rank, world):
        return shuffled(10).shard(rank, world).epochs(3)

    _, states = steps_of(pipeline(1, 4))
    message = (
        r"saved after 1 epochs of one of 4 shards of different lengths\. .* so it cannot "
        r"be used for shard\(\.\.\., 2\)\. Continue with shard\(\.\.\., 4\), "
        r"call epochs\(\.\.\.\) before shard\(\.\.\.\)"
    )
    with pytest.raises(ValueError, match=message):
        pipeline(0, 2).resume(states[4])
    assert len(list(pipeline(1, 4).resume(states[4]))) == 9 - 4


PARTS = {
    "mix": lambda a, b: hr.mix([a, b], seed=4),
    "mix of all": lambda a, b: hr.mix([a, b], [3, 1], seed=4, stop="all"),
    "concat": lambda a, b: hr.concat([a, b]),
    "zip": lambda a, b: hr.zip([a, b.rename(n="m")], strict=False),
    "a concat in a mix": lambda a, b: hr.mix([hr.concat([a, b]), b], seed=4),
}


@pytest.mark.parametrize("combine", PARTS)
def test_shard_inside_a_part_requires_the_same_count_and_index(combine):
    def pipeline(rank, world):
        a, b = shuffled(64), hr.arrays({"n": np.arange(100, 164)}).shuffle(window=9, seed=5)
        return PARTS[combine](a.shard(rank, world), b.shard(rank, world)).batch(4)

    message = (
        r"stage \d of part 0 of stage 0.* is shard\(0, {}\), but it was shard\(0, 4\) when "
        r"the state was saved\. Resume with the same shard\. A state works with a different shard "
        "only if shard is not in a part of mix, concat or zip"
    )
    steps, states = steps_of(pipeline(0, 4))
    for position, state in enumerate(states):
        for new in (1, 2, 8):
            with pytest.raises(ValueError, match=message.format(new)):
                pipeline(0, new).resume(state)
        with pytest.raises(ValueError, match=r"shard\(1, 4\), but it was shard\(0, 4\)"):
            pipeline(1, 4).resume(state)
        follows = numbers_of(pipeline(0, 4).resume(state))
        assert follows == [n for step in steps[position:] for n in step]


def test_shard_after_a_combination_can_have_a_different_count():
    def pipeline(rank, world):
        a, b = shuffled(40), hr.arrays({"n": np.arange(100, 120)})
        return hr.mix([a, b], [2, 1], seed=4, stop="all").shard(rank, world).epochs(2).batch(5)

    assert check_ranks(pipeline, 4, 2) == 7


def test_stateful_function_requires_the_same_shard():
    def pipeline(rank, world):
        return shuffled(48).shard(rank, world).map(Counting()).batch(4)

    _, states = steps_of(pipeline(0, 4))
    with pytest.raises(
        ValueError, match=r"is shard\(0, 2\), but it was shard\(0, 4\) .* stateless"
    ):
        pipeline(0, 2).resume(states[2])


def test_batch_before_epochs_requires_the_same_size_if_another_batch_follows():
    def pipeline(size):
        return shuffled(48).shard(0, 2).batch(size).epochs(2).batch(2)

    _, states = steps_of(pipeline(4))
    with pytest.raises(ValueError, match=r"is batch\(3, 'keep'\), but it was batch\(4, 'keep'\)"):
        pipeline(3).resume(states[1])
