"""Random pipelines with all stages in any order, compared with a model and resumed."""

import logging
import tempfile
from collections import Counter
from pathlib import Path

from tests.pipeline.generated.checks import check, shrunk
from tests.pipeline.generated.program import Program
from tests.pipeline.generated.programs import program_of
from tests.pipeline.generated.source_files import write_files

from stress.part import Options, Result
from stress.watchdog import deadline

# The share of it that runs each night.
NIGHTLY = 0.3
PROGRAMS = 10_000


def run(options: Options) -> Result:
    """Runs random pipelines with several options, resumes them, and changes the number of ranks."""
    result = Result()
    # Warnings about the order of stages are ignored here.
    logging.getLogger("headrace.pipeline").setLevel(logging.ERROR)
    kinds: Counter[str] = Counter()
    count = options.times(PROGRAMS)
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        write_files(directory)
        # Different numbers than in the tests.
        for number in range((options.seed + 1) * PROGRAMS, (options.seed + 1) * PROGRAMS + count):
            program = program_of(number)
            kinds.update(program.kinds)
            with deadline(f"program {number}\n{program!r}", 120):
                result.failures += _failures(program, directory, number)
    result.figures["pipelines"] = count
    result.figures.update({f"with {kind}": kinds[kind] for kind in sorted(kinds)})
    return result


def _failures(program: Program, directory: Path, number: int) -> list[str]:
    try:
        check(program, directory, number)
    except Exception as error:
        short = shrunk(program, directory, number)
        return [f"program {number}: {type(error).__name__}: {error}\n{short!r}"]
    return []
