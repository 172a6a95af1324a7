"""Sends signals and forks at random moments: programs must end, and children must not hang."""

import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random

from stress.files.formats import FORMATS
from stress.part import Options, Result

# The share of it that runs each night.
NIGHTLY = 0.1
SIGNALS = 600
FORKS = 600
_FEWEST = 3
_WAIT_S = 30
_EXAMPLES = 3_000
# Programs print this when they receive their first batch.
_BEGUN = b"begun\n"


def run(options: Options) -> Result:
    """Sends signals to programs that iterate, and forks them, at random moments."""
    result = Result()
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "lines")
        path.write_bytes(FORMATS["text"].encode(range(_EXAMPLES)))
        for number in range(max(_FEWEST, options.times(SIGNALS))):
            _signal(path, options.seed, number, counts, result.failures)
        _fork(path, options, counts, result.failures)
    result.figures.update({words: counts[words] for words in sorted(counts)})
    return result


def _signal(path: Path, seed: int, number: int, counts: Counter[str], failures: list[str]) -> None:
    draws = Random(f"{seed} signal {number}")
    program = draws.choice(["pipeline", "functions", "session", "writer"])
    sent = draws.choice([signal.SIGINT, signal.SIGTERM])
    after = draws.choice([0.0, draws.uniform(0, 0.01), draws.uniform(0, 0.3)])
    what = f"signal {number} of seed {seed} ({program}, {sent.name}, after {after:.4f} s)"
    command = [sys.executable, "-m", "stress.programs.endless", program, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        if process.stdout.readline() != _BEGUN:
            process.kill()
            failures.append(f"{what}: it did not begin: {process.communicate()[1]!r}"[:600])
            return
        time.sleep(after)
        process.send_signal(sent)
        try:
            out, err = process.communicate(timeout=_WAIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            failures.append(f"{what}: a hang")
            return
    counts[f"{sent.name} to a program ({program})"] += 1
    text = (out + err).decode()
    expected = "KeyboardInterrupt" if sent is signal.SIGINT else "Terminated"
    if process.returncode != 7 or expected not in text:
        failures.append(f"{what}: it ended with {process.returncode}: {text}"[:600])
    written = path.with_name("written")
    if program == "writer" and written.exists() and written.read_bytes()[-4:] != b"end\n":
        failures.append(f"{what}: a file is half written")


def _fork(path: Path, options: Options, counts: Counter[str], failures: list[str]) -> None:
    """Each program, one after the other, forks many times while it iterates."""
    left = max(2 * _FEWEST, options.times(FORKS))
    number = 0
    while left > 0:
        many = min(left, 50)
        command = [sys.executable, "-m", "stress.programs.forking", str(path), str(many)]
        seeds = [str(options.seed), str(number)]
        what = f"forks {number} of seed {options.seed}"
        try:
            done = subprocess.run(
                [*command, *seeds],
                capture_output=True,
                text=True,
                timeout=_WAIT_S + 20 * many,
                check=False,
            )
        except subprocess.TimeoutExpired:
            failures.append(f"{what}: a hang of the parent")
            return
        counts["forks while pipelines and sessions run"] += done.stdout.count("forked")
        failures += [f"{what}: {line}" for line in done.stdout.splitlines() if "FAILED" in line]
        if done.returncode:
            failures.append(f"{what}: it ended with {done.returncode}: {done.stderr}"[:800])
        left, number = left - many, number + 1
