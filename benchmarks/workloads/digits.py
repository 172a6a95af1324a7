"""W1 and W7: digits in TFRecords, parsed, converted to floats and shuffled."""

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.dataset import HOME, bounds_of
from benchmarks.libraries import (
    PREFETCH,
    READ_BYTES,
    grain_reading,
    spdl_batches,
    tfdata_batches,
    tfdata_files,
    torch_batches,
)
from benchmarks.manual_loaders import POOL, epochs_of, shuffled
from benchmarks.workload import Part, Workload

BATCH_SIZE = 128
NUM_FILES = 8
NUM_PIXELS = 784
SUMMED = slice(98, None, 196)
"""The pixels of a digit that are summed."""


def make(home: Path, count: int) -> list[Part]:
    """Writes real 28x28 MNIST digits as `Example`s, each with a different intensity."""
    from headrace.demo.data import digits_path, load_digits
    from headrace.tf1 import python_io, train

    def example(image: bytes, label: int) -> bytes:
        feature = {
            "image": train.Feature(bytes_list=train.BytesList(value=[image])),
            "label": train.Feature(int64_list=train.Int64List(value=[label])),
        }
        message = train.Example(features=train.Features(feature=feature))
        return bytes(message.SerializeToString(deterministic=True))

    images, labels = load_digits(digits_path())
    rng = np.random.default_rng(1)
    parts = []
    for number, (begin, end) in enumerate(bounds_of(count, NUM_FILES)):
        rows = rng.integers(0, len(images), end - begin)
        strength = rng.integers(180, 256, (end - begin, 1))
        pixels = (images[rows] * strength // 255).astype(np.uint8)
        name = f"digits-{number}.tfrecord"
        with python_io.TFRecordWriter(str(home / name)) as writer:
            for image, label in zip(pixels, labels[rows], strict=True):
                writer.write(example(image.tobytes(), int(label)))
        sums = [int(labels[rows].sum()), int(pixels[:, SUMMED].sum(dtype=np.int64))]
        parts.append(Part([name], end - begin, sums))
    return parts


def sums_of(batch: Any) -> list[int]:
    """Sums images, float32, (n, 784), -0.5 to 0.5, and labels, int64, (n,)."""
    images, labels = (np.asarray(component) for component in batch)
    pixels = np.rint((images[:, SUMMED] + 0.5) * 255)
    return [len(labels), int(labels.sum()), int(pixels.sum(dtype=np.float64))]


W1 = Workload(
    __name__,
    "W1",
    "digits",
    "Digits in TFRecords: parse, convert to float, shuffle 10,000, batches of 128",
    "examples",
    sums_of,
    count=60_000,
    make=make,
    min_parts=NUM_FILES,
    is_steady=True,
)
W7 = replace(
    W1,
    name="W7",
    title="The digits of W1, once: how soon the first batch comes, and how much memory it takes",
    num_parts=NUM_FILES,
)


def pipeline(files: list[str], num_epochs: int | None, window: int | None = POOL) -> Any:
    """Returns the pipeline. The window holds records, which are decoded as batches are made."""
    import headrace as hr

    @hr.native
    def decode(example: Any) -> Any:
        pixels = hr.ops.reshape(hr.ops.decode_raw(example["image"], "uint8"), [NUM_PIXELS])
        image = hr.ops.cast(pixels, "float32") * (1.0 / 255) - 0.5
        return {"image": image, "label": example["label"]}

    parsed = hr.tfrecords(files).parse({"image": bytes, "label": int})
    return parsed.map(decode).shuffle(window=window).epochs(num_epochs).batch(BATCH_SIZE)


@W1.program(
    "headrace-pipeline", "headrace, a pipeline", "`import headrace as hr`, one thread for each core"
)
def with_headrace(files: list[str], num_epochs: int) -> Iterable[Any]:
    return ((batch["image"], batch["label"]) for batch in pipeline(files, num_epochs))


def read(tf: Any, names: Any) -> tuple[Any, Any]:
    """Returns tensors for one image, float32, (784,), and its label."""
    _, serialized = tf.TFRecordReader().read(names)
    features = tf.parse_single_example(serialized, features=features_of(tf))
    image = tf.decode_raw(features["image"], tf.uint8)
    image.set_shape([NUM_PIXELS])
    return tf.cast(image, tf.float32) * (1.0 / 255) - 0.5, features["label"]


def features_of(tf: Any) -> dict[str, Any]:
    """Returns the features of an example."""
    return {
        "image": tf.FixedLenFeature([], tf.string),
        "label": tf.FixedLenFeature([], tf.int64),
    }


@W1.tensorflow1(
    "",
    "the TensorFlow 1 program",
    "one example at a time, as TensorFlow 1's guide writes it; `num_threads=4`",
)
def one_by_one(tf: Any, files: list[str], num_epochs: int | None) -> Any:
    names = tf.train.string_input_producer(files, num_epochs=num_epochs)
    return tf.train.shuffle_batch(
        read(tf, names),
        batch_size=BATCH_SIZE,
        num_threads=4,
        capacity=POOL + 7 * BATCH_SIZE,
        min_after_dequeue=POOL,
        allow_smaller_final_batch=True,
    )


@W1.tensorflow1(
    "-best", "best program", "`read_up_to`, 128 at a time; what is left is done for whole batches"
)
def many_at_a_time(tf: Any, files: list[str], num_epochs: int | None) -> Any:
    """The queue holds bytes (a quarter of the memory), which are converted to floats by batch."""
    # On two cores, headrace reads and shuffles faster than the training loop takes batches.
    num_readers = 1 if tf.__name__.startswith("headrace") else 2
    names = tf.train.string_input_producer(files, num_epochs=num_epochs)

    def read_and_parse() -> list[Any]:
        _, serialized = tf.TFRecordReader().read_up_to(names, BATCH_SIZE)
        features = tf.parse_example(serialized, features=features_of(tf))
        pixels = tf.reshape(tf.decode_raw(features["image"], tf.uint8), [-1, NUM_PIXELS])
        return [pixels, features["label"]]

    pixels, labels = tf.train.shuffle_batch_join(
        [read_and_parse() for _ in range(num_readers)],
        batch_size=BATCH_SIZE,
        capacity=POOL + (num_readers + 3) * BATCH_SIZE,
        min_after_dequeue=POOL,
        enqueue_many=True,
        allow_smaller_final_batch=True,
    )
    return tf.cast(pixels, tf.float32) * (1.0 / 255) - 0.5, labels


@W1.program(
    "tf.data",
    "tf.data",
    "`AUTOTUNE`, in any order; records are shuffled, whole batches are parsed",
    "tensorflow",
)
def with_tfdata(files: list[str], num_epochs: int) -> Iterable[Any]:
    import tensorflow as tf

    features = {
        "image": tf.io.FixedLenFeature([], tf.string),
        "label": tf.io.FixedLenFeature([], tf.int64),
    }

    def parse(records: Any) -> Any:
        parsed = tf.io.parse_example(records, features)
        pixels = tf.reshape(tf.io.decode_raw(parsed["image"], tf.uint8), [-1, NUM_PIXELS])
        return tf.cast(pixels, tf.float32) * (1.0 / 255) - 0.5, parsed["label"]

    records = tfdata_files(
        files, num_epochs, lambda name: tf.data.TFRecordDataset(name, None, READ_BYTES)
    )
    return tfdata_batches(records.shuffle(POOL).batch(BATCH_SIZE).map(parse, tf.data.AUTOTUNE))


def records_of(files: Iterable[str]) -> Iterator[bytes]:
    """Yields the records of TFRecord files without verifying checksums."""
    for name in files:
        data = Path(name).read_bytes()
        position = 0
        while position < len(data):
            (length,) = struct.unpack_from("<Q", data, position)
            yield data[position + 12 : position + 12 + length]
            position += 16 + length


@cache
def example_parser() -> Any:
    """Returns a function that parses a `tf.train.Example`.

    The schema has repeated entries instead of a map: the wire format is the same, but entries are
    faster to access.
    """
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field

    # The fields in the order of their numbers. A list is a repeated field.
    messages: dict[str, dict[str, Any]] = {
        "BytesList": {"value": [Field.TYPE_BYTES]},
        "FloatList": {"value": [Field.TYPE_FLOAT]},
        "Int64List": {"value": [Field.TYPE_INT64]},
        "Feature": {
            "bytes_list": "BytesList",
            "float_list": "FloatList",
            "int64_list": "Int64List",
        },
        "Entry": {"key": Field.TYPE_STRING, "value": "Feature"},
        "Features": {"feature": ["Entry"]},
        "Example": {"features": "Features"},
    }
    file = descriptor_pb2.FileDescriptorProto(name="example", package="bench", syntax="proto3")
    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        for number, (field_name, kind) in enumerate(fields.items(), start=1):
            field = message.field.add(name=field_name, number=number, label=Field.LABEL_OPTIONAL)
            if isinstance(kind, list):
                field.label = Field.LABEL_REPEATED
                [kind] = kind  # noqa: PLW2901
            if isinstance(kind, str):
                field.type, field.type_name = Field.TYPE_MESSAGE, f".bench.{kind}"
            else:
                field.type = kind
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("bench.Example")).FromString


