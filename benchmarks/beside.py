"""Compares the programs of one folder, each of which loads the same data with another library.

A folder has the data (`data.py`), what its programs share (`work.py`) and a program for each
library (`with_*.py`), which prints what it took and sums over what it got.
"""

import hashlib
import json
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from peers.environments import python_of

from benchmarks.comparison import Contender, Result, Scenario, compare, describe_machine
from benchmarks.pipelines import dataset, report
from benchmarks.pipelines.contenders import ROOT, Program, build_limits
from benchmarks.pipelines.programs import LIMIT
from benchmarks.pipelines.workloads import Workload

ALONE = "alone"
"""The key of a loop without a library for loading, which the others are compared with."""
TIMEOUT = 900.0


@dataclass(frozen=True)
class Peer:
    """A program that loads the data.

    Attributes:
        key: Its name on the command line.
        title: Its row in the table.
        module: What is run, of the folder; None for a native loop, whose task is the argument.
        environment: A key of `peers.environments.REQUIREMENTS`; None for our own environment.
        setting: How it is set up, for the reader of the table.
        arguments: Of the command.
    """

    key: str
    title: str
    module: str | None
    environment: str | None
    setting: str
    arguments: Sequence[str] = ()


@dataclass(frozen=True)
class Kind:
    """Work that several programs do.

    Attributes:
        name: As on the command line.
        folder: Where its programs are, a package of `benchmarks`.
        title: What has to be done.
        unit: What is counted.
        count: How many there are.
        num_epochs: How often each program reads all of them.
        make: Writes so many into a directory; returns the sums over all of them.
        peers: The programs; the first is ours.
        tolerances: How far each sum may be off, as a part of it; without any, not at all.
    """

    name: str
    folder: str
    title: str
    unit: str
    count: int
    num_epochs: int
    make: Callable[[Path, int], list[int]]
    peers: Sequence[Peer]
    tolerances: Sequence[float] = ()

    def scaled(self, scale: float) -> int:
        """Returns how many there are of a part of the data."""
        return max(round(self.count * scale), 1)


def ensure(kind: Kind, scale: float) -> tuple[Path, list[int]]:
    """Makes the data of a kind, unless this very code made them.

    Returns:
        Their directory, and the sums over all of them, their number first.
    """
    count = kind.scaled(scale)
    home = dataset.ROOT / f"{kind.folder}-{count}"
    stamp = home.with_suffix(".json")
    code = Path(sys.modules[kind.make.__module__].__file__ or "").read_bytes()
    source = hashlib.sha256(code).hexdigest()
    if stamp.exists():
        known = json.loads(stamp.read_text())
        if known["source"] == source:
            return home, known["sums"]
    print(f"making the data of {kind.name} ...", file=sys.stderr)
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    sums = [count, *kind.make(home, count)]
    stamp.write_text(json.dumps({"source": source, "sums": sums}))
    return home, sums


def measured(
    kind: Kind, rounds: int, scale: float, prefixes: Sequence[str]
) -> tuple[Workload, list[report.Row]]:
    """Runs the programs of a kind in turn, and returns what was measured.

    Args:
        kind: What they do.
        rounds: How often each runs.
        scale: Of the data, the part that they read.
        prefixes: Only programs whose keys begin with one of these run; without any, all.
    """
    home, sums = ensure(kind, scale)
    peers = chosen(kind.peers, prefixes)
    expected = [number * kind.num_epochs for number in sums]
    arguments = [str(home), str(kind.num_epochs)]
    results = compared(kind, peers, rounds, arguments, expected)
    workload = Workload(kind.name, kind.folder, kind.title, kind.unit, sums[0])
    return workload, [report.row_of(program_of(peer), results.get(peer.key)) for peer in peers]


def chosen(peers: Sequence[Peer], prefixes: Sequence[str]) -> list[Peer]:
    """Returns the programs whose keys begin with one of some prefixes, or all without any."""
    return [peer for peer in peers if not prefixes or peer.key.startswith(tuple(prefixes))]


def compared(
    kind: Kind,
    peers: Sequence[Peer],
    rounds: int,
    arguments: Sequence[str],
    expected: Sequence[int],
) -> dict[str, Result]:
    """Returns the results of those programs that can be installed, by key.

    A program that counts or adds up anything but what is expected has failed.
    """

    def problem_of(figures: dict[str, Any]) -> str:
        return difference(kind, expected, [figures["count"], *figures["sums"]])

    contenders = {}
    for peer in peers:
        contender = contender_of(kind, peer, arguments, problem_of)
        if contender is not None:
            contenders[peer.key] = contender
    [results] = compare([Scenario(kind.name, list(contenders.values()))], rounds, TIMEOUT)
    return dict(zip(contenders, results, strict=True))


def contender_of(
    kind: Kind,
    peer: Peer,
    arguments: Sequence[str],
    problem_of: Callable[[dict[str, Any]], str] = lambda _: "",
) -> Contender | None:
    """Returns how to run a program; None if it cannot be installed."""
    if peer.module is None:
        # The native loops take how often they read before what they read.
        command = [build_limits(), *peer.arguments, *reversed(arguments)]
        return Contender(peer.title, command, problem_of=problem_of)
    python = Path(sys.executable) if peer.environment is None else python_of(peer.environment)
    if python is None:
        return None
    module = f"benchmarks.{kind.folder}.{peer.module}"
    return Contender(
        name=peer.title,
        command=[python, "-m", module, *arguments, *peer.arguments],
        is_ours=peer is kind.peers[0],
        # Only the interpreter of another environment runs our programs, too.
        variables={"PYTHONPATH": f"{ROOT / 'python'}:{ROOT}", "HF_HUB_OFFLINE": "1"},
        problem_of=problem_of,
    )


def difference(kind: Kind, expected: Sequence[int], got: Sequence[int]) -> str:
    """Says what is wrong with a number of examples and sums over them, if anything."""
    near = [0.0, *(kind.tolerances or [0.0] * (len(expected) - 1))]
    if all(abs(a - b) <= part * b for a, b, part in zip(got, expected, near, strict=True)):
        return ""
    return f"{kind.unit} were lost, doubled or changed: {got}, expected {list(expected)}"


def program_of(peer: Peer) -> Program:
    """Returns what a report says of a program."""
    return Program(peer.key, peer.title, None, None, [], peer.setting)


def table_of(kind: Kind, workload: Workload, rows: Sequence[report.Row]) -> str:
    """Returns a table; all are compared with the limit or a loop by hand, and with our program."""
    base = (LIMIT, "limit") if any(peer.key == LIMIT for peer in kind.peers) else (ALONE, "by hand")
    return report.table_of(workload, rows, base[0], kind.peers[0].key, base[1])


def command_of(kind: Kind) -> click.Command:
    """Returns the command that measures a kind alone."""

    @click.command(help=f"Measures {kind.name}. {kind.title}.")
    @click.option("--rounds", default=3, show_default=True, help="How often each program runs.")
    @click.option("--scale", default=1.0, show_default=True, help="The part of the data to read.")
    @click.option(
        "--contenders",
        default="",
        help="Run only programs whose names begin with one of these, with commas between.",
    )
    def main(rounds: int, scale: float, contenders: str) -> None:
        print(f"{describe_machine()}; medians of {rounds} rounds in turn.\n", flush=True)
        prefixes = [key for key in contenders.split(",") if key]
        print(table_of(kind, *measured(kind, rounds, scale, prefixes)))

    return main
