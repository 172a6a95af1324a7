"""Mixtures whose parts and weights change while they are read."""

import logging

from tests.pipeline.generated.mixtures import check_changes

from stress.part import Options, Result
from stress.watchdog import deadline

# The share of it that runs each night.
NIGHTLY = 0.3
CHANGES = 10_000


def run(options: Options) -> Result:
    """Changes mixtures at random batches, and checks that no example is lost or repeated."""
    result = Result()
    logging.getLogger("headrace.pipeline").setLevel(logging.ERROR)
    expected, changes, number = options.times(CHANGES), 0, (options.seed + 1) * CHANGES
    while changes < expected and len(result.failures) < 10:
        with deadline(f"mixture {number}", 120):
            try:
                changes += check_changes(number)
            except Exception as error:
                result.failures.append(f"mixture {number}: {type(error).__name__}: {error}")
        number += 1
    result.figures["changes"] = changes
    return result