def normalised(pixels: np.ndarray) -> np.ndarray:
    """Converts the bytes of images, uint8, (n * 784,), to float32, (n, 784), -0.5 to 0.5."""
    floats = pixels.reshape(-1, NUM_PIXELS) * np.float32(1 / 255)
    floats -= np.float32(0.5)
    return floats


def parsed(records: Sequence[bytes]) -> tuple[list[bytes], list[int]]:
    """Returns the images and labels of records."""
    parse = example_parser()
    images, labels = [], []
    for record in records:
        for entry in parse(record).features.feature:
            if entry.key == "image":
                images.append(entry.value.bytes_list.value[0])
            else:
                labels.append(entry.value.int64_list.value[0])
    return images, labels


def decoded(records: Sequence[bytes]) -> tuple[np.ndarray, np.ndarray]:
    """Returns images, float32, (n, 784), -0.5 to 0.5, and labels, int64, (n,)."""
    images, labels = parsed(records)
    return normalised(np.frombuffer(b"".join(images), np.uint8)), np.array(labels)


def batches(files: Sequence[str], pool_size: int = POOL, seed: int = 0) -> Iterator[Any]:
    """Returns batches by hand."""
    return map(decoded, shuffled(records_of(files), BATCH_SIZE, pool_size, seed))


