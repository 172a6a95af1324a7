"""W2: CIFAR's binary files, with and without augmentation."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.dataset import bounds_of
from benchmarks.libraries import (
    READ_BYTES,
    grain_reading,
    spdl_batches,
    tfdata_batches,
    tfdata_files,
    torch_batches,
)
from benchmarks.manual_loaders import POOL, Rows, epochs_of, shuffled_rows
from benchmarks.workload import Function, Part, Workload

BATCH_SIZE = 128
NUM_FILES = 5
SIZE = 32
CROP = 24
RECORD_BYTES = 1 + 3 * SIZE * SIZE
LEAST_DEVIATION = (3 * CROP * CROP) ** -0.5


def make(home: Path, count: int) -> list[Part]:
    """Writes sections of photographs. Labels go up to 255, so their sums detect more errors."""
    from benchmarks.pictures import photographs

    rng = np.random.default_rng(2)
    photos = [np.asarray(photo.reduce(4)) for photo in photographs()]
    parts = []
    for number, (begin, end) in enumerate(bounds_of(count, NUM_FILES)):
        records = np.empty((end - begin, RECORD_BYTES), np.uint8)
        records[:, 0] = rng.integers(0, 256, end - begin)
        for record in records:
            photo = photos[rng.integers(len(photos))]
            y, x = rng.integers(0, np.array(photo.shape[:2]) - SIZE + 1)
            record[1:] = photo[y : y + SIZE, x : x + SIZE].transpose(2, 0, 1).ravel()
        name = f"images-{number}.bin"
        records.tofile(home / name)
        parts.append(Part([name], end - begin, sums_of(decode(records))[1:]))
    return parts


def sums_of(batch: Any) -> list[int]:
    """Sums images, uint8, (n, 32, 32, 3), and labels, integers, (n,), 0 to 255."""
    pictures, labels = (np.asarray(component) for component in batch)
    wide = labels.astype(np.int64)
    middle = pictures[:, 16, 16].sum(dtype=np.int64)
    return [len(labels), int(wide.sum()), int(wide @ wide), int(middle)]


def augmented_sums_of(batch: Any) -> list[int]:
    """Sums the labels, integers, (n,), 0 to 255, of images, (n, 24, 24, 3).

    Raises:
        ValueError: If the first image is not standardised.
    """
    images, labels = (np.asarray(component) for component in batch)
    first = images[0]
    if images.shape[1:] != (CROP, CROP, 3) or abs(first.mean()) > 1e-3 or first.std() > 1.001:
        raise ValueError(f"{images.shape} images of mean {first.mean()}, deviation {first.std()}")
    wide = labels.astype(np.int64)
    return [len(labels), int(wide.sum()), int(wide @ wide)]


W2 = Workload(
    __name__,
    "W2",
    "augmented_images",
    "CIFAR's files: crop 24x24, mirror, standardise, shuffle 10,000, batches of 128",
    "images",
    augmented_sums_of,
    count=50_000,
    make=make,
    min_parts=NUM_FILES,
    is_steady=True,
)
W2_PLAIN = replace(
    W2,
    name="W2-plain",
    task="images",
    title="CIFAR's files without augmentation: shuffle 10,000, batches of 128",
    sums_of=sums_of,
    programs=[],
)


def program(
    *arguments: Any, way: str = "program", **options: Any
) -> Callable[[Function], Function]:
    """Adds a function to both workloads. Its last argument is whether it augments."""

    def add(function: Function) -> Function:
        for workload, is_augmented in ((W2, True), (W2_PLAIN, False)):

            def called(
                *inputs: Any, is_augmented: bool = is_augmented, **more: Any
            ) -> Iterable[Any]:
                return function(*inputs, is_augmented, **more)

            getattr(workload, way)(*arguments, **options)(called)
        return function

    return add


def pipeline(
    files: list[str], num_epochs: int | None, is_augmented: bool, window: int | None = POOL
) -> Any:
    """Returns the pipeline."""
    import headrace as hr

    @hr.native
    def decode(example: Any) -> Any:
        record = hr.ops.reshape(hr.ops.decode_raw(example["record"], "uint8"), [RECORD_BYTES])
        planes = hr.ops.reshape(record[1:], [3, SIZE, SIZE])
        image = hr.ops.transpose(planes, [1, 2, 0])
        return {"image": image, "label": hr.ops.cast(record[0], "int32")}

    @hr.native
    def distort(example: Any) -> Any:
        image = hr.ops.random_crop(example["image"], [CROP, CROP, 3])
        image = hr.ops.random_flip_left_right(image)
        return {"image": hr.ops.cast(image, "float32"), "label": example["label"]}

    @hr.native
    def standardise(batch: Any) -> Any:
        images, axes = batch["image"], [1, 2, 3]
        centred = images - hr.ops.reduce_mean(images, axes, keepdims=True)
        deviation = hr.ops.sqrt(hr.ops.reduce_mean(hr.ops.square(centred), axes, keepdims=True))
        images = centred / hr.ops.maximum(deviation, LEAST_DEVIATION)
        return {"image": images, "label": batch["label"]}

    records = hr.fixed_length_records(files, RECORD_BYTES).map(decode)
    shuffled = records.shuffle(window=window).epochs(num_epochs)
    if not is_augmented:
        return shuffled.batch(BATCH_SIZE)
    return shuffled.map(distort, seed=1).batch(BATCH_SIZE).map(standardise)


@program(
    "headrace-pipeline", "headrace, a pipeline", "`import headrace as hr`, one thread for each core"
)
def with_headrace(files: list[str], num_epochs: int, is_augmented: bool) -> Iterable[Any]:
    batches = pipeline(files, num_epochs, is_augmented)
    return ((batch["image"], batch["label"]) for batch in batches)


@program(
    "",
    "the TensorFlow 1 program",
    "one example at a time, as TensorFlow 1's guide writes it; `num_threads=4`",
    way="tensorflow1",
)
def one_by_one(tf: Any, files: list[str], num_epochs: int | None, is_augmented: bool) -> Any:
    names = tf.train.string_input_producer(files, num_epochs=num_epochs)
    _, value = tf.FixedLengthRecordReader(record_bytes=RECORD_BYTES).read(names)
    record = tf.decode_raw(value, tf.uint8)
    label = tf.reshape(tf.cast(tf.strided_slice(record, [0], [1]), tf.int32), [])
    depth_major = tf.reshape(tf.strided_slice(record, [1], [RECORD_BYTES]), [3, SIZE, SIZE])
    image = tf.transpose(depth_major, [1, 2, 0])
    if is_augmented:
        image = tf.random_crop(tf.cast(image, tf.float32), [CROP, CROP, 3])
        image = tf.image.random_flip_left_right(image)
        image = tf.image.per_image_standardization(image)
        image.set_shape([CROP, CROP, 3])
    return tf.train.shuffle_batch(
        [image, label],
        batch_size=BATCH_SIZE,
        num_threads=4,
        capacity=POOL + 7 * BATCH_SIZE,
        min_after_dequeue=POOL,
        allow_smaller_final_batch=True,
    )


@program(
    "-best",
    "best program",
    "`read_up_to`, 128 at a time; two readers; what is left is done for whole batches; "
    "under headrace, bytes are cropped and mirrored one image at a time",
    way="tensorflow1",
)
def many_at_a_time(tf: Any, files: list[str], num_epochs: int | None, is_augmented: bool) -> Any:
    """In TensorFlow, one `gather` crops and mirrors the images of a whole batch.

    In headrace, operations on single images are cheap.
    """
    names = tf.train.string_input_producer(files, num_epochs=num_epochs)
    if is_augmented and tf.__name__.startswith("headrace"):
        return cropped_one_by_one(tf, names)
    reader = tf.FixedLengthRecordReader(record_bytes=RECORD_BYTES)
    values = tf.train.shuffle_batch_join(
        [[reader.read_up_to(names, BATCH_SIZE)[1]] for _ in range(2)],
        batch_size=BATCH_SIZE,
        capacity=POOL + 5 * BATCH_SIZE,
        min_after_dequeue=POOL,
        enqueue_many=True,
        allow_smaller_final_batch=True,
    )
    records = tf.reshape(tf.decode_raw(values, tf.uint8), [-1, RECORD_BYTES])
    planes = tf.reshape(records[:, 1:], [-1, 3, SIZE, SIZE])
    images = tf.transpose(planes, [0, 2, 3, 1])
    if is_augmented:
        images = standardised(tf, tf.gather(tf.reshape(images, [-1, 3]), positions_of(tf, images)))
    return prepared(tf, [images, tf.cast(records[:, 0], tf.int32)])


def cropped_one_by_one(tf: Any, names: Any) -> Any:
    _, value = tf.FixedLengthRecordReader(record_bytes=RECORD_BYTES).read(names)
    record = tf.decode_raw(value, tf.uint8)
    image = tf.transpose(tf.reshape(record[1:], [3, SIZE, SIZE]), [1, 2, 0])
    image = tf.image.random_flip_left_right(tf.random_crop(image, [CROP, CROP, 3]))
    image.set_shape([CROP, CROP, 3])
    images, labels = tf.train.shuffle_batch(
        [image, tf.cast(tf.reshape(record[:1], []), tf.int32)],
        batch_size=BATCH_SIZE,
        num_threads=2,
        capacity=POOL + 5 * BATCH_SIZE,
        min_after_dequeue=POOL,
        allow_smaller_final_batch=True,
    )
    return prepared(tf, [standardised(tf, images), labels])


def positions_of(tf: Any, images: Any) -> Any:
    """Returns the pixel positions of random crops, mirrored or not: int32, (n, 24, 24)."""
    count = tf.shape(images)[0]
    corners = tf.random.uniform([count, 2], 0, SIZE - CROP + 1, dtype=tf.int32)
    steps = tf.range(CROP)[tf.newaxis]
    rows, columns = corners[:, :1] + steps, corners[:, 1:] + steps
    is_mirrored = tf.tile(tf.random.uniform([count, 1]) < 0.5, [1, CROP])
    columns = tf.where(is_mirrored, columns[:, ::-1], columns)
    starts = tf.range(count)[:, tf.newaxis, tf.newaxis] * SIZE * SIZE
    return starts + rows[:, :, tf.newaxis] * SIZE + columns[:, tf.newaxis]


def standardised(tf: Any, crops: Any) -> Any:
    floats, axes = tf.cast(crops, tf.float32), [1, 2, 3]
    centred = floats - tf.reduce_mean(floats, axes, keepdims=True)
    deviation = tf.sqrt(tf.reduce_mean(tf.square(centred), axes, keepdims=True))
    return centred / tf.maximum(deviation, LEAST_DEVIATION)


def prepared(tf: Any, tensors: Sequence[Any]) -> Any:
    """Processes whole batches in threads next to the training loop."""
    queue = tf.FIFOQueue(8, [tensor.dtype for tensor in tensors])
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(tensors)] * 2))
    return queue.dequeue()


@program(
    "tf.data",
    "tf.data",
    "`AUTOTUNE`, in any order; records are shuffled, whole batches are decoded",
    "tensorflow",
)
def with_tfdata(files: list[str], num_epochs: int, is_augmented: bool) -> Iterable[Any]:
    """One `gather` crops and mirrors the images of a whole batch."""
    import tensorflow as tf

    def decode(values: Any) -> Any:
        records = tf.reshape(tf.io.decode_raw(values, tf.uint8), [-1, RECORD_BYTES])
        planes = tf.reshape(records[:, 1:], [-1, 3, SIZE, SIZE])
        images = tf.transpose(planes, [0, 2, 3, 1])
        if is_augmented:
            crops = tf.gather(tf.reshape(images, [-1, 3]), positions_of(tf, images))
            crops = tf.cast(crops, tf.float32)
            mean, variance = tf.nn.moments(crops, [1, 2, 3], keepdims=True)
            images = (crops - mean) / tf.maximum(tf.sqrt(variance), LEAST_DEVIATION)
        return images, tf.cast(records[:, 0], tf.int32)

    def read_file(name: Any) -> Any:
        return tf.data.FixedLengthRecordDataset(name, RECORD_BYTES, buffer_size=READ_BYTES)

    records = tfdata_files(files, num_epochs, read_file)
    return tfdata_batches(records.shuffle(POOL).batch(BATCH_SIZE).map(decode, tf.data.AUTOTUNE))


def records_of(files: Iterable[str]) -> Iterator[Rows]:
    """Yields records from files: uint8, (n, 3073)."""
    for name in files:
        yield (np.fromfile(name, np.uint8).reshape(-1, RECORD_BYTES),)


def decode(records: np.ndarray) -> Rows:
    """Decodes records to images, uint8, (n, 32, 32, 3), and labels, int32, (n,)."""
    planes = records[:, 1:].reshape(-1, 3, SIZE, SIZE)
    return np.ascontiguousarray(planes.transpose(0, 2, 3, 1)), records[:, 0].astype(np.int32)


def augment(records: np.ndarray, generator: np.random.Generator) -> Rows:
    """Returns mirrored and standardised crops, float32, (n, 24, 24, 3), and labels, int32."""
    planes = records[:, 1:].reshape(-1, 3, SIZE, SIZE).transpose(0, 2, 3, 1)
    crops = np.empty((len(records), CROP, CROP, 3), np.float32)
    corners = generator.integers(0, SIZE - CROP + 1, (len(records), 2)).tolist()
    mirrored = (generator.random(len(records)) < 0.5).tolist()
    for crop, image, (y, x), is_mirrored in zip(crops, planes, corners, mirrored, strict=True):
        crop[:] = image[y : y + CROP, x : x + CROP][:, :: -1 if is_mirrored else 1]
    rows = crops.reshape(len(records), -1)
    rows -= rows.mean(axis=1, keepdims=True)
    deviations = np.sqrt(np.einsum("ij,ij->i", rows, rows) / rows.shape[1])
    rows /= np.maximum(deviations, LEAST_DEVIATION)[:, None].astype(np.float32)
    return crops, records[:, 0].astype(np.int32)


def batches(
    is_augmented: bool, files: Sequence[str], pool_size: int = POOL, seed: int = 0
) -> Iterator[Rows]:
    """Yields batches by hand."""
    generator = np.random.default_rng(seed)
    for (records,) in shuffled_rows(records_of(files), BATCH_SIZE, pool_size, seed):
        yield augment(records, generator) if is_augmented else decode(records)


BY_HAND = "shuffled and augmented by hand, with NumPy"


@program("numpy", "NumPy alone", f"one thread; {BY_HAND}", "numpy")
def with_numpy(files: list[str], num_epochs: int, is_augmented: bool) -> Iterator[Any]:
    return batches(is_augmented, epochs_of(files, num_epochs))


@program(
    "torch-alone",
    "PyTorch, no workers",
    f"`DataLoader(num_workers=0)`; {BY_HAND}",
    "torch",
    num_workers=0,
)
@program(
    "torch-workers",
    "PyTorch, two workers",
    f"`DataLoader(num_workers=2, prefetch_factor=4)`; {BY_HAND}",
    "torch",
    num_workers=2,
)
def with_torch(
    files: list[str], num_epochs: int, is_augmented: bool, num_workers: int
) -> Iterable[Any]:
    def share(*arguments: Any) -> Iterator[Any]:
        return batches(is_augmented, *arguments)

    return torch_batches(epochs_of(files, num_epochs), share, num_workers)


@program("spdl", "SPDL", f"two threads, a sink of 8; {BY_HAND}", "spdl", ["spdl.pipeline"])
def with_spdl(files: list[str], num_epochs: int, is_augmented: bool) -> Iterator[Any]:
    def work(rows: Rows) -> Rows:
        return augment(rows[0], np.random.default_rng()) if is_augmented else decode(rows[0])

    return spdl_batches(shuffled_rows(records_of(epochs_of(files, num_epochs)), BATCH_SIZE), work)


@program("grain", "Grain", f"two threads; {BY_HAND}", "grain")
def with_grain(files: list[str], num_epochs: int, is_augmented: bool) -> Iterable[Any]:
    import grain

    data = grain.MapDataset.source(Records(files)).shuffle(seed=1).repeat(num_epochs)
    data = data.batch(BATCH_SIZE, batch_fn=np.stack)
    data = data.seed(3).random_map(augment) if is_augmented else data.map(decode)
    return iter(data.to_iter_dataset(grain_reading(16)))


class Records:
    """A map-style data set of the records of equally large files."""

    def __init__(self, files: Sequence[str]) -> None:
        self._parts = [np.memmap(name, np.uint8, "r").reshape(-1, RECORD_BYTES) for name in files]

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def __getitem__(self, number: int) -> np.ndarray:
        size = len(self._parts[0])
        return self._parts[number // size][number % size]


W2.limit("augmented_images")
W2_PLAIN.limit("images")
