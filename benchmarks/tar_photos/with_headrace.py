"""headrace: `webdataset`, a window, and a native function that decodes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import headrace as hr
from benchmarks import taking
from benchmarks.tar_photos import work


@hr.native
def decode(example: Any) -> Any:
    """Returns the picture and its label."""
    image = hr.ops.decode_jpeg(example["jpg"], channels=3, dct_method="fast")
    return {"image": image, "label": hr.ops.string_to_number(example["cls"], "int64")}


def batches(home: Path, num_epochs: int) -> Iterator[Any]:
    """Returns batches."""
    samples = hr.webdataset(work.files_of(home)).shuffle(window=work.WINDOW, seed=1)
    pipeline = samples.epochs(num_epochs).map(decode).batch(work.BATCH_SIZE)
    return taking.components(pipeline, "image", "label")


if __name__ == "__main__":
    taking.run(batches, work.sums_of)
