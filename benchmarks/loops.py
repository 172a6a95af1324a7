"""Compares loops over a batch's rows in headrace and TensorFlow: `python -m benchmarks.loops`.

Prints a table of the time and CPU time per row in microseconds (medians of several series), and the
ratios to TensorFlow. The sums of the results must agree. With the argument `headrace` or
`tensorflow`, it runs only the loops of this library and prints a line of JSON.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.environments import python_of
from benchmarks.workload import NO_GPU, ROOT, tensorflow1_of

NUM_RUNS = 7
SECONDS = 0.4
TOLERANCE = 1e-3


def decoded(tf: Any) -> tuple[Any, Any, int]:
    """`decode_raw`, `reshape` and `cast` of 64 records of 3,072 bytes."""
    rng = np.random.default_rng(0)
    records = [rng.bytes(3072) for _ in range(64)]
    fed = tf.placeholder(tf.string, [None])

    def image(record: Any) -> Any:
        return tf.cast(tf.reshape(tf.decode_raw(record, tf.uint8), [32, 32, 3]), tf.float32)

    return tf.map_fn(image, fed, dtype=tf.float32), {fed: records}, 64


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
    fed = tf.placeholder(tf.string, [None])
    features = {
        "image": tf.FixedLenFeature([], tf.string),
        "label": tf.FixedLenFeature([], tf.int64),
    }

    def label_of(record: Any) -> Any:
        return tf.parse_single_example(record, features)["label"]

    return tf.map_fn(label_of, fed, dtype=tf.int64), {fed: records}, 64


def standardized(tf: Any) -> tuple[Any, Any, int]:
    """`per_image_standardization` of 64 images of 224 x 224."""
    images = np.random.default_rng(0).integers(0, 256, (64, 224, 224, 3)).astype(np.float32)
    fed = tf.placeholder(tf.float32, [None, 224, 224, 3])
    return tf.map_fn(tf.image.per_image_standardization, fed), {fed: images}, 64


def photos(tf: Any) -> tuple[Any, Any, int]:
    """`decode_jpeg` and `resize_images` of 16 pictures, from 480 x 640 to 224 x 224."""
    across, down = np.meshgrid(np.arange(640), np.arange(480))
    waves = [128 + 60 * np.sin(across / (9 + n)) + 60 * np.cos(down / (7 + n)) for n in range(3)]
    picture = np.stack(waves, axis=-1).clip(0, 255).astype(np.uint8)
    with tf.Session() as session:
        data = session.run(tf.image.encode_jpeg(picture))
    fed = tf.placeholder(tf.string, [None])

    def resized(jpeg: Any) -> Any:
        return tf.image.resize_images(tf.image.decode_jpeg(jpeg, channels=3), [224, 224])

    return tf.map_fn(resized, fed, dtype=tf.float32), {fed: [data] * 16}, 16


def counted(tf: Any) -> tuple[Any, Any, int]:
    """`while_loop` that adds numbers 10,000 times."""

    def body(i: Any, total: Any) -> Any:
        return i + 1, total + i

    limit = tf.placeholder(tf.int32, [])
    return tf.while_loop(lambda i, total: i < limit, body, [0, 0])[1], {limit: 10_000}, 10_000


LOOPS = [decoded, parsed, standardized, photos, counted]


def measure(tf: Any, fetch: Any, feeds: Any) -> dict[str, Any]:
    """Returns the time and CPU time of a run in seconds, for several series, and a sum."""
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


def run(library: str) -> None:
    """Measures all loops with a library and prints a line of JSON."""
    results = {}
    for loop in LOOPS:
        tf = tensorflow1_of(library)
        with tf.Graph().as_default():
            fetch, feeds, rows = loop(tf)
            results[loop.__name__] = {"rows": rows, **measure(tf, fetch, feeds)}
    print(json.dumps(results))


def measured(python: str | Path, library: str) -> Any:
    """Runs the program with a library, in a separate process."""
    command = [str(python), "-m", "benchmarks.loops", library]
    environment = {**os.environ, **NO_GPU, "PYTHONPATH": f"{ROOT / 'python'}:{ROOT}"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        raise SystemExit(f"{library} failed: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Measures both and prints the table."""
    theirs_python = python_of("tensorflow")
    if theirs_python is None:
        raise SystemExit("TensorFlow is not here to compare with.")
    ours, theirs = measured(sys.executable, "headrace"), measured(theirs_python, "tensorflow")
    print(
        "| loop | headrace: µs a row | processor | TensorFlow: µs | processor | ratio | processor |"
    )
    print("|---|---|---|---|---|---|---|")
    for loop in LOOPS:
        first, second = ours[loop.__name__], theirs[loop.__name__]
        if abs(first["sum"] - second["sum"]) > TOLERANCE * max(1.0, abs(second["sum"])):
            raise SystemExit(f"{loop.__name__}: sums differ: {first['sum']} and {second['sum']}")
        figures = [
            median(side[what]) / side["rows"] * 1e6
            for side in (first, second)
            for what in ("seconds", "processor")
        ]
        ratios = figures[2] / figures[0], figures[3] / figures[1]
        cells = [*(f"{figure:,.1f}" for figure in figures), *(f"{ratio:.1f}" for ratio in ratios)]
        print(f"| {(loop.__doc__ or '').rstrip('.')} | {' | '.join(cells)} |")


if __name__ == "__main__":
    if len(sys.argv) == 2:
        run(sys.argv[1])
    else:
        main()
