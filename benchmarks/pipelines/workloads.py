"""The work of the benchmarks' pipelines."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Workload:
    """A job that several programs do.

    Attributes:
        name: As on the command line.
        task: What the programs call it; a key of `checksums.CHECKSUMS`.
        title: What has to be done.
        unit: What is counted.
        min_parts: Of the data, the least that a program reads: several times what waits in the
            shuffle, so that the rate of its being emptied at the end does not count.
        num_parts: How much every program reads; None if as much as takes it a while.
    """

    name: str
    task: str
    title: str
    unit: str
    min_parts: int
    num_parts: int | None = None


WORKLOADS = [
    Workload(
        "W1",
        "examples",
        "Digits in TFRecords: parse, convert to float, shuffle 10,000, batches of 128",
        "examples",
        8,
    ),
    Workload(
        "W2",
        "augmented_images",
        "CIFAR's files: crop 24x24, mirror, standardise, shuffle 10,000, batches of 128",
        "images",
        5,
    ),
    Workload(
        "W2-plain",
        "images",
        "CIFAR's files without augmentation: shuffle 10,000, batches of 128",
        "images",
        5,
    ),
    Workload(
        "W3",
        "photos",
        "A folder of JPEG photos, 640x480: decode, resize to 224x224, shuffle, batches of 64",
        "photos",
        2,
    ),
    Workload(
        "W4",
        "numbers",
        "CSV lines of ten numbers and a label: parse, shuffle 10,000, batches of 256",
        "lines",
        1,
    ),
    Workload(
        "W5",
        "lines",
        "Text lines of about 30 bytes: shuffle 10,000, batches of 1,024",
        "lines",
        1,
    ),
    Workload(
        "W7",
        "examples",
        "The digits of W1, once: how soon the first batch comes, and how much memory it takes",
        "examples",
        8,
        num_parts=8,
    ),
]
