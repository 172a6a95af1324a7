"""CSV files: ten normal numbers with six decimals and a label a line."""

import numpy as np

from benchmarks.pipelines import checksums, dataset

NUM_PARTS = 8
PART_COUNT = 125_000
LINE = ",".join(["%.6f"] * 10 + ["%d"])


def make() -> None:
    """Writes 1,000,000 lines into 8 files."""
    rng = np.random.default_rng(4)
    parts = []
    for number in range(NUM_PARTS):
        features = rng.standard_normal((PART_COUNT, 10)).round(6)
        labels = rng.integers(0, 10, PART_COUNT)
        rows = zip(*features.T.tolist(), labels.tolist(), strict=True)
        name = f"numbers-{number}.csv"
        text = "\n".join(LINE % row for row in rows)
        (dataset.ROOT / "numbers" / name).write_text(text + "\n")
        ends = np.rint(features[:, ::9] * checksums.MICRO).sum(axis=0)
        sums = [int(labels.sum()), int(ends[0]), int(ends[1])]
        parts.append(dataset.Part([name], PART_COUNT, sums))
    dataset.write("numbers", parts)
