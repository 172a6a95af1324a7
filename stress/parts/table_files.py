"""Random table files with many writer options, compared with the written values."""

import tempfile
from pathlib import Path

from tests.pipeline.generated.table_files import WRITERS, check_table_file

from stress.part import Options, Result
from stress.watchdog import deadline

# The share of it that runs each night.
NIGHTLY = 1.0
FILES = 10_000


def run(options: Options) -> Result:
    """Writes random files of each format with each installed writer, and reads them."""
    result = Result()
    count = options.times(FILES)
    # Different numbers than in the tests.
    first = (options.seed + 1) * FILES
    for name, writer in WRITERS:
        for number in range(first, first + count):
            call = f"check_table_file({name!r}, {writer!r}, {number}, directory)"
            with tempfile.TemporaryDirectory() as path, deadline(call, 120):
                try:
                    check_table_file(name, writer, number, Path(path))
                except Exception as error:
                    result.failures.append(f"{call}: {type(error).__name__}: {error}")
    result.figures.update({f"files of {name} by {writer}": count for name, writer in WRITERS})
    return result
