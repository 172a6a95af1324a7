"""`shard()` uses the rank that a library or launcher has set for this process."""

import sys
from types import SimpleNamespace

import pytest

import headrace as hr
from headrace.core.process_rank import process_rank


@pytest.fixture(autouse=True)
def nobody_knows(monkeypatch):
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("torch.distributed", "jax"):
        monkeypatch.delitem(sys.modules, name, raising=False)


@pytest.fixture
def torch_says(monkeypatch):
    def say(rank, world_size, is_initialized=True):
        module = SimpleNamespace(
            is_available=lambda: True,
            is_initialized=lambda: is_initialized,
            get_rank=lambda: rank,
            get_world_size=lambda: world_size,
        )
        monkeypatch.setitem(sys.modules, "torch.distributed", module)

    return say


@pytest.fixture
def jax_says(monkeypatch):
    def say(rank, world_size, is_initialized=True):
        module = SimpleNamespace(
            distributed=SimpleNamespace(is_initialized=lambda: is_initialized),
            process_index=lambda: rank,
            process_count=lambda: world_size,
        )
        monkeypatch.setitem(sys.modules, "jax", module)

    return say


@pytest.fixture
def variables_say(monkeypatch):
    def say(**variables):
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    return say


def test_torch_takes_precedence_over_environment_variables(torch_says, variables_say):
    variables_say(RANK="0", WORLD_SIZE="2")
    torch_says(3, 4)
    assert process_rank("shard") == (3, 4, "torch.distributed")


def test_uninitialized_library_is_ignored(torch_says, jax_says, variables_say):
    torch_says(3, 4, is_initialized=False)
    jax_says(1, 2)
    assert process_rank("shard") == (1, 2, "JAX")
    jax_says(1, 2, is_initialized=False)
    variables_say(RANK="5", WORLD_SIZE="8")
    assert process_rank("shard") == (5, 8, "RANK and WORLD_SIZE")


def test_disagreeing_libraries_are_an_error(torch_says, jax_says):
    torch_says(1, 4)
    jax_says(1, 4)
    assert process_rank("shard") == (1, 4, "torch.distributed")
    jax_says(0, 2)
    with pytest.raises(
        RuntimeError,
        match=r"torch\.distributed reports rank 1 of 4 and JAX reports rank 0 of 2, but",
    ):
        process_rank("shard")


@pytest.mark.parametrize(
    ("variables", "text"),
    [
        ({"RANK": "1"}, "RANK='1', WORLD_SIZE=None"),
        ({"WORLD_SIZE": "2"}, "RANK=None, WORLD_SIZE='2'"),
        ({"RANK": "2", "WORLD_SIZE": "2"}, "RANK='2', WORLD_SIZE='2'"),
        ({"RANK": "-1", "WORLD_SIZE": "2"}, "RANK='-1', WORLD_SIZE='2'"),
        ({"RANK": "one", "WORLD_SIZE": "2"}, "RANK='one', WORLD_SIZE='2'"),
        ({"RANK": "", "WORLD_SIZE": ""}, "RANK='', WORLD_SIZE=''"),
    ],
)
def test_invalid_rank_variables_are_an_error(variables, text, variables_say):
    variables_say(**variables)
    with pytest.raises(ValueError, match=f"the environment has {text}, but RANK must"):
        process_rank("shard")


def test_shard_uses_the_rank_and_names_its_source(variables_say):
    numbers = hr.arrays({"n": list(range(7))})
    variables_say(RANK="1", WORLD_SIZE="3")
    mine = numbers.shard()
    assert [int(example["n"]) for example in mine] == [1, 4]
    assert "shard(1, 3): rank from RANK and WORLD_SIZE" in mine.describe()
    assert "rank from" not in numbers.shard(1, 3).describe()


def test_state_of_shard_without_arguments_matches_explicit_numbers(variables_say):
    numbers = hr.arrays({"n": list(range(20))})
    variables_say(RANK="1", WORLD_SIZE="2")
    batches = iter(numbers.shard().batch(2))
    next(batches)
    rest = numbers.shard(1, 2).batch(2).resume(batches.state())
    assert [batch["n"].tolist() for batch in rest] == [batch["n"].tolist() for batch in batches]


def test_shard_without_arguments_requires_a_known_rank():
    numbers = hr.arrays({"n": [1, 2]})
    with pytest.raises(
        RuntimeError, match=r"shard: the rank is unknown: .*one process, call shard\(0, 1\)"
    ):
        numbers.shard()


def test_single_argument_of_shard_is_an_error():
    numbers = hr.arrays({"n": [1, 2]})
    with pytest.raises(TypeError, match="shard: index is 1 and count is None, but either both or"):
        numbers.shard(1)
    with pytest.raises(TypeError, match="shard: index is None and count is 2, but either both or"):
        numbers.shard(count=2)
