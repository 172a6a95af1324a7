"""Draws the rate charts, and writes the tables of docs/performance.md.

.venv/bin/python -m tools.docs.rates

All numbers come from benchmarks/RESULTS.md.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from tools.docs import benchmark_results
from tools.docs.benchmark_results import Other, Work

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "performance.md"
LOSSES, TABLE = "<!-- losses in benchmarks/RESULTS.md -->\n", "<!-- of benchmarks/RESULTS.md -->\n"
END = "<!-- end -->\n"

LIBRARY, LOOP, OURS, INK = "#9db8d6", "#e8b489", "#8cc484", "#1f2933"
PANEL = "#f4f6f8"
"""A light background, so that charts are also legible on a dark page."""
MOST_OTHERS = 5
KNOWN = ("DataLoader", "tf.data", "Grain", "SPDL", "datasets", "polars", "WebDataset")
"""The libraries to show if there is no space for all, in order of priority."""

LABELS = {
    "W1": "TFRecords",
    "W2": "pictures",
    "W3": "photos",
    "W4": "CSV",
    "W5": "text lines",
    "W6": "queues",
    "W8": "photos, augmented",
    "W9": "tokens",
    "W10": "Parquet",
    "W11": "JSON lines",
    "W12": "tar files",
    "W13": "Python function",
    "W14": "arrays",
    "W15": "first batch",
    "W16": "sounds",
    "W17": "worker processes",
    "W19": "patches",
    "W20": "mosaics",
    "W21": "robots",
    "W22": "videos",
    "W24": "robot steps",
}
"""A one- or two-word description of each workload's data."""


def all_rates(works: list[Work], first_batches: list[tuple[str, float]]) -> Figure:
    """Draws each workload compared with each library, and the times to the first batch."""
    bars = [
        Bar(f"{work.name} {LABELS.get(work.name, work.title)}: {other.name}", other, other.text)
        for work in works
        for other in shown(work.others)
    ]
    height = len(bars) + len(first_batches)
    figure = Figure(figsize=(7, 0.19 * height + 1.5), layout="constrained")
    rates, seconds = figure.subplots(2, height_ratios=[len(bars), len(first_batches)])
    draw_ratios(rates, "A pipeline's rate ÷ that of a library or a loop by hand", bars)
    drawn = seconds.barh(
        [name for name, _ in first_batches],
        [value for _, value in first_batches],
        color=[OURS if name == "headrace" else LIBRARY for name, _ in first_batches],
    )
    seconds.bar_label(drawn, fmt="%g", padding=3)
    finish(seconds, "W7 Seconds until the first batch")
    return figure


def rates_in_short(works: list[Work]) -> Figure:
    """Draws each workload compared with the best other program."""
    first = {work.name: work for work in reversed(works) if work.name != "W6"}
    bars = []
    for name in sorted(first, key=lambda name: int(name[1:])):
        best = min(first[name].others, key=lambda other: other.ratio)
        label = f"{name} {LABELS.get(name, first[name].title)}"
        bars.append(Bar(label, best, f"{best.text} {best.name}"))
    figure = Figure(figsize=(5, 0.24 * len(bars) + 0.6), layout="constrained")
    draw_ratios(figure.subplots(), "Speed relative to the fastest alternative", bars)
    return figure


class Bar(NamedTuple):
    """The bar of a program that is compared with a pipeline."""

    label: str
    other: Other
    text: str


def draw_ratios(axes: Axes, title: str, bars: Sequence[Bar]) -> None:
    """Draws a bar from 1 to each ratio, on a logarithmic axis."""
    axes.barh(
        range(len(bars)),
        [bar.other.ratio - 1 for bar in bars],
        left=1,
        color=[LOOP if bar.other.is_by_hand else LIBRARY for bar in bars],
    )
    axes.set_yticks(range(len(bars)), [bar.label for bar in bars])
    axes.set_xscale("log", base=2)
    for position, bar in enumerate(bars):
        axes.text(1.06 * max(bar.other.ratio, 1), position, bar.text, va="center")
    axes.axvline(1, color=INK, linestyle="dashed", linewidth=0.8)
    patches = [Patch(color=LIBRARY, label="library"), Patch(color=LOOP, label="hand-written loop")]
    axes.legend(handles=patches, loc="upper left", bbox_to_anchor=(0, 0), ncols=2, frameon=False)
    finish(axes, title)


def finish(axes: Axes, title: str) -> None:
    """Adds a chart's title and removes its frame and ticks."""
    axes.set_title(title, loc="right", fontweight="bold")
    axes.invert_yaxis()
    axes.margins(x=0.25, y=0.02)
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    axes.tick_params(bottom=False, labelbottom=False, which="both")


def shown(others: Sequence[Other]) -> list[Other]:
    """Returns the programs for which there is space: the best, hand-written and well-known ones."""

    def position(other: Other) -> tuple[bool, bool, int]:
        is_known = other.name in KNOWN
        order = KNOWN.index(other.name) if is_known else len(KNOWN)
        return other is not best, not (is_known or other.is_by_hand), order

    best = min(others, key=lambda other: other.ratio)
    chosen = sorted(others, key=position)[:MOST_OTHERS]
    return sorted(chosen, key=lambda other: other.ratio)


def table(works: list[Work]) -> str:
    """Returns the table of docs/performance.md."""
    lines = ["| workload | examples per second | headrace ÷ alternative |", "|---|--:|---|"]
    for work in works:
        others = ", ".join(f"{other.name} {other.text}" for other in work.others)
        lines.append(f"| {work.name} {work.title} | {work.rate} | {others} |")
    return "\n".join([*lines, ""])


def losses(works: list[Work]) -> str:
    """Returns the table of programs that are faster than a pipeline, largest factor first."""
    faster = [(other.ratio, work, other) for work in works for other in work.others]
    lines = ["| workload | faster alternative | headrace ÷ alternative |", "|---|---|--:|"]
    lines += [
        f"| {work.name} {work.title} | {other.name} | {other.text} |"
        for ratio, work, other in sorted(faster, key=lambda each: each[0])
        if ratio < 1
    ]
    return "\n".join([*lines, ""])


def page_of(works: list[Work]) -> str:
    """Returns docs/performance.md with up-to-date tables."""
    text = PAGE.read_text("utf-8")
    for begin, contents in ((LOSSES, losses(works)), (TABLE, table(works))):
        before, _, rest = text.partition(begin)
        text = f"{before}{begin}\n{contents}\n{END}{rest.partition(END)[2]}"
    return text


def main() -> int:
    """Writes the charts and the tables."""
    text = benchmark_results.RESULTS.read_text("utf-8")
    works = benchmark_results.works(text)
    PAGE.write_text(page_of(works), "utf-8")
    # Keep text as text, and make the file reproducible.
    style = {"svg.fonttype": "none", "svg.hashsalt": "rates", "font.size": 8}
    with mpl.rc_context(style):
        charts = {
            "pipeline_rates": all_rates(works, benchmark_results.first_batches(text)),
            "rates_in_short": rates_in_short(works),
        }
        for name, chart in charts.items():
            chart.savefig(DOCS / f"{name}.svg", facecolor=PANEL, metadata={"Date": None})
    return 0


if __name__ == "__main__":
    sys.exit(main())
