"""Runs loops over the rows of a batch: `python -m benchmarks.loops.program LIBRARY`.

Prints a line of JSON: for each loop the rows, and for each run of it seconds, seconds of processor
time and a sum that must not depend on the library.
"""

import json
import sys
import time
from typing import Any

import numpy as np

NUM_RUNS = 7
SECONDS = 0.4


def library(name: str) -> Any:
    """Returns the module `tf`."""
    if name == "headrace":
        import headrace.tf1 as tf  # noqa: PLC0415
    else:
        import tensorflow.compat.v1 as tf  # noqa: PLC0415

        tf.disable_v2_behavior()
        tf.logging.set_verbosity(tf.logging.ERROR)
    return tf


def decoded(tf: Any) -> tuple[Any, Any, int]:
    """`decode_raw`, `reshape` and `cast` of 64 records of 3,072 bytes."""
    rng = np.random.default_rng(0)
    records = [rng.bytes(3072) for _ in range(64)]
    given = tf.placeholder(tf.string, [None])

    def image(record: Any) -> Any:
        return tf.cast(tf.reshape(tf.decode_raw(record, tf.uint8), [32, 32, 3]), tf.float32)

    return tf.map_fn(image, given, dtype=tf.float32), {given: records}, 64


def parsed(tf: Any) -> tuple[Any, Any, int]:
    """`parse_single_example` of 64 records of 784 bytes and a label."""
    rng = np.random.default_rng(0)
    records = []
    for label in range(64):
        feature = {
            "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[rng.bytes(784)])),
            "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
        }
        example = tf.train.Example(features=tf.train.Features(feature=feature))
        records.append(example.SerializeToString())
    given = tf.placeholder(tf.string, [None])
    features = {
        "image": tf.FixedLenFeature([], tf.string),
        "label": tf.FixedLenFeature([], tf.int64),
    }

    def label_of(record: Any) -> Any:
        return tf.parse_single_example(record, features)["label"]

    return tf.map_fn(label_of, given, dtype=tf.int64), {given: records}, 64


def standardized(tf: Any) -> tuple[Any, Any, int]:
    """`per_image_standardization` of 64 images of 224 x 224."""
    images = np.random.default_rng(0).integers(0, 256, (64, 224, 224, 3)).astype(np.float32)
    given = tf.placeholder(tf.float32, [None, 224, 224, 3])
    return tf.map_fn(tf.image.per_image_standardization, given), {given: images}, 64


def photos(tf: Any) -> tuple[Any, Any, int]:
    """`decode_jpeg` and `resize_images` of 16 pictures of 480 x 640 to 224 x 224."""
    across, down = np.meshgrid(np.arange(640), np.arange(480))
    waves = [128 + 60 * np.sin(across / (9 + n)) + 60 * np.cos(down / (7 + n)) for n in range(3)]
    picture = np.stack(waves, axis=-1).clip(0, 255).astype(np.uint8)
    with tf.Session() as session:
        data = session.run(tf.image.encode_jpeg(picture))
    given = tf.placeholder(tf.string, [None])

    def resized(jpeg: Any) -> Any:
        return tf.image.resize_images(tf.image.decode_jpeg(jpeg, channels=3), [224, 224])

    return tf.map_fn(resized, given, dtype=tf.float32), {given: [data] * 16}, 16


def counted(tf: Any) -> tuple[Any, Any, int]:
    """`while_loop` that adds numbers 10,000 times."""

    def body(i: Any, total: Any) -> Any:
        return i + 1, total + i

    limit = tf.placeholder(tf.int32, [])
    return tf.while_loop(lambda i, total: i < limit, body, [0, 0])[1], {limit: 10_000}, 10_000


LOOPS = [decoded, parsed, standardized, photos, counted]


def measure(tf: Any, fetch: Any, feeds: Any) -> dict[str, Any]:
    """Returns seconds and processor seconds of a run, in several series, and a sum."""
    with tf.Session() as session:
        call = session.make_callable(fetch, list(feeds))
        values = list(feeds.values())
        total = float(np.abs(call(*values)).sum(dtype=np.float64))
        begin = time.perf_counter()
        call(*values)
        repeats = max(1, int(SECONDS / (time.perf_counter() - begin)))
        seconds, processor = [], []
        for _ in range(NUM_RUNS):
            begin, used = time.perf_counter(), time.process_time()
            for _ in range(repeats):
                call(*values)
            seconds.append((time.perf_counter() - begin) / repeats)
            processor.append((time.process_time() - used) / repeats)
    return {"seconds": seconds, "processor": processor, "sum": total}


def main(name: str) -> None:
    """Measures all loops and prints a line of JSON."""
    results = {}
    for loop in LOOPS:
        tf = library(name)
        with tf.Graph().as_default():
            fetch, feeds, rows = loop(tf)
            results[loop.__name__] = {"rows": rows, **measure(tf, fetch, feeds)}
    print(json.dumps(results))


if __name__ == "__main__":
    main(sys.argv[1])
