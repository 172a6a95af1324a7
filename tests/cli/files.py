"""Helpers for tests of commands: files to read, and functions that call commands."""

import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from click.testing import CliRunner, Result
from PIL import Image

from headrace.cli.commands import headrace
from headrace.io.records import TFRecordWriter, tf_record_iterator
from headrace.protos import Example


def call(*arguments) -> Result:
    """Calls a command in this process."""
    return CliRunner().invoke(headrace, list(map(str, arguments)), prog_name="headrace")


def run(*arguments, cwd=None, **variables) -> subprocess.CompletedProcess:
    """Runs a command in its own process."""
    return subprocess.run(
        [sys.executable, "-m", "headrace", *map(str, arguments)],
        cwd=cwd,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


def example(**features) -> bytes:
    """An `Example` with these features: lists, or single values."""
    message = Example()
    for name, value in features.items():
        values = value if isinstance(value, list) else [value]
        feature = message.features.feature[name]
        if isinstance(values[0], bytes):
            feature.bytes_list.value.extend(values)
        elif isinstance(values[0], float):
            feature.float_list.value.extend(values)
        else:
            feature.int64_list.value.extend(values)
    return message.SerializeToString(deterministic=True)


def write_records(path, records, compression="") -> Path:
    with TFRecordWriter(path, compression) as writer:
        for record in records:
            writer.write(record)
    return Path(path)


def write_numbers(path, count, **more) -> Path:
    """`Example`s whose feature `n` counts from 0."""
    return write_records(path, [example(n=n, **more) for n in range(count)])


def features_of(record) -> dict:
    features = Example.FromString(record).features.feature
    return {
        name: list(getattr(feature, feature.WhichOneof("kind")).value)
        for name, feature in sorted(features.items())
    }


def read_examples(*paths) -> list[dict]:
    return [features_of(record) for path in paths for record in tf_record_iterator(path)]


def numbers_of(*paths) -> list[int]:
    return [one["n"][0] for one in read_examples(*paths)]


def image(kind="PNG", size=(6, 4), seed=0) -> bytes:
    """An image file with random pixels."""
    pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), np.uint8)
    data = io.BytesIO()
    Image.fromarray(pixels).save(data, kind)
    return data.getvalue()


def damage(path, offset) -> None:
    """Changes a byte."""
    data = bytearray(path.read_bytes())
    data[offset] ^= 1
    path.write_bytes(data)
