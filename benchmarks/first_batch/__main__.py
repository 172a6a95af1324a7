"""Measures the time to the first batch: `python -m benchmarks.first_batch`."""

from collections.abc import Iterator, Sequence

import click

from benchmarks import beside, process
from benchmarks.beside import ALONE, Kind, Peer
from benchmarks.comparison import Result, describe_machine
from benchmarks.first_batch import work
from benchmarks.first_batch.data import make
from benchmarks.pipelines import report
from benchmarks.pipelines.workloads import Workload

MAPPED = ("import", "cold", "second", "resume")
"""The cases of programs that read lines by number."""

KIND = Kind(
    "W15",
    "first_batch",
    "The time from the start of the process to the first batch, of 256",
    "starts",
    2_000_000,
    1,
    make,
    [
        Peer("headrace", "headrace", "with_headrace", None, "`hr.text_lines`; indexes are kept"),
        Peer(
            ALONE,
            "NumPy by hand",
            "by_hand",
            "numpy",
            "ends of lines are kept; after a resume a window reads all again",
        ),
        Peer(
            "torch",
            "PyTorch, two workers",
            "with_torch",
            "torch",
            "`DataLoader(num_workers=2)` over lines by number; ends of lines are kept",
        ),
        Peer(
            "grain",
            "Grain",
            "with_grain",
            "grain",
            "two threads, over lines by number; ends of lines are kept",
        ),
        Peer(
            "datasets",
            "Hugging Face datasets",
            "with_datasets",
            "datasets",
            "an Arrow table is kept; a window is of a stream",
        ),
    ],
)
CASES = {
    "torch": MAPPED,
    "grain": MAPPED,
    "datasets": (*MAPPED, "window"),
}
"""The cases of those programs that do not do all."""


@click.command()
@click.option("--rounds", default=5, show_default=True, help="How often each program runs.")
@click.option("--scale", default=1.0, show_default=True, help="The part of the data to read.")
@click.option(
    "--contenders",
    default="",
    help="Run only programs whose names begin with one of these, with commas between.",
)
def main(rounds: int, scale: float, contenders: str) -> None:
    """Measures the time to the first batch of 2,000,000 lines."""
    print(f"{describe_machine()}; medians of {rounds} rounds in turn.\n", flush=True)
    for workload, rows in measured(rounds, scale, [key for key in contenders.split(",") if key]):
        print(table_of(workload, rows), flush=True)


def measured(
    rounds: int, scale: float, prefixes: Sequence[str]
) -> Iterator[tuple[Workload, list[report.Row]]]:
    """Yields what was measured of each case."""
    home, _ = beside.ensure(KIND, scale)
    peers = beside.chosen(KIND.peers, prefixes)
    unprepared = prepared(peers, str(home))
    for case, title in work.CASES.items():
        doing = [peer for peer in peers if case in CASES.get(peer.key, work.CASES)]
        if not doing:
            continue
        size = 0 if case == work.IMPORT else work.BATCH_SIZE
        ready = [peer for peer in doing if peer.key not in unprepared]
        results = beside.compared(KIND, ready, rounds, [str(home), case], [1, size, size])
        results |= unprepared
        workload = Workload(KIND.name, case, title, "starts", 1, 1)
        yield (
            workload,
            [report.row_of(beside.program_of(peer), results.get(peer.key)) for peer in doing],
        )


def prepared(peers: Sequence[Peer], home: str) -> dict[str, Result]:
    """Lets each program leave what later starts find; returns those that failed."""
    failed = {}
    for peer in peers:
        contender = beside.contender_of(KIND, peer, [home, work.PREPARE])
        if contender is None:
            continue
        run = process.run(contender.command, beside.TIMEOUT, contender.variables)
        if run.failure:
            failed[peer.key] = Result(contender, failure=run.failure)
    return failed


def table_of(workload: Workload, rows: Sequence[report.Row]) -> str:
    """Returns a Markdown table, the fastest first."""
    seconds = {row.key: row.first_batch_seconds for row in rows if row.first_batch_seconds}
    ours = seconds.get("headrace")
    lines = [
        f"### {workload.name}. {workload.title}",
        "",
        "| | first batch, s | this ÷ headrace | CPU s | peak MiB |",
        "|---|--:|--:|--:|--:|",
    ]
    for row in sorted((row for row in rows if row.key in seconds), key=lambda r: seconds[r.key]):
        ratio = f"{seconds[row.key] / ours:.2f}" if ours else ""
        figures = f"{ratio} | {row.cpu_us / 1e6:.2f} | {row.peak_mib:,.0f}"
        lines.append(f"| {row.title} | {seconds[row.key]:.3f} | {figures} |")
    lines += ["", *(f"{row.title} is skipped: {row.failure}." for row in rows if row.failure)]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
