"""Draws the figures of a run: `plot.py results.json`. Needs matplotlib, and nothing of headrace."""

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot as plt

OURS, OTHERS, LIMIT = "#c1440e", "#7b8794", "#cbd2d9"


def colour_of(key: str) -> str:
    if key.startswith("headrace"):
        return OURS
    return LIMIT if key.startswith("limit") else OTHERS


def draw(axes: Any, title: str, rows: list[dict[str, Any]], field: str, is_log: bool) -> None:
    """Draws a bar for each program, the smallest on top if few is good."""
    rows = [row for row in rows if row[field]]
    rows.sort(key=lambda row: row[field], reverse=field != "rate")
    bars = axes.barh(
        [row["title"] for row in rows],
        [row[field] for row in rows],
        color=[colour_of(row["key"]) for row in rows],
    )
    labels = [f"{row[field]:,.0f}" if row[field] >= 10 else f"{row[field]:.2g}" for row in rows]
    axes.bar_label(bars, labels, padding=3, fontsize=7)
    axes.set_title(title, fontsize=9, loc="left")
    axes.tick_params(labelsize=7)
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(x=0.15)
    if is_log:
        axes.set_xscale("log")


def main(path: Path) -> None:
    """Writes a picture beside a file of results."""
    results = json.loads(path.read_text())
    panels = []
    for workload in results["workloads"]:
        name, rows = workload["name"], workload["rows"]
        if workload["num_parts"] is None:
            panels.append((f"{name}: {workload['unit']} a second", rows, "rate"))
        else:
            panels.append((f"{name}: seconds to the first batch", rows, "first_batch_seconds"))
            panels.append((f"{name}: peak memory, MiB", rows, "peak_mib"))
    height = (len(panels) + 1) // 2
    figure, grid = plt.subplots(height, 2, figsize=(13, 3.2 * height), squeeze=False)
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    for axes, (title, rows, field) in zip(grid.flat, panels, strict=False):
        draw(axes, title, rows, field, is_log=True)
    figure.suptitle(results["machine"], fontsize=8)
    figure.tight_layout()
    figure.savefig(path.with_suffix(".svg"))
    figure.savefig(path.with_suffix(".png"), dpi=120)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