BY_HAND = "parsed and shuffled by hand, with NumPy and protobuf"


@W1.program("numpy", "NumPy alone", f"one thread; {BY_HAND}", "numpy")
def with_numpy(files: list[str], num_epochs: int) -> Iterator[Any]:
    return batches(epochs_of(files, num_epochs))


@W1.program(
    "torch-alone",
    "PyTorch, no workers",
    f"`DataLoader(num_workers=0)`; {BY_HAND}",
    "torch",
    num_workers=0,
)
@W1.program(
    "torch-workers",
    "PyTorch, two workers",
    f"`DataLoader(num_workers=2, prefetch_factor=4)`; {BY_HAND}",
    "torch",
    num_workers=2,
)
def with_torch(files: list[str], num_epochs: int, num_workers: int) -> Iterable[Any]:
    return torch_batches(epochs_of(files, num_epochs), batches, num_workers)


@W1.program("spdl", "SPDL", f"two threads, a sink of 8; {BY_HAND}", "spdl", ["spdl.pipeline"])
def with_spdl(files: list[str], num_epochs: int) -> Iterator[Any]:
    return spdl_batches(shuffled(records_of(epochs_of(files, num_epochs)), BATCH_SIZE), decoded)


@W1.program(
    "grain", "Grain", "two threads; ArrayRecord, shuffled as a whole; parsed by hand", "grain"
)
def with_grain(files: list[str], num_epochs: int) -> Iterable[Any]:
    import grain

    source = grain.sources.ArrayRecordDataSource(array_records_of(files))
    data = grain.MapDataset.source(source).shuffle(seed=1).repeat(num_epochs)
    return iter(data.batch(BATCH_SIZE, batch_fn=decoded).to_iter_dataset(grain_reading(16)))


