"""Files that declare absurd sizes.

`python -m stress.files.claims NAME...` tries each, and prints the results.
"""

import gzip
import resource
import struct
import sys
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import headrace as hr
import headrace.tf1 as tf
from headrace.io.atomic_file import AtomicFile
from headrace.io.records import TFRecordWriter
from headrace.protos import TensorProto, TensorShapeProto
from headrace.tf1.protos import BundleEntryProto, BundleHeaderProto
from headrace.tf1.tensor_bundle.sorted_table import write_table

__all__ = ["CLAIMS"]

HUGE = (2**62, 2**40, 2**63 - 1, 2**50 + 1)
# The memory that may be used before a size is rejected.
_MOST_BYTES = 400 << 20

_Call = Callable[[], Any]


def _mask(crc: int) -> int:
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def tfrecord(directory: Path) -> Iterator[_Call]:
    """The length of a record, with a correct checksum."""
    for size in HUGE:
        header = struct.pack("<Q", size)
        path = directory / f"{size}"
        for name, data in (("", header), (".gz", None)):
            full = header + struct.pack("<I", _mask(_crc32c(header))) + b"x" * 100
            target = Path(f"{path}{name}")
            target.write_bytes(full if data else gzip.compress(full))
            yield lambda target=target: list(hr.tfrecords(target))  # type: ignore[misc]
            yield lambda target=target: list(hr.tfrecords(target).shuffle(window=3))  # type: ignore[misc]
            how = "GZIP" if name else ""
            yield lambda target=target, how=how: list(tf.python_io.tf_record_iterator(target, how))  # type: ignore[misc]
        yield lambda path=path: list(hr.tfrecords(path).shuffle())  # type: ignore[misc]


def tar(directory: Path) -> Iterator[_Call]:
    """The size of a file in an archive."""
    for size in (2**62, 2**40, 2**33 - 1):
        member = tarfile.TarInfo("a.txt")
        member.size = size
        path = directory / f"{size}.tar"
        path.write_bytes(member.tobuf(tarfile.PAX_FORMAT if size > 2**33 else tarfile.GNU_FORMAT))
        yield lambda path=path: list(hr.webdataset(path))  # type: ignore[misc]
        yield lambda path=path: list(hr.webdataset(path).shuffle())  # type: ignore[misc]
        packed = directory / f"{size}.tar.gz"
        packed.write_bytes(gzip.compress(path.read_bytes()))
        yield lambda packed=packed: list(hr.webdataset(packed))  # type: ignore[misc]


def _png(width: int, height: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(99))) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def _images() -> Iterator[bytes]:
    for side in (2**31 - 1, 2**24, 65_535, 40_000):
        yield _png(side, side)
        yield b"BM" + struct.pack(
            "<IHHIIiiHHIIiiII", 999, 0, 0, 54, 40, side, side, 1, 24, 0, 0, 0, 0, 0, 0
        )
    frame = struct.pack(">BHHBBBBBBBBB", 8, 65_535, 65_535, 3, 1, 17, 0, 2, 17, 0, 3, 17)
    yield b"\xff\xd8\xff\xc0" + struct.pack(">H", len(frame) + 3) + frame + b"\0" + b"\xff\xd9"
    yield (
        b"GIF89a"
        + struct.pack("<HHBBB", 65_535, 65_535, 0x80, 0, 0)
        + bytes(6)
        + (b"\x2c" + struct.pack("<HHHHB", 0, 0, 65_535, 65_535, 0) + b"\x02\x02\x44\x01\0;")
    )


def images(directory: Path) -> Iterator[_Call]:
    """Width and height in image headers."""
    native = hr.native(lambda example: {"image": hr.ops.decode_image(example["data"])})
    for number, data in enumerate(_images()):
        path = directory / f"{number}"
        path.write_bytes(data)
        yield lambda path=path: list(hr.files(path).map(native))  # type: ignore[misc]
        yield lambda data=data: _evaluated(lambda: tf.image.decode_image(data))  # type: ignore[misc]


def _evaluated(make: Callable[[], Any]) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(make())


def tensors(directory: Path) -> Iterator[_Call]:
    """Shapes in messages of tensors, and lengths of lists in messages of examples."""
    for sizes in ([2**62], [2**40, 2**40], [2**32, 2**32], [-1, 3], [2**62, 4]):
        shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=size) for size in sizes])
        proto = TensorProto(dtype=1, tensor_shape=shape, float_val=[1.0])
        data = proto.SerializeToString()
        yield lambda data=data: _evaluated(lambda: tf.parse_tensor(data, tf.float32))  # type: ignore[misc]


