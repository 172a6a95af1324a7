"""Text lines as a pipeline; with `--arrow`, batches are arrays of pyarrow's."""

import sys

import headrace as hr
from benchmarks.pipelines import consume

BATCH_SIZE = 1_024
WINDOW = 10_000


def lines(files, num_epochs):
    return hr.text_lines(files).shuffle(window=WINDOW).epochs(num_epochs).batch(BATCH_SIZE)


def batches(task, files, num_epochs):
    strings = "arrow" if "--arrow" in sys.argv else "numpy"
    for batch in lines(files, num_epochs).options(strings=strings):
        yield batch["text"]


if __name__ == "__main__":
    consume.run(batches)
