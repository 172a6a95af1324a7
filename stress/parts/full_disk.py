"""Runs writers on a full disk, or one that becomes full, and expects old or new files."""

import subprocess
import tempfile
from collections import Counter
from pathlib import Path
from random import Random

from stress import syscall_faults
from stress.files.served_lines import served_lines
from stress.files.writer_output import files_in, is_named, left_in, wrong_files
from stress.part import Options, Result
from stress.programs import small_disk
from stress.programs.writers import WRITERS

# The share of it that runs each night.
NIGHTLY = 0.3
_PAGE_BYTES = 4096
_TRIES = 40
"""How much room each writer is given one after the other."""


def run(options: Options) -> Result:
    """Runs writers with decreasing amounts of free space, and some with enough."""
    result = Result()
    if not small_disk.is_there():
        result.failures.append(
            "no file system may be mounted, expected unshare and user namespaces"
        )
        return result
    counts: Counter[str] = Counter()
    draws = Random(options.seed)
    cases = [name for name in WRITERS for _ in range(_TRIES)]
    with tempfile.TemporaryDirectory() as directory, served_lines():
        for number, writer in enumerate(draws.sample(cases, options.times(len(cases)))):
            old = _old(writer, Path(directory))
            # While one file replaces another, both and the other files are on the disk.
            num_bytes = sum(len(data) for data in files_in(old).values())
            free_bytes = draws.randrange(0, num_bytes * 3 // 2 + 16 * _PAGE_BYTES, _PAGE_BYTES)
            wrong = _wrong(writer, old, free_bytes, Path(directory, str(number)), counts)
            if wrong is not None:
                result.failures.append(f"{writer} with {free_bytes} bytes of room: {wrong}"[:600])
    result.figures.update({words: counts[words] for words in sorted(counts)})
    return result


def _old(writer: str, directory: Path) -> Path:
    """Returns a directory with the old files of a writer."""
    folder = directory / f"{writer}.old"
    if not folder.exists():
        folder.mkdir()
        done = syscall_faults.run(writer, folder, 0)
        if done.returncode:
            raise RuntimeError(f"{writer} does not run: {done.stderr}")
    return folder


def _wrong(
    writer: str, old: Path, free_bytes: int, results: Path, counts: Counter[str]
) -> str | None:
    """Returns the defect, or None."""
    try:
        written = small_disk.write(writer, old, free_bytes, results)
    except subprocess.TimeoutExpired:
        return "a hang"
    counts["writers that fail" if written.status else "writers that do not"] += 1
    before, seen, new = (files_in(folder) for folder in (old, results / "seen", results / "new"))
    if written.status_again:
        return f"with room it fails: {written.error_again}"
    if wrong := wrong_files(writer, before, seen, new):
        return wrong
    if written.status and not is_named(written.error):
        return f"the error does not name the file: {written.error}"
    # Without free space, nothing is cached, but the data are still read.
    if not written.status and seen == before and writer != "cached":
        return "nothing was written, and nobody said so"
    left = left_in(results / "seen")
    return f"temporary files are left: {left}" if left else None
