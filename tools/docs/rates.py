"""Draws the pictures of rates, and writes the table of docs/performance.md.

.venv/bin/python -m tools.docs.rates

All figures are those of benchmarks/RESULTS.md.
"""

import math
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from tools.docs import measured
from tools.docs.drawing import BOX, INK, LOOP, QUEUE, beside, heading, label, picture
from tools.docs.measured import Other, Work

DOCS = Path(__file__).parents[2] / "docs"
BEGIN, END = "<!-- of benchmarks/RESULTS.md -->\n", "<!-- end -->\n"

WIDTH = 440
LEFT = 176
"""The place where bars begin, behind the names."""
LETTER = 8.8
"""The width of a letter, in a wide font."""
MOST_OTHERS = 5
KNOWN = ("DataLoader", "tf.data", "Grain", "SPDL", "datasets", "polars", "WebDataset")
"""The libraries that are shown if there is no room for all, the first ones first."""

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
}
"""What a work reads, in a word or two."""


def all_rates(works: list[Work], first_batches: list[tuple[str, float]]) -> str:
    """Returns the picture of each work beside each library."""
    groups = [(work, shown(work.others)) for work in works]
    scale = Scale([(other, other.text) for _, others in groups for other in others], LEFT)
    parts = [
        heading(24, "A pipeline's rate, divided by that of"),
        *(mark(12, 36, BOX), beside(32, 48, "a library")),
        *(mark(112, 36, QUEUE), beside(132, 48, "a loop by hand")),
    ]
    top = 62
    for work, others in groups:
        first, *further = textwrap.wrap(f"{work.name} {work.title.replace('`', '')}", 45)
        parts.append(heading(top + 15, first))
        for line in further:
            top += 17
            parts.append(beside(20, top + 15, line))
        top += 22
        for other in others:
            parts += [ending(LEFT - 6, top + 12, other.name), *scale.bar(other, top, other.text)]
            top += 17
        top += 5
    parts.append(scale.line(70, top))
    parts.append(heading(top + 24, "W7 Seconds until the first batch"))
    top += 36
    most = max(seconds for _, seconds in first_batches)
    for name, seconds in first_batches:
        length = round((WIDTH - LEFT - 50) * seconds / most)
        parts += [
            ending(LEFT - 6, top + 12, name),
            mark(LEFT, top, LOOP if name == "headrace" else BOX, length),
            beside(LEFT + 6 + length, top + 12, f"{seconds:g}"),
        ]
        top += 17
    return picture(WIDTH, top + 8, "Pipelines beside other libraries", parts)


def rates_in_short(works: list[Work]) -> str:
    """Returns the picture of each work beside the best other program."""
    first = {work.name: work for work in reversed(works) if work.name != "W6"}
    best = {name: min(work.others, key=lambda other: other.ratio) for name, work in first.items()}
    scale = Scale([(other, f"{other.text} {other.name}") for other in best.values()], 164)
    parts = [heading(24, "A pipeline's rate ÷ that of the best other")]
    top = 52
    for name in sorted(first, key=lambda name: int(name[1:])):
        other = best[name]
        parts.append(beside(12, top + 12, f"{name} {LABELS.get(name, first[name].title)}"))
        parts += scale.bar(other, top, f"{other.text} {other.name}")
        top += 20
    parts.append(scale.line(48, top))
    return picture(WIDTH, top + 6, "Pipelines beside the best other programs", parts)


def shown(others: Sequence[Other]) -> list[Other]:
    """Returns the others that there is room for: the best one, those by hand, and known ones."""

    def position(other: Other) -> tuple[bool, bool, int]:
        is_known = other.name in KNOWN
        order = KNOWN.index(other.name) if is_known else len(KNOWN)
        return other is not best, not (is_known or other.is_by_hand), order

    best = min(others, key=lambda other: other.ratio)
    chosen = sorted(others, key=position)[:MOST_OTHERS]
    return sorted(chosen, key=lambda other: other.ratio)


class Scale:
    """A logarithmic axis of ratios, with a line at 1."""

    def __init__(self, bars: Sequence[tuple[Other, str]], left: int) -> None:
        below = max(0.0, *(-math.log2(other.ratio) for other, _ in bars))
        self._unit = min(
            (WIDTH - left - 14 - LETTER * len(text)) / (below + max(math.log2(other.ratio), 0.1))
            for other, text in bars
        )
        self._one = round(left + self._unit * below)

    def bar(self, other: Other, top: int, text: str) -> list[str]:
        """Returns a bar from the line to a ratio, with a text beside it."""
        end = round(self._one + self._unit * math.log2(other.ratio))
        begin, end = min(self._one, end), max(self._one, end)
        fill = QUEUE if other.is_by_hand else BOX
        return [mark(begin, top, fill, max(end - begin, 1)), beside(end + 6, top + 12, text)]

    def line(self, top: int, bottom: int) -> str:
        """Returns the line at 1."""
        x = self._one
        path = f"<path d='M{x} {top}V{bottom}' stroke='{INK}' stroke-dasharray='3 3'/>"
        return label(x, top - 4, "1") + path


def mark(x: int, y: int, fill: str, width: int = 14) -> str:
    """Returns a bar."""
    return f"<rect x='{x}' y='{y}' width='{width}' height='14' fill='{fill}' stroke='{INK}'/>"


def ending(x: int, y: int, text: str) -> str:
    """Returns a line of text that ends at x."""
    return label(x, y, text).replace("'middle'", "'end'")


def table(works: list[Work]) -> str:
    """Returns the table of docs/performance.md."""
    lines = ["| work | a second | ÷ others |", "|---|--:|---|"]
    for work in works:
        others = ", ".join(f"{other.name} {other.text}" for other in work.others)
        lines.append(f"| {work.name} {work.title} | {work.rate} | {others} |")
    faster = [
        f"{work.name} {other.name} {other.text}"
        for work in works
        for other in work.others
        if other.ratio < 1
    ]
    lines += ["", *textwrap.wrap(f"Faster than a pipeline: {', '.join(faster)}.", 100)]
    return "\n".join([*lines, ""])


def main() -> int:
    """Writes the pictures and the table."""
    for path, text in files().items():
        path.write_text(text, "utf-8")
    return 0


def files() -> dict[Path, str]:
    """Returns the files that hold measurements, with their texts as they should be."""
    text = measured.RESULTS.read_text("utf-8")
    works = measured.works(text)
    page = DOCS / "performance.md"
    before, _, rest = page.read_text("utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    return {
        DOCS / "pipeline_rates.svg": all_rates(works, measured.first_batches(text)),
        DOCS / "rates_in_short.svg": rates_in_short(works),
        page: f"{before}{BEGIN}\n{table(works)}\n{END}{after}",
    }


if __name__ == "__main__":
    sys.exit(main())
