"""Python functions with `state()` and `restore(state)`: each position has its state."""

import json

import numpy as np
import pytest
from tests.pipeline.conftest import same

import headrace as hr
from headrace.pipeline.run import state as states

FEW = list(range(20))


class Count:
    """Numbers its calls from 0, over all epochs."""

    def __init__(self):
        self.calls = 0

    def __call__(self, example):
        self.calls += 1
        return {"n": example["n"], "call": self.calls - 1}

    def state(self):
        return {"calls": self.calls}

    def restore(self, state):
        self.calls = state["calls"]


def numbers(count):
    return hr.arrays({"n": np.arange(count)})


def uncounted(count):
    return numbers(count).map(lambda example: {"n": example["n"], "call": -1})


def beside(count):
    return hr.arrays({"m": np.arange(count)})


def is_third(example):
    return example["call"] % 3 == 0


# The expected results of `call`, computed with Python's own iterators.
PROGRAMS = {
    "take": (lambda: numbers(500).map(Count()).take(10).epochs(2), FEW),
    "batches": (lambda: numbers(500).map(Count()).batch(2).take(5).epochs(2), FEW),
    "whole passes": (lambda: numbers(10).map(Count()).epochs(2), FEW),
    "zip": (lambda: hr.zip([numbers(500).map(Count()), beside(10)], strict=False).epochs(2), FEW),
    "a longer pipeline beside": (
        lambda: hr.zip([beside(500), numbers(10).map(Count())], strict=False).epochs(2),
        FEW,
    ),
    "concat": (
        lambda: hr.concat([numbers(3).map(Count()), uncounted(2)]).epochs(2),
        [0, 1, 2, -1, -1, 3, 4, 5, -1, -1],
    ),
    "a part that is cut short": (
        lambda: hr.concat([numbers(500).map(Count()).take(2), uncounted(2)]).epochs(2),
        [0, 1, -1, -1, 2, 3, -1, -1],
    ),
    "cache": (lambda: numbers(4).map(Count()).cache().epochs(3), [0, 1, 2, 3] * 3),
    "a part of a cache": (
        lambda: numbers(500).map(Count()).cache().take(3).epochs(2),
        [0, 1, 2] * 2,
    ),
    "filter": (
        lambda: numbers(500).map(Count()).filter(is_third).take(2).epochs(3),
        [0, 3, 6, 9, 12, 15],
    ),
    "the end of a filter": (
        lambda: numbers(5).map(Count()).filter(is_third).take(9).epochs(2),
        [0, 3, 6, 9],
    ),
    "a function after": (
        lambda: numbers(500).map(Count()).map(lambda example: example).take(10).epochs(2),
        FEW,
    ),
    "all in another order": (
        lambda: numbers(50).map(Count()).shuffle(seed=1).take(10).epochs(2),
        FEW,
    ),
    "epochs of epochs": (lambda: numbers(4).map(Count()).epochs(2).take(5).epochs(4), FEW),
    "flat_map": (
        lambda: numbers(500).map(Count()).flat_map(lambda example: [example] * 3).take(4).epochs(2),
        [0, 0, 0, 1, 2, 2, 2, 3],
    ),
}


def counted(first, count):
    return hr.arrays({"n": np.arange(first, first + count)}).map(Count())


def lists(first, count):
    def listed(example):
        return {"t": np.arange(example["n"] % 4 + 1), "call": example["call"]}

    return counted(first, count).map(listed)


# Parts that end before they are read to their ends.
MIXES = {
    "functions": lambda: hr.mix([counted(0, 20), counted(100, 20)], seed=3),
    "filters": lambda: hr.mix(
        [counted(0, 30).filter(lambda example: example["n"] % 4 == 0), counted(100, 12)], seed=5
    ),
    "windows": lambda: hr.mix([counted(0, 17).shuffle(window=4, seed=3), counted(100, 9)], seed=6),
    "mixes": lambda: hr.mix(
        [
            hr.mix([counted(0, 17), counted(100, 9)], seed=3, stop="all"),
            hr.mix([counted(200, 7), counted(300, 12)], seed=8, stop="all").skip(2),
        ],
        weights=[3, 1],
        seed=1,
    ),
    "groups": lambda: hr.mix(
        [
            lists(0, 17).pack(5, "t", along="call", max_open=3),
            lists(100, 15).pack(5, "t", along="call", balance=2),
        ],
        seed=2,
    ).take(9),
    "shards": lambda: hr.mix([counted(0, 30).shard(0, 3), counted(100, 9)], seed=2),
    "shards of batches": lambda: hr.mix(
        [counted(0, 60).batch(2).shard(1, 3), counted(100, 12).batch(2)], seed=1
    ),
    "parts that have ended": lambda: hr.mix(
        [counted(0, 9).filter(lambda example: example["n"] < 4), counted(100, 12)],
        seed=4,
        stop="all",
    ),
}


def values(batches):
    return [int(call) for batch in batches for call in np.ravel(batch["call"])]


def copied(state):
    return json.loads(json.dumps(state))


@pytest.fixture(params=PROGRAMS)
def program(request):
    return PROGRAMS[request.param]


