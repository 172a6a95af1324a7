"""Draws the pictures of docs/: a pipeline's blocks, TensorFlow 1's queues, rates of pipelines.

.venv/bin/python -m tools.docs.pictures

The rates are those of the tables in benchmarks/RESULTS.md. All pictures
have light panels, so they are legible on any background.
"""

import re
import sys
from contextlib import chdir
from html import escape
from pathlib import Path

TOP = Path(__file__).parents[2]
DOCS = TOP / "docs"
PANEL, BOX, QUEUE, LOOP, INK = "#f4f6f8", "#dce7f3", "#fbe3cf", "#dff0dc", "#1f2933"
FONT = "font-family='system-ui, sans-serif'"


def picture(width: int, height: int, title: str, parts: list[str]) -> str:
    """Returns a picture of parts on a panel."""
    return "\n".join(
        [
            f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}'",
            f"viewBox='0 0 {width} {height}'",
            "role='img'>",
            f"<title>{escape(title)}</title>",
            "<defs><marker id='tip' viewBox='0 0 8 8' refX='7' refY='4'",
            "markerWidth='7' markerHeight='7'",
            f"orient='auto'><path d='M0 0L8 4L0 8z' fill='{INK}'/></marker></defs>",
            f"<rect width='{width}' height='{height}' rx='10' fill='{PANEL}'/>",
            *parts,
            "</svg>",
            "",
        ]
    )


