"""Reads images and labels from tar archives (WebDataset), shuffled with a window.

A window reads several shards at the same time, in a different order in each epoch. Each shard is
read sequentially, which suits storage. `skip_errors` skips damaged samples up to a limit, and lists
them.
"""

import io
import tarfile
import tempfile
from pathlib import Path

import numpy as np

import headrace as hr


@hr.native
def encoded(example: dict[str, hr.Tensor]) -> dict[str, hr.Tensor]:
    """Returns an image as a JPEG file."""
    return {"data": hr.ops.encode_jpeg(example["image"])}


def write(folder: Path, num_shards: int, num_samples: int) -> None:
    """Writes shards of samples `NAME.jpg` and `NAME.cls`. One of the images is damaged."""
    rng = np.random.default_rng(1)
    for shard in range(num_shards):
        with tarfile.open(folder / f"train-{shard:03}.tar", "w") as archive:
            for number in range(num_samples):
                label = int(rng.integers(10))
                image = np.full((40, 60, 3), 20 * label, np.uint8)
                data = encoded({"image": image})["data"]
                if (shard, number) == (1, 3):
                    data = data[:20]
                for suffix, content in (("jpg", data), ("cls", b"%d" % label)):
                    member = tarfile.TarInfo(f"{shard:03}{number:05}.{suffix}")
                    member.size = len(content)
                    archive.addfile(member, io.BytesIO(content))


@hr.native
def decoded(sample: dict[str, hr.Tensor]) -> dict[str, hr.Tensor]:
    """Returns an image, uint8, (32, 32, 3), and its label, int64."""
    image = hr.ops.decode_jpeg(sample["jpg"], channels=3)
    image = hr.ops.cast(hr.ops.resize(image, [32, 32]), "uint8")
    return {"image": image, "label": hr.ops.string_to_number(sample["cls"], "int64")}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), num_shards=4, num_samples=50)
        samples = hr.webdataset(f"{folder}/train-{{000..003}}.tar").shuffle(window=100, seed=1)
        train = samples.map(decoded).skip_errors(5).batch(32)
        for epoch in range(2):
            batches = train.epoch(epoch)
            correct = [batch["image"][:, 16, 16, 0] // 20 == batch["label"] for batch in batches]
            print(f"epoch {epoch}: {np.concatenate(correct).sum()} pictures with their labels")
            for skipped in batches.skipped:
                print(f"skipped {Path(skipped.file).name}, sample {skipped.record_number}")
