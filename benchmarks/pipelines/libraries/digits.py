"""Digits in TFRecords, read and parsed by hand: protobuf, then NumPy for a whole batch."""

import struct
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field

LENGTH = struct.Struct("<Q")

MESSAGES: dict[str, dict[str, Any]] = {
    "BytesList": {"value": [Field.TYPE_BYTES]},
    "FloatList": {"value": [Field.TYPE_FLOAT]},
    "Int64List": {"value": [Field.TYPE_INT64]},
    "Feature": {"bytes_list": "BytesList", "float_list": "FloatList", "int64_list": "Int64List"},
    "Entry": {"key": Field.TYPE_STRING, "value": "Feature"},
    "Features": {"feature": ["Entry"]},
    "Example": {"features": "Features"},
}
"""The fields of `tf.train.Example` and of what it holds, in the order of their numbers; a list is a
repeated field. A map is the same on the wire as a repeated entry, and slower to look into."""


@cache
def example_parser() -> Any:
    """Returns what parses a `tf.train.Example`."""
    file = descriptor_pb2.FileDescriptorProto(name="example", package="bench", syntax="proto3")
    for name, fields in MESSAGES.items():
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


def records_of(files: Iterable[str]) -> Iterator[bytes]:
    """Yields the records of TFRecord files. Their check sums are not looked at."""
    for name in files:
        data = Path(name).read_bytes()
        position = 0
        while position < len(data):
            (length,) = LENGTH.unpack_from(data, position)
            yield data[position + 12 : position + 12 + length]
            position += 16 + length


def normalise(images: Sequence[bytes]) -> np.ndarray:
    """Returns images, float32, (n, 784), -0.5 to 0.5, of their bytes."""
    pixels = np.frombuffer(b"".join(images), np.uint8).reshape(-1, 784)
    floats = pixels * np.float32(1 / 255)
    floats -= np.float32(0.5)
    return floats


def parse_digits(records: Sequence[bytes]) -> tuple[np.ndarray, np.ndarray]:
    """Returns images, float32, (n, 784), -0.5 to 0.5, and labels, int64, (n,)."""
    parse = example_parser()
    images, labels = [], []
    for record in records:
        for entry in parse(record).features.feature:
            if entry.key == "image":
                images.append(entry.value.bytes_list.value[0])
            else:
                labels.append(entry.value.int64_list.value[0])
    return normalise(images), np.array(labels)
