"""The engine's plan of a mixture."""

import hashlib
from collections.abc import Sequence
from typing import Any, Final

from headrace.core import engine
from headrace.pipeline.describe.specs import Specs
from headrace.pipeline.describe.stages import Mix

__all__ = ["mixture"]

_ID_BYTES: Final = 6


def mixture(
    stage: Mix, parts: Sequence[engine.Plan], specs: Specs, resumed: list[Any] | None
) -> engine.Plan:
    """Returns the plan of a mixture.

    Args:
        stage: Its description.
        parts: The plan of each part.
        specs: The components of an example.
        resumed: The place to continue from, directly at an example; None if the state of the whole
            pipeline has it.
    """
    schedule = [(0, stage.weights), *stage.schedule]
    ids = list(map(_id, stage.part_names)) or None
    measured = None
    if stage.measured is not None:
        if stage.measured not in specs or specs[stage.measured].shape == ():
            raise ValueError(
                f"mix: unit names the component {stage.measured!r}, expected one that is a list."
            )
        measured = list(specs).index(stage.measured)
    return engine.Plan.mix(parts, schedule, stage.stop == "all", stage.seed, ids, measured, resumed)


def _id(name: str) -> int:
    """Returns a number for the name of a part, which is the same in all programs."""
    digest = hashlib.sha256(name.encode()).digest()
    return int.from_bytes(digest[:_ID_BYTES], "little")