def shapes(directory: Path) -> Iterator[_Call]:
    """Sizes passed to operations."""
    for size in HUGE:
        yield lambda size=size: _evaluated(lambda: tf.zeros([size]) + 1.0)  # type: ignore[misc]
        yield lambda size=size: _evaluated(
            lambda: tf.fill(tf.constant([size, 3], tf.int64), 1.0) + 1.0
        )  # type: ignore[misc]
        yield lambda size=size: _evaluated(lambda: tf.range(tf.constant(size, tf.int64)))  # type: ignore[misc]
        yield lambda size=size: _evaluated(
            lambda: tf.tile([1.0, 2.0], tf.constant([size], tf.int64))
        )  # type: ignore[misc]
        yield lambda size=size: _evaluated(
            lambda: tf.random_uniform(tf.constant([size, 2], tf.int64))
        )  # type: ignore[misc]
        yield lambda size=size: _evaluated(
            lambda: tf.pad([1.0], tf.constant([[size, 0]], tf.int64))
        )  # type: ignore[misc]
        yield lambda size=size: _evaluated(
            lambda: tf.reshape([1.0], tf.constant([size, size], tf.int64))
        )  # type: ignore[misc]
        yield lambda size=size: _evaluated(
            lambda: tf.broadcast_to([1.0], tf.constant([size], tf.int64)) + 1.0
        )  # type: ignore[misc]
    for side in (-1, -(2**40)):
        yield lambda side=side: _evaluated(lambda: tf.zeros([side]))  # type: ignore[misc]
        yield lambda side=side: _evaluated(lambda: tf.tile([1.0], tf.constant([side], tf.int64)))  # type: ignore[misc]
        yield lambda side=side: _evaluated(lambda: tf.fill([side], 1.0))  # type: ignore[misc]


def pipelines(directory: Path) -> Iterator[_Call]:
    """Sizes passed to stages, except those that are only upper bounds."""
    rows = hr.arrays({"n": np.arange(10), "x": np.arange(10.0)})
    ragged = hr.iterable(lambda: ({"l": list(range(n + 1))} for n in range(9)))
    for size in (*HUGE, 2**64, 2**100, -1, 0):
        yield lambda size=size: hr.fixed_length_records(__file__, size)  # type: ignore[misc]
        yield lambda size=size: list(hr.fixed_length_records(__file__, size))  # type: ignore[misc]
        yield lambda size=size: list(rows.batch(size, remainder="pad"))  # type: ignore[misc]
        yield lambda size=size: list(rows.batch(size))  # type: ignore[misc]
        yield lambda size=size: list(rows.shuffle(window=size))  # type: ignore[misc]
        yield lambda size=size: list(ragged.padded_batch(3, multiple_of=size))  # type: ignore[misc]
        yield lambda size=size: list(rows.prefetch(size))  # type: ignore[misc]
        yield lambda size=size: list(rows.skip(size))  # type: ignore[misc]
        yield lambda size=size: list(rows.take(size))  # type: ignore[misc]
        yield lambda size=size: list(ragged.pack(size, ["l"]))  # type: ignore[misc]
        yield lambda size=size: list(ragged.bucket_by_length("l", [size], size=2))  # type: ignore[misc]
        yield lambda size=size: list(rows.options(num_threads=2, memory_bytes=size))  # type: ignore[misc]


def queues(directory: Path) -> Iterator[_Call]:
    """Capacities and numbers of elements."""
    for size in (*HUGE, 2**31 - 1, -1):
        yield lambda size=size: _evaluated(lambda: tf.FIFOQueue(size, [tf.int32], [[]]).size())  # type: ignore[misc]
        yield lambda size=size: _evaluated(lambda: _closed(size))  # type: ignore[misc]
        yield lambda size=size: _evaluated(
            lambda: tf.RandomShuffleQueue(size, 0, [tf.int32], [[]]).size()
        )  # type: ignore[misc]


def _closed(size: int) -> Any:
    queue = tf.FIFOQueue(3, [tf.int32], [[]])
    with tf.control_dependencies([queue.close()]):
        return queue.dequeue_many(size)


def checkpoints(directory: Path) -> Iterator[_Call]:
    """Checkpoint indexes with absurd tensor sizes."""
    for number, size in enumerate(HUGE):
        prefix = str(directory / f"model{number}")
        shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=size)])
        entry = BundleEntryProto(dtype=1, shape=shape, size=min(size, 2**62), offset=0, crc32c=1)
        with AtomicFile(f"{prefix}.index") as index:
            header = BundleHeaderProto(num_shards=1).SerializeToString()
            write_table(index, [(b"", header), (b"v", entry.SerializeToString())])
            index.publish()
        Path(f"{prefix}.data-00000-of-00001").write_bytes(bytes(100))
        yield lambda prefix=prefix: tf.train.load_checkpoint(prefix).get_tensor("v")  # type: ignore[misc]


CLAIMS = {
    claim.__name__: claim
    for claim in (tfrecord, tar, images, tensors, shapes, pipelines, queues, checkpoints)
}
_EXPECTED = (tf.errors.OpError, ValueError, TypeError, OverflowError)


def _try(name: str, number: int, call: _Call) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    outcome = "no error"
    try:
        call()
    except _EXPECTED as error:
        outcome = type(error).__name__
    except BaseException as error:
        print(f"FAILED: {name} number {number}: {type(error).__name__}: {error}"[:400])
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10
    if grown > _MOST_BYTES:
        print(f"FAILED: {name} number {number}: {grown >> 20} MiB were used ({outcome})")
    print(f"tried {name} {number}: {outcome}", flush=True)


if __name__ == "__main__":
    for value in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            for count, claimed in enumerate(CLAIMS[value](Path(folder))):
                _try(value, count, claimed)
        print("next", flush=True)
    with tempfile.NamedTemporaryFile() as file, TFRecordWriter(file.name) as writer:
        writer.write(b"the process goes on")