def box(x: int, y: int, width: int, height: int, lines: list[str], fill: str = BOX) -> str:
    """Returns a box, its first line in bold."""
    shape = f"<rect x='{x}' y='{y}' width='{width}' height='{height}' rx='6' fill='{fill}'"
    top = y + height / 2 - 9 * (len(lines) - 1) + 5
    texts = [
        label(x + width // 2, top + 18 * number, line, is_bold=number == 0)
        for number, line in enumerate(lines)
    ]
    return "\n".join([f"{shape} stroke='{INK}' stroke-width='1.2'/>", *texts])


def label(x: float, y: float, text: str, is_bold: bool = False) -> str:
    """Returns a line of text, its middle at x."""
    weight = " font-weight='600'" if is_bold else ""
    size = 14 if is_bold else 13
    return (
        f"<text x='{x:g}' y='{y:g}' {FONT} font-size='{size}'{weight} fill='{INK}' "
        f"text-anchor='middle'>{escape(text)}</text>"
    )


def arrow(path: str, is_dashed: bool = False) -> str:
    """Returns an arrow along a path."""
    dashes = " stroke-dasharray='5 4'" if is_dashed else ""
    return (
        f"<path d='{path}' fill='none' stroke='{INK}' stroke-width='1.5'{dashes} "
        "marker-end='url(#tip)'/>"
    )


def pipeline() -> str:
    """Returns the picture of a pipeline's blocks."""
    steps = [
        ["files", "or arrays, iterables"],
        ["parts", "chunks read by several tasks"],
        ["blocks", "many examples in columns"],
        ["rows", "nodes move numbers: shuffle, shard"],
        ["batch", "gathered, parsed, decoded: one task"],
        ["loop", "for batch in train"],
    ]
    parts = [
        *(
            box(14, 14 + 74 * number, 256, 52, lines, LOOP if lines[0] == "loop" else BOX)
            for number, lines in enumerate(steps)
        ),
        *(arrow(f"M142 {67 + 74 * number}V{86 + 74 * number}") for number in range(5)),
        box(306, 88, 122, 256, ["workers", "engine threads,", "without", "Python's lock"]),
        *(arrow(f"M306 {y}H274", is_dashed=True) for y in (114, 188, 336)),
        box(306, 372, 122, 84, ["memory_bytes", "charged before;", "a taken batch", "gives room"]),
        arrow("M367 372V348", is_dashed=True),
        arrow("M270 410H302", is_dashed=True),
    ]
    return picture(440, 464, "From files through blocks and rows to the training loop", parts)


def queues() -> str:
    """Returns the picture of TensorFlow 1's queues."""
    parts = [
        box(14, 14, 260, 48, ["file names", "epochs, shuffle"]),
        arrow("M144 63V80"),
        box(14, 82, 260, 48, ["filename queue", "bounded"], QUEUE),
        *(
            box(14 + 90 * number, 158, 80, 66, ["read", "parse", "preprocess"])
            for number in range(3)
        ),
        *(arrow(f"M{54 + 90 * number} 131V156") for number in range(3)),
        *(arrow(f"M{54 + 90 * number} 225V250") for number in range(3)),
        box(14, 252, 260, 48, ["example queue", "bounded, shuffles"], QUEUE),
        arrow("M144 301V318"),
        box(14, 320, 260, 48, ["batch", "dequeue_many"]),
        arrow("M144 369V386"),
        box(14, 388, 260, 48, ["loop", "session.run"], LOOP),
        box(306, 14, 122, 84, ["queue runner", "a thread", "enqueues", "the names"]),
        arrow("M306 38H278", is_dashed=True),
        box(306, 158, 122, 66, ["queue runner", "each thread", "repeats one"]),
        arrow("M306 191H278", is_dashed=True),
        box(306, 352, 122, 84, ["coordinator", "stops all", "threads, raises", "the first error"]),
        arrow("M274 412H302", is_dashed=True),
        arrow("M367 352V228", is_dashed=True),
    ]
    return picture(440, 450, "From file names through two bounded queues to session.run", parts)


def readers() -> str:
    """Returns the picture of readers and trainers on several machines."""
    parts = [
        box(14, 14, 412, 48, ["files", "that all readers can see"]),
        *(
            box(14 + 140 * number, 88, 132, 52, [f"reader {number}", f"batches {batches}"])
            for number, batches in enumerate(("0, 3, 6, …", "1, 4, 7, …", "2, 5, 8, …"))
        ),
        *(arrow(f"M{80 + 140 * number} 63V86") for number in range(3)),
        *(arrow(f"M{80 + 140 * number} 141V164") for number in range(3)),
        box(14, 166, 412, 48, ["object stores of the nodes", "bounded by credits"], QUEUE),
        *(
            box(14 + 212 * number, 240, 200, 52, [f"trainer {number}", f"batches {batches}"], LOOP)
            for number, batches in enumerate(("0, 2, 4, …", "1, 3, 5, …"))
        ),
        *(arrow(f"M{114 + 212 * number} 215V238") for number in range(2)),
        box(
            14,
            324,
            412,
            66,
            ["head", "starts, ends and names readers;", "no batch goes through it"],
        ),
        *(arrow(f"M{114 + 212 * number} 293V320", is_dashed=True) for number in range(2)),
        label(220, 314, "say how long they wait"),
    ]
    return picture(440, 404, "Readers make every third batch, trainers take every other one", parts)


def use() -> str:
    """Returns the picture of typical use: files, a pipeline, a training loop."""
    sources = (("TFRecord, tar", 20), ("Parquet, CSV", 156), ("images, text", 292))
    parts = [
        *(box(x, 14, 128, 44, [name, "here or on S3"]) for name, x in sources),
        *(arrow(f"M{x + 64} 59V86") for _, x in sources),
        box(
            20, 88, 400, 62, ["shuffle(seed=7)", "an order that a seed decides, with exact resume"]
        ),
        arrow("M220 151V176"),
        box(20, 178, 400, 62, ["map(decoded)", "native operations, or your Python on all cores"]),
        arrow("M220 241V266"),
        box(20, 268, 400, 62, ["batch(64).to_torch()", "dicts of tensors, arrays of JAX or NumPy"]),
        arrow("M220 331V356"),
        box(20, 358, 400, 62, ["for batch in train:", "your training loop"], LOOP),
    ]
    return picture(440, 434, "Files become shuffled batches for a training loop", parts)


def rates() -> str:
    """Returns the picture that compares pipelines with other libraries: rates, and start times."""
    columns = (
        ("÷ `tf.data`", BOX, "÷ tf.data"),
        ("a pipeline ÷ this", QUEUE, "÷ the best other library"),
    )
    rows = [row for row in table("## Pipelines") if row["a pipeline ÷ this"]]
    unit = 230 / max(float(row[name]) for row in rows for name, _, _ in columns)
    parts = [heading(24, "Examples a second of a pipeline"), line(150 + round(unit), 62, 284, "1")]
    for number, (_, fill, name) in enumerate(columns):
        parts += [bar(20 + 110 * number, 36, 14, fill), beside(40 + 110 * number, 48, name)]
    top = 70
    for row in rows:
        name = row[""].partition(",")[0]
        parts.append(beside(20, top + 20, f"{name}, {DATA[name]}"))
        for number, (column, fill, _) in enumerate(columns):
            length = round(unit * float(row[column]))
            parts.append(bar(150, top + 16 * number, length, fill))
            parts.append(beside(156 + length, top + 12 + 16 * number, row[column]))
        top += 43
    parts.append(heading(top + 28, "Seconds until the first batch"))
    top += 40
    for row in table("## Whole pipelines", "first batch, s"):
        name = SHOWN.get(row[""])
        if name is not None:
            seconds = float(row["first batch, s"])
            parts.append(beside(20, top + 12, name))
            parts.append(bar(190, top, round(80 * seconds), LOOP if "headrace" in name else BOX))
            parts.append(beside(196 + round(80 * seconds), top + 12, row["first batch, s"]))
            top += 21
    return picture(440, top + 10, "Pipelines beside other libraries", parts)


DATA = {"W1": "TFRecords", "W2": "pictures", "W3": "photos", "W4": "CSV", "W5": "text lines"}
# Programs of the table of first batches that are in the picture, with their names there.
SHOWN = {
    "headrace, best program": "headrace",
    "SPDL": "SPDL",
    "Grain": "Grain",
    "Hugging Face datasets": "datasets",
    "PyTorch, two workers": "DataLoader, 2 workers",
    "WebDataset": "WebDataset",
    "tf.data": "tf.data",
}


def heading(y: float, text: str) -> str:
    """Returns the heading of a part of a picture."""
    return label(20, y, text, is_bold=True).replace("'middle'", "'start'")


def beside(x: float, y: float, text: str) -> str:
    """Returns a line of text that starts at x."""
    return label(x, y, text).replace("'middle'", "'start'")


def table(heading: str, column: str = "") -> list[dict[str, str]]:
    """Returns the rows of the first table below a heading of RESULTS.md that has a column."""
    text = (TOP / "benchmarks" / "RESULTS.md").read_text("utf-8").partition(f"\n{heading}\n")[2]
    blocks = re.findall(r"(?:^\|.*\n)+", text.split("\n#")[0] + "\n", re.MULTILINE)
    block = next(block for block in blocks if column in block.partition("\n")[0])
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in block.splitlines()]
    return [dict(zip(cells[0], row, strict=True)) for row in cells[2:]]


def bar(x: int, y: int, length: int, fill: str) -> str:
    """Returns a bar that starts at x."""
    return f"<rect x='{x}' y='{y}' width='{length}' height='14' fill='{fill}' stroke='{INK}'/>"


def line(x: int, top: int, bottom: int, text: str) -> str:
    """Returns a vertical dashed line with text above it."""
    path = f"<path d='M{x} {top + 4}V{bottom}' stroke='{INK}' stroke-dasharray='3 3'/>"
    return label(x, top, text) + path


def augmentation() -> None:
    """Runs the program in docs/augmentation.md that makes the picture there."""
    text = (DOCS / "augmentation.md").read_text("utf-8")
    programs = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    with chdir(DOCS):
        exec(programs[-1], {"__name__": "augmentation"})


def main() -> int:
    """Writes the pictures."""
    pictures = {
        "use": use(),
        "pipeline": pipeline(),
        "queues": queues(),
        "past_one_machine": readers(),
        "pipeline_rates": rates(),
    }
    for name, text in pictures.items():
        (DOCS / f"{name}.svg").write_text(text, "utf-8")
    augmentation()
    return 0


if __name__ == "__main__":
    sys.exit(main())