def array_records_of(files: Sequence[str]) -> list[str]:
    """Returns files with the same records in Grain's own format, created on the first run."""
    from array_record.python.array_record_module import ArrayRecordWriter

    names = []
    for name in files:
        target = Path(name).with_suffix(".array_record")
        names.append(str(target))
        if not target.exists():
            writer = ArrayRecordWriter(f"{target}.part", "group_size:1")
            for record in records_of([name]):
                writer.write(record)
            writer.close()
            Path(f"{target}.part").rename(target)
    return names


@W1.program(
    "webdataset", "WebDataset", f"two workers; tar files; {BY_HAND}", "torch", num_workers=2
)
def with_webdataset(files: list[str], num_epochs: int, num_workers: int) -> Iterable[Any]:
    import torch
    import webdataset

    from benchmarks.workloads.photos import pack

    def batch(samples: list[Any]) -> Any:
        images, labels = zip(*samples, strict=True)
        pixels = np.frombuffer(b"".join(images), np.uint8)
        return torch.from_numpy(normalised(pixels)), torch.tensor([int(text) for text in labels])

    torch.set_num_threads(1)
    shards = []
    for name in files:
        target = Path(name).with_suffix(".tar")
        if not target.exists():
            images, labels = parsed(list(records_of([name])))
            pack(target, "img", zip(images, labels, strict=True))
        shards += [str(target)]
    shards *= num_epochs
    data = webdataset.WebDataset(
        shards, shardshuffle=len(shards), workersplitter=webdataset.split_by_worker
    )
    data = data.shuffle(POOL // num_workers).to_tuple("img", "cls")
    data = data.batched(BATCH_SIZE, collation_fn=None, partial=True).map(batch)
    workers = {"num_workers": num_workers, "prefetch_factor": PREFETCH}
    return iter(webdataset.WebLoader(data, batch_size=None, **workers))


@W1.program(
    "datasets",
    "Hugging Face datasets",
    "an Arrow table, `to_iterable_dataset(8).shuffle(buffer_size=10000)`; NumPy for batches",
    "datasets",
)
def with_datasets(files: list[str], num_epochs: int) -> Iterator[Any]:
    import datasets
    import pyarrow as pa

    datasets.disable_progress_bars()
    home = HOME / f"{Path(files[0]).parent.name}-arrow-{len(files)}"
    if not home.exists():
        images, labels = parsed(list(records_of(files)))
        table = pa.table({"image": pa.array(images, pa.binary(NUM_PIXELS)), "label": labels})
        datasets.Dataset(table).save_to_disk(home, num_shards=8)
    stream = datasets.load_from_disk(home).to_iterable_dataset(num_shards=8).with_format("arrow")

    def batches() -> Iterator[Any]:
        for epoch in range(num_epochs):
            for table in stream.shuffle(seed=epoch, buffer_size=POOL).iter(BATCH_SIZE):
                image = table["image"].combine_chunks()
                begin = image.offset * NUM_PIXELS
                pixels = np.frombuffer(image.buffers()[1], np.uint8)
                pixels = pixels[begin : begin + NUM_PIXELS * len(image)]
                yield normalised(pixels), table["label"].to_numpy()

    return batches()


W1.limit("examples")
