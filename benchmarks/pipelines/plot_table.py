"""Draws the processor times of benchmarks/RESULTS.md: `plot_table.py RESULTS.md plot.svg`.

Needs matplotlib, and nothing of headrace.
"""

import sys
from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot as plt

COLOURS = ("#cbd2d9", "#c1440e", "#e39a7b", "#7b8794", "#9fb3c8", "#52606d")
BASE = "TensorFlow, the same program"


def read_table(text: str) -> tuple[list[str], dict[str, list[float]]]:
    """Returns the columns of the table, and the microseconds of each workload."""
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
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def main(source: Path, target: Path) -> None:
    """Draws a group of bars for each workload, relative to TensorFlow's queues."""
    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "performance"  # The same table gives the same file.
    columns, rows = read_table(source.read_text("utf-8"))
    base = columns.index(BASE)
    figure, axes = plt.subplots(figsize=(9, 4.2))
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
    figure.tight_layout()
    figure.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
