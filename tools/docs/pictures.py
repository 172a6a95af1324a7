"""Draws the pictures of docs/: a pipeline's blocks, TensorFlow 1's queues, rates of pipelines.

.venv/bin/python -m tools.docs.pictures
"""

import re
import sys
from contextlib import chdir
from pathlib import Path

from tools.docs import rates
from tools.docs.drawing import BOX, LOOP, QUEUE, arrow, box, label, picture

TOP = Path(__file__).parents[2]
DOCS = TOP / "docs"


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
    sources = (("TFRecord, tar", 20), ("Parquet, JSON", 156), ("images, sound", 292))
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
    }
    for name, text in pictures.items():
        (DOCS / f"{name}.svg").write_text(text, "utf-8")
    rates.main()
    augmentation()
    return 0


if __name__ == "__main__":
    sys.exit(main())
