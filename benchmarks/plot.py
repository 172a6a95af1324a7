"""Plots a run or, with `python -m benchmarks.plot`, the CPU times in RESULTS.md."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from benchmarks.report import Row
from benchmarks.workload import Workload

HOME = Path(__file__).parent
OURS, OTHERS, LIMIT = "#c1440e", "#7b8794", "#cbd2d9"
COLOURS = ("#cbd2d9", "#c1440e", "#e39a7b", "#7b8794", "#9fb3c8", "#52606d")
BASE = "TensorFlow, the same program"


def draw(machine: str, measured: Sequence[tuple[Workload, Sequence[Row]]], path: Path) -> None:
    """Draws each workload's rates, or its times to the first batch and its memory."""
    panels = []
    for workload, rows in measured:
        if workload.num_parts is None:
            panels.append((f"{workload.name}: {workload.unit} a second", rows, "rate"))
        else:
            panels.append((f"{workload.name}: first batch, s", rows, "first_batch_seconds"))
            panels.append((f"{workload.name}: peak memory, MiB", rows, "peak_mib"))
    panels = [panel for panel in panels if any(getattr(row, panel[2]) for row in panel[1])]
    height = (len(panels) + 1) // 2
    if not height:
        return
    figure = Figure(figsize=(13, 3.2 * height), layout="tight")
    grid = figure.subplots(height, 2, squeeze=False)
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    for axes, (title, rows, field) in zip(grid.flat, panels, strict=False):
        draw_bars(axes, title, rows, field)
    figure.suptitle(machine, fontsize=8)
    figure.savefig(path)


def draw_bars(axes: Any, title: str, rows: Sequence[Row], field: str) -> None:
    """Draws a bar for each program. The smallest is on top if less is better."""
    bars = [(getattr(row, field), row) for row in rows if getattr(row, field)]
    bars.sort(key=lambda bar: bar[0], reverse=field != "rate")
    drawn = axes.barh(
        [row.title for _, row in bars],
        [value for value, _ in bars],
        color=[colour_of(row.key) for _, row in bars],
    )
    labels = [f"{value:,.0f}" if value >= 10 else f"{value:.2g}" for value, _ in bars]
    axes.bar_label(drawn, labels, padding=3, fontsize=7)
    axes.set_title(title, fontsize=9, loc="left")
    axes.tick_params(labelsize=7)
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(x=0.15)
    axes.set_xscale("log")


def colour_of(key: str) -> str:
    """Returns the colour of a program's bar."""
    if key.startswith("headrace"):
        return OURS
    return LIMIT if key.startswith("limit") else OTHERS


def read_table(text: str) -> tuple[list[str], dict[str, list[float]]]:
    """Returns the columns of the CPU time table, and each workload's microseconds."""
    lines = text.splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("|") and BASE in line)
    columns = cells_of(lines[head])[1:-1]
    rows = {}
    for line in lines[head + 2 :]:
        if not line.startswith("|"):
            break
        name, *cells = cells_of(line)
        rows[name] = [float(cell.replace(",", "")) for cell in cells[: len(columns)]]
    return columns, rows


def cells_of(line: str) -> list[str]:
    """Returns the cells of a table row."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def main() -> None:
    """Draws a group of bars for each workload, relative to TensorFlow queues."""
    mpl.rcParams["svg.hashsalt"] = "performance"  # Makes the file reproducible.
    columns, rows = read_table((HOME / "RESULTS.md").read_text("utf-8"))
    base = columns.index(BASE)
    figure = Figure(figsize=(9, 4.2), layout="tight")
    axes = figure.subplots()
    width = 0.8 / len(columns)
    for position, column in enumerate(columns):
        heights = [cells[position] / cells[base] for cells in rows.values()]
        left = [row + (position - len(columns) / 2 + 0.5) * width for row in range(len(rows))]
        axes.bar(left, heights, width, label=column.replace("`", ""), color=COLOURS[position])
    axes.set_yscale("log")
    axes.set_xticks(range(len(rows)), list(rows))
    axes.set_ylabel("processor time, TensorFlow's queues = 1\n(less is better)")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=8, frameon=False, ncols=3, loc="lower left", bbox_to_anchor=(0, 1))
    figure.savefig(HOME / "processor_time.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