@pytest.mark.timeout(120)
class TestEpochs:
    def test_next_epoch_starts_with_the_state_after_the_last_used_row(self, program):
        pipeline, expected = program
        for num_threads in (1, 3):
            assert values(pipeline().options(num_threads=num_threads)) == expected
        assert values(pipeline().options(memory_bytes=16 << 20)) == expected

    def test_mix_that_stops_with_its_first_part_counts_only_the_rows_it_yields(self):
        mixed = hr.mix([numbers(500).map(Count()), uncounted(20)], seed=3)
        calls = [call for call in values(mixed.epochs(3)) if call >= 0]
        assert calls == list(range(len(calls)))
        assert len(calls) > 40

    def test_each_part_of_a_mix_continues_after_its_last_row(self):
        for _ in range(5):
            inputs = list(MIXES["functions"]().epochs(3))
            for is_of_part in (lambda n: n < 100, lambda n: n >= 100):
                calls = [int(one["call"]) for one in inputs if is_of_part(one["n"])]
                assert calls == list(range(len(calls)))

    @pytest.mark.parametrize("kind", MIXES)
    def test_interrupted_mix_resumes_at_any_batch(self, kind):
        batches = iter(MIXES[kind]().epochs(3))
        states, inputs = [batches.state()], []
        for batch in batches:
            inputs.append(batch)
            states.append(batches.state())
        for index in range(0, len(inputs), 4):
            assert same(list(MIXES[kind]().epochs(3).resume(copied(states[index]))), inputs[index:])

    def test_mix_resumes_at_any_batch_after_a_part_ended(self, tmp_path):
        for number in range(60):
            (tmp_path / f"{number:02}.jsonl").write_text('{"n": 1000}\n' * 4)

        def shuffled():
            parts = [
                counted(0, 7).filter(lambda example: example["n"] < 4),
                hr.json_lines(str(tmp_path / "*.jsonl")).map(
                    lambda one: {"n": one["n"], "call": -1}
                ),
            ]
            return hr.concat(parts).shuffle(window=4, seed=1).take(200).batch(8).epochs(2)

        batches = iter(shuffled())
        states, inputs = [batches.state()], []
        for batch in batches:
            inputs.append(batch)
            states.append(batches.state())
        for index in range(18, 25, 3):
            assert same(list(shuffled().resume(copied(states[index]))), inputs[index:])

    def test_window_has_consumed_its_pending_rows(self):
        windows = numbers(500).map(Count()).shuffle(window=4, seed=1).take(5).epochs(2)
        calls = values(windows)
        assert max(calls[:5]) < 8 <= min(calls[5:])
        assert max(calls[5:]) < 16
        assert values(windows) == calls

    def test_pipeline_resumes_from_every_position(self, program):
        pipeline, expected = program
        batches = iter(pipeline())
        states, inputs = [batches.state()], []
        for batch in batches:
            inputs.append(batch)
            states.append(batches.state())
        for index, state in enumerate(states):
            again = pipeline().options(num_threads=1).resume(copied(state))
            later = []
            for batch in inputs[index:]:
                assert same([next(again)], [batch])
                later.append(copied(again.state()))
            assert next(again, None) is None
            for behind, state_behind in list(enumerate(later, index + 1))[:: max(len(later), 1)]:
                assert same(list(pipeline().resume(state_behind)), inputs[behind:])
        assert values(inputs) == expected


class TestIterations:
    def test_each_iteration_starts_with_the_initial_state(self):
        counted = numbers(5).map(Count())
        assert values(counted) == values(counted) == [0, 1, 2, 3, 4]
        assert values(counted.batch(2)) == [0, 1, 2, 3, 4]

    def test_state_before_the_first_batch_restores_the_initial_state(self):
        counted = numbers(5).map(Count())
        state = copied(iter(counted).state())
        assert values(counted) == [0, 1, 2, 3, 4]
        assert values(counted.resume(state)) == [0, 1, 2, 3, 4]

    def test_pipeline_state_contains_the_initial_function_state(self):
        late = Count()
        late.restore({"calls": 7})
        state = copied(iter(numbers(3).map(late)).state())
        assert values(numbers(3).map(Count()).resume(state)) == [7, 8, 9]

    def test_concurrent_iterations_do_not_share_state(self):
        counted = numbers(300).map(Count())
        both = [iter(counted), iter(counted)]
        pairs = [[int(next(one)["call"]) for one in both] for _ in range(300)]
        assert pairs == [[number, number] for number in range(300)]

    def test_inferring_the_spec_does_not_change_function_state(self):
        function = Count()
        counted = numbers(5).map(function)
        assert list(counted.spec) == ["n", "call"]
        assert function.calls == 0

    def test_stateful_function_cannot_be_used_in_two_stages(self):
        count = Count()
        twice = hr.concat([numbers(3).map(count), numbers(3).map(count)])
        with pytest.raises(
            ValueError, match=r"^Count: this function has state, .* Create a separate object"
        ):
            iter(twice)


def test_state_without_matching_functions_is_rejected():
    state = iter(numbers(3).map(Count())).state()
    wrong = {**{key: value for key, value in state.items() if key != "checksum"}, "functions": []}
    wrong["checksum"] = states._checksum(wrong)
    with pytest.raises(ValueError, match="the state is damaged"):
        numbers(3).map(Count()).resume(wrong)
