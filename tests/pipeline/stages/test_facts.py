from dataclasses import dataclass
from typing import ClassVar

import pytest

from headrace.pipeline.sources.file_source import FileSource
from headrace.pipeline.stages import source, stage
from headrace.pipeline.stages.function_step import FunctionStep
from headrace.pipeline.stages.source import Origin, Source
from headrace.pipeline.stages.stage import Effect, KeepsComponents, Step


def method(self, *arguments):
    return None


STEP = {
    "effect": Effect.EACH,
    "needs_values": False,
    "added_axes": 0,
    "specs_after": method,
    "names_after": method,
    "length_after": method,
    "plan_into": method,
}
OF_EFFECTS = {
    Effect.SKIPS_ERRORS: {"budget": 0, "raises_at_end": False},
    Effect.DIVIDES: {"num_shares": 2, "makes_even": None, "piece_shard": None},
    Effect.SHARES: {"num_shares": 2},
    Effect.REORDERS: {"full_shuffle": True},
    Effect.SAMPLES: {"num_drawn": None},
    Effect.KEEPS: {"keeps_on_disk": False},
}
SOURCE = {
    "origin": Origin.ARRAYS,
    "spec": None,
    "obstacle": None,
    "is_reordered": False,
    "window_pieces": method,
    "counts": method,
    "source_plan": method,
}
OF_FILES = {
    "is_scanned": True,
    "is_kept_for_shuffle": False,
    "numbers_lines": False,
    "classes": None,
    "piece": "file",
    "may_have_index": False,
    "records": method,
}
OF_ORIGINS = {
    Origin.FILES: OF_FILES,
    Origin.ITERATOR: {"called_function": print, "num_parallel": 1, "described_in_state": ""},
    Origin.ROWS: {"measured_part": "numbers"},
    Origin.PARTS: {"parts": (), "combined_length": method},
}
SEED = {"seed": 0, "draws": True, "is_seed_given": True}

KINDS = [
    pytest.param(Step, STEP, id="step"),
    *(
        pytest.param(Step, STEP | {"effect": effect} | facts, id=f"step that {effect.name}")
        for effect, facts in OF_EFFECTS.items()
    ),
    pytest.param(Step, STEP | SEED, id="step with a seed"),
    pytest.param(Source, SOURCE, id="source"),
    *(
        pytest.param(Source, SOURCE | {"origin": origin} | facts, id=f"source of {origin.name}")
        for origin, facts in OF_ORIGINS.items()
    ),
    pytest.param(Source, SOURCE | SEED, id="source with a seed"),
    pytest.param(
        FileSource,
        {"spec": None, "planned": method, **OF_FILES, "piece": "row group", "num_pieces": method},
        id="source of files with pieces",
    ),
    pytest.param(
        FunctionStep,
        {name: value for name, value in STEP.items() if name != "needs_values"}
        | {"use": "map", "worker": method},
        id="step with a function",
    ),
]


@pytest.mark.parametrize(("kind", "facts"), KINDS)
def test_stage_must_state_each_of_its_facts(kind, facts):
    type("New", (kind,), facts)
    for fact in facts:
        if fact == "seed" or is_stated_by(kind, fact):
            continue
        rest = {name: value for name, value in facts.items() if name != fact}
        with pytest.raises(TypeError, match=f"the stage New does not define .*{fact}"):
            type("New", (kind,), rest)


def is_stated_by(kind, fact):
    """Returns whether a common base class already defines this."""
    bases = (one for one in kind.__mro__ if one not in (Step, Source, *Step.__mro__))
    return any(
        fact in vars(one) and not getattr(vars(one)[fact], "__isabstractmethod__", False)
        for one in bases
    )


def test_every_effect_and_origin_fact_is_tested():
    assert {effect: tuple(facts) for effect, facts in OF_EFFECTS.items()} == stage._FACTS_OF
    assert {origin: tuple(facts) for origin, facts in OF_ORIGINS.items()} == source._FACTS_OF


def test_field_can_state_a_fact():
    @dataclass(frozen=True)
    class Skipping(KeepsComponents):
        budget: int
        raises_at_end: bool

        effect: ClassVar = Effect.SKIPS_ERRORS
        needs_values: ClassVar = True
        added_axes: ClassVar = 0
        length_after = method
        plan_into = method

    assert Skipping(3, False).judges_errors


def test_class_variable_without_a_value_does_not_state_a_fact():
    with pytest.raises(TypeError, match="does not define effect"):

        class New(KeepsComponents):
            effect: ClassVar[Effect]
            needs_values: ClassVar = True
            added_axes: ClassVar = 0
            length_after = method
            plan_into = method
