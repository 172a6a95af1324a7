"""Draws the pictures for guides and concepts: shuffles, padding, states, threads.

.venv/bin/python -m tools.docs.pictures

The pictures of shuffles and rows show the batches of real pipelines.
"""

import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from tools.docs.rates import DOCS, INK, LIBRARY, LOOP, OURS, PANEL

import headrace as hr

COLOURS = (LIBRARY, OURS, "#e3c16f", "#d99a9a", "#b7a3d6", "#8fcfc9", "#c9c9c9", LOOP)
BLANK = "#ffffff"
WIDTH = 4.6  # In inches. Wide enough that text has at least 8 points on a phone.


def panels(titles: Iterable[str], heights: Iterable[float]) -> tuple[Figure, list[Axes]]:
    """Returns a figure with one panel per title, without axes."""
    heights = list(heights)
    figure = Figure(figsize=(WIDTH, 0.27 * sum(heights) + 0.3 * len(heights)), layout="constrained")
    areas = list(figure.subplots(len(heights), height_ratios=heights, squeeze=False)[:, 0])
    for axes, title, height in zip(areas, titles, heights, strict=True):
        axes.set_title(title, loc="left", fontsize=9, fontweight="bold", color=INK)
        axes.set_ylim(height, 0)
        axes.set_axis_off()
    return figure, areas


def box(axes: Axes, x: float, y: float, width: float, text: str, colour: str) -> None:
    """Draws a box that contains text."""
    axes.barh(y + 0.5, width, left=x, height=0.82, color=colour, edgecolor=INK, linewidth=0.6)
    axes.text(x + width / 2, y + 0.52, text, ha="center", va="center", color=INK)


def shuffles() -> Figure:
    """Draws the first examples of each shuffle of eight files with 100 lines."""
    with tempfile.TemporaryDirectory() as folder:
        for file in range(8):
            Path(folder, f"{file}.txt").write_text(f"{file}{' ' * 18}\n" * 100)
        lines = hr.text_lines(f"{folder}/*.txt").options(index="memory")
        pipes = {
            "without shuffle": lines,
            "shuffle(window=20, num_open=2)": lines.shuffle(window=20, num_open=2, seed=2),
            "shuffle(window=20)": lines.shuffle(window=20, seed=2),
            "shuffle()": lines.shuffle(seed=2),
        }
        figure, areas = panels(["eight files of one class each", *pipes], [1] * 5)
        for file in range(8):
            box(areas[0], 2.5 * file, 0, 2.3, f"file {file}", COLOURS[file])
        for axes, pipe in zip(areas[1:], pipes.values(), strict=True):
            for position, example in enumerate(pipe.take(20)):
                file = int(example["text"])
                box(axes, position, 0, 0.92, str(file), COLOURS[file])
    for axes in areas:
        axes.set_xlim(-0.1, 20)
    return figure


LENGTHS = (3, 9, 2, 6, 4, 1, 7, 4)


def rows_of(axes: Axes, rows: list[list[int]], widths: list[int]) -> None:
    """Draws rows of numbered examples, each padded to its width."""
    for y, (row, width) in enumerate(zip(rows, widths, strict=True)):
        start = 0
        for number in row:
            length = LENGTHS[number]
            box(axes, start, y, length, str(number + 1), COLOURS[number])
            start += length
        if start < width:
            box(axes, start, y, width - start, "", BLANK)
    axes.set_xlim(-0.1, 20)


def padding() -> Figure:
    """Draws how the same eight lists fill the rows of batches."""
    texts = hr.iterable(
        lambda: ({"n": number, "ids": [number] * length} for number, length in enumerate(LENGTHS))
    )
    padded = list(texts.padded_batch(4))
    buckets = list(texts.bucket_by_length("ids", [4], size=4))
    packed = list(texts.pack(10, "ids", along="n").batch(4, lists=("n",)))
    drawings: dict[str, tuple[list[list[int]], list[int]]] = {}
    for title, batches in {
        "padded_batch(4): white is padding": padded,
        'bucket_by_length("ids", [4], size=4)': buckets,
    }.items():
        rows = [[int(number)] for batch in batches for number in batch["n"]]
        drawings[title] = rows, [batch["ids"].shape[1] for batch in batches for _ in batch["n"]]
    rows = [list(map(int, numbers)) for batch in packed for numbers in batch["n"]]
    drawings['pack(10, "ids")'] = rows, [10] * len(rows)
    figure, areas = panels(drawings, [len(rows) for rows, _ in drawings.values()])
    for axes, (rows, widths) in zip(areas, drawings.values(), strict=True):
        rows_of(axes, rows, widths)
        cells = sum(widths)
        share = 1 - sum(LENGTHS) / cells
        axes.text(11, len(rows) / 2, f"{cells} elements,\n{share:.0%} padding", va="center")
    return figure


def state() -> Figure:
    """Draws the position of a state while headrace reads ahead."""
    figure, [axes] = panels(["where a state points"], [4.2])
    names = ["used", "used", "in your loop", "ready", "ready", "in work"]
    colours = [OURS, OURS, OURS, LIBRARY, LIBRARY, BLANK]
    for position, (name, colour) in enumerate(zip(names, colours, strict=True)):
        box(axes, 2 * position, 1, 1.9, f"batch {position + 1}", colour)
        axes.text(2 * position + 0.95, 2.2, name, ha="center", va="center", color=INK)
    axes.annotate(
        "batches.state() points here",
        (5.95, 1.95),
        (5.95, 3.6),
        ha="center",
        color=INK,
        arrowprops={"arrowstyle": "->", "color": INK},
    )
    axes.text(8.9, 0.5, "read ahead: not in the state", ha="center", color=INK)
    axes.text(2.9, 0.5, "your loop has taken these", ha="center", color=INK)
    axes.set_xlim(-0.1, 12)
    return figure


def threads() -> Figure:
    """Draws the path of an example through threads and through worker processes."""
    titles = [
        "native functions: engine threads, without Python",
        "map(f, num_threads=2), if f holds Python's lock (GIL)",
        "map(f, num_processes=2): each process has its own lock",
    ]
    figure, areas = panels(titles, [2, 2, 2])

    native = [
        [("decode 1", 5, OURS), ("decode 3", 5, OURS)],
        [("decode 2", 5, OURS), ("decode 4", 5, OURS)],
    ]
    shared = [
        [("f 1", 3, OURS), ("waits", 3, BLANK), ("f 3", 3, OURS), ("waits", 3, BLANK)],
        [("waits", 3, BLANK), ("f 2", 3, OURS), ("waits", 3, BLANK), ("f 4", 3, OURS)],
    ]
    processes = [
        [(c, w, k) for n in ns for c, w, k in (("copy", 1.6, LOOP), (f"f {n}", 3, OURS))]
        + [("copy", 1.6, LOOP)]
        for ns in ((1, 3), (2, 4))
    ]
    for axes, lanes in zip(areas, (native, shared, processes), strict=True):
        for y, lane in enumerate(lanes):
            start = 0.0
            for text, width, colour in lane:
                box(axes, start, y, width, text, colour)
                start += width
        axes.set_xlim(-0.1, 13)
    return figure


def main() -> int:
    """Writes the pictures."""
    style = {"svg.fonttype": "none", "svg.hashsalt": "pictures", "font.size": 8}
    with mpl.rc_context(style):
        for draw in (shuffles, padding, state, threads):
            path = DOCS / f"{draw.__name__}.svg"
            draw().savefig(path, facecolor=PANEL, metadata={"Date": None})
    return 0


if __name__ == "__main__":
    sys.exit(main())
