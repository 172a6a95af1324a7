"""Runs stress tests and reports their findings: `python -m stress [PART]...`."""

import json
import signal
import sys
import time
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import click

from stress import parts
from stress.part import Options, Part, Result

RESULTS = Path(__file__).parent / "results"
NAMES = sorted(module.name for module in iter_modules(parts.__path__))


@click.command()
@click.argument("names", nargs=-1, metavar="[PART]...")
@click.option("--scale", type=float, help="The share of the work: 0.01 does a hundredth of it.")
@click.option("--nightly", is_flag=True, help="Do the share of each part that runs every night.")
@click.option("--seed", default=0, help="Other faults, in the same numbers.")
@click.option("--list", "is_listed", is_flag=True, help="Say which parts there are, and no more.")
def main(
    names: tuple[str, ...], scale: float | None, nightly: bool, seed: int, is_listed: bool
) -> None:
    """Runs the named parts, or all of them. Exits with 1 if anything fails."""
    unknown = sorted(set(names) - set(NAMES))
    if unknown:
        sys.exit(f"stress: no part is named {', '.join(unknown)}; there are {', '.join(NAMES)}")
    if is_listed:
        for name in NAMES:
            print(f"{name:12} {(part_of(name).__doc__ or '').splitlines()[0]}")
        return
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell without job control makes background processes ignore Ctrl-C.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if scale is not None and nightly:
        sys.exit("stress: --nightly has a scale for each part. Remove --scale.")
    scales = {
        name: nightly_scale_of(name) if nightly else 1.0 if scale is None else scale
        for name in names or NAMES
    }
    failed = [name for name in scales if not run(name, Options(scales[name], seed))]
    if failed:
        sys.exit(f"stress: something went wrong in {', '.join(failed)}")


def part_of(name: str) -> Part:
    """Returns the function that runs a part."""
    part: Part = import_module(f"stress.parts.{name}").run
    return part


def nightly_scale_of(name: str) -> float:
    """Returns the share of a part that runs every night."""
    scale: float = import_module(f"stress.parts.{name}").NIGHTLY
    return scale


def run(name: str, options: Options) -> bool:
    """Runs one part, prints and saves its result, and returns whether it passed."""
    print(f"== {name}", flush=True)
    begin = time.monotonic()
    result = part_of(name)(options)
    seconds = time.monotonic() - begin
    for words, value in result.figures.items():
        print(f"{words}: {value:,}" if isinstance(value, int) else f"{words}: {value}")
    for failure in result.failures:
        print(f"FAILED: {failure}")
    print(f"{len(result.failures)} failures in {seconds:.0f} s", flush=True)
    if options.scale >= 1:
        keep(name, options, result, seconds)
    return not result.failures


def keep(name: str, options: Options, result: Result, seconds: float) -> None:
    """Writes the result of a whole part to `stress/results`."""
    RESULTS.mkdir(exist_ok=True)
    kept = {**vars(options), **vars(result), "seconds": round(seconds)}
    (RESULTS / f"{name}.json").write_text(json.dumps(kept, indent=2) + "\n")


if __name__ == "__main__":
    main()
