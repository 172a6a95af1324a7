"""headrace: a folder of sounds and a native function."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import headrace as hr
from benchmarks import taking
from benchmarks.sounds import work


@hr.native
def bands(example: Any) -> Any:
    """Returns the bands of a sound, and its label."""
    samples = hr.ops.decode_audio(example["data"])
    return {
        "bands": hr.ops.log_mel_spectrogram(samples, work.SAMPLE_RATE),
        "label": example["label"],
    }


def batches(home: Path, num_epochs: int) -> Iterator[Any]:
    """Yields batches."""
    sounds = hr.audio_folder(home)
    classes = [int(name) for name in sounds.classes]
    for batch in sounds.shuffle(seed=1).epochs(num_epochs).map(bands).batch(work.BATCH_SIZE):
        yield batch["bands"], [classes[label] for label in batch["label"].tolist()]


if __name__ == "__main__":
    taking.run(batches, work.sums_of)
