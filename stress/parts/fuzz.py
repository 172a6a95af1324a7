"""Fuzzes every parser of files and states, or replays the saved inputs in small runs.

Rust targets need cargo-fuzz and Python targets need atheris (see fuzz/README.md). The part fails if
a target cannot be fuzzed, and lists those targets. `cargo test` also replays the saved inputs.
"""

import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

from stress.part import Options, Result

# The share of it that runs each night.
NIGHTLY = 0.05
ROOT = Path(__file__).parents[2]
FUZZ = ROOT / "fuzz"
SECONDS = 20 * 60
# The time that fuzzers need to start.
LEAST_SECONDS = 10


def run(options: Options) -> Result:
    """Fuzzes every parser for 20 minutes, or only replays inputs for a small share of the work."""
    result = Result()
    replay(result)
    seconds = options.times(SECONDS)
    if seconds < LEAST_SECONDS:
        result.figures["fuzzed"] = "nothing at this scale, kept inputs were replayed alone"
        return result
    for name, missing in targets().items():
        if missing is None:
            fuzz(name, seconds, options.seed, result)
        else:
            result.figures[f"{name}: not fuzzed"] = missing
            if options.scale >= 1:
                result.failures.append(f"{name}: not fuzzed, {missing}")
    return result


def targets() -> dict[str, str | None]:
    """Returns how to install each target's fuzzer, by name; None if it is installed."""
    no_cargo_fuzz = None if shutil.which("cargo-fuzz") else "run `cargo install cargo-fuzz`"
    no_atheris = None if find_spec("atheris") else "run `pip install atheris`"
    return {
        directory.name: no_cargo_fuzz if is_rust(directory.name) else no_atheris
        for directory in sorted((FUZZ / "corpus").iterdir())
    }


def is_rust(name: str) -> bool:
    """Returns whether a target belongs to the engine."""
    return f'\nname = "{name}"\n' in (FUZZ / "Cargo.toml").read_text("utf-8")


def replay(result: Result) -> None:
    """Replays the saved inputs of the Python targets."""
    from fuzz.python.targets import TARGETS  # noqa: PLC0415 (so that --list does not load headrace)

    num_files = 0
    for name, target in TARGETS.items():
        for file in sorted((FUZZ / "corpus" / name).iterdir()):
            num_files += 1
            try:
                target(file.read_bytes())
            except Exception as error:
                result.failures.append(f"{file.relative_to(ROOT)}: {type(error).__name__}: {error}")
    result.figures["kept inputs replayed in Python"] = num_files


def fuzz(name: str, seconds: int, seed: int, result: Result) -> None:
    """Fuzzes a target for some time."""
    command = [str(FUZZ / "run.sh"), name, f"-max_total_time={seconds}", f"-seed={seed + 1}"]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    match = re.search(r"number_of_executed_units:\s*(\d+)", done.stderr)
    result.figures[f"{name}: inputs"] = int(match[1]) if match else 0
    if done.returncode != 0 or match is None:
        last = "\n".join((done.stdout + done.stderr).splitlines()[-30:])
        result.failures.append(f"{name}: {' '.join(command)} has ended with:\n{last}")
