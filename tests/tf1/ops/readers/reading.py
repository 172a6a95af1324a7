"""Helpers for tests of readers: each kind with its files, and readers in a session."""

import gzip
import os
import threading
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from tests.calls import TIMEOUT, wait_until

import headrace.tf1 as tf
from headrace.tf1.queues import QueueStatistics

COMPRESS = {
    "": lambda data: data,
    "GZIP": lambda data: gzip.compress(data, mtime=0),
    "ZLIB": zlib.compress,
}

Pairs = list[tuple[bytes, bytes]]


@dataclass(frozen=True)
class Kind:
    """A kind of reader with the files it reads.

    Attributes:
        make: Creates the reader.
        write: Creates the bytes of a file from records of four bytes; None if names are records.
        expected: Returns the expected keys and values for a file name and records.
        has_whole_files: Whether a file is a single record.
        first: The name of the first record in errors.
    """

    name: str
    make: Callable[[], tf.ReaderBase]
    write: Callable[[Sequence[bytes]], bytes] | None
    expected: Callable[[bytes, Sequence[bytes]], Pairs]
    has_whole_files: bool = False
    first: str = "record 0"


def tfrecords(records: Sequence[bytes]) -> bytes:
    """A TFRecord file that this test writes without the package."""
    return b"".join(
        frame_length(len(record)) + record + masked_crc32c(record) for record in records
    )


def frame_length(length: int) -> bytes:
    data = length.to_bytes(8, "little")
    return data + masked_crc32c(data)


def _crc32c_of_byte(byte: int) -> int:
    for _ in range(8):
        byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
    return byte


CRC_TABLE = [_crc32c_of_byte(byte) for byte in range(256)]


def masked_crc32c(data: bytes) -> bytes:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = CRC_TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return ((((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF).to_bytes(4, "little")


def _keyed(number: Callable[[int], int]) -> Callable[[bytes, Sequence[bytes]], Pairs]:
    """The key of each record is the file's name and a number."""
    return lambda name, records: [
        (b"%s:%d" % (name, number(index)), record) for index, record in enumerate(records)
    ]


def _fixed(encoding: str) -> Kind:
    return Kind(
        f"fixed length {encoding}",
        lambda: tf.FixedLengthRecordReader(4, 3, 5, 6, encoding=encoding),
        lambda records: COMPRESS[encoding](b"hea" + b"--".join(records) + b"foote"),
        _keyed(lambda index: index),
    )


def _tfrecord(compression: str) -> Kind:
    return Kind(
        f"tfrecord {compression}",
        lambda: tf.TFRecordReader(options=compression),
        lambda records: COMPRESS[compression](tfrecords(records)),
        _keyed(lambda index: 20 * index),
    )


KINDS = [
    Kind(
        "text",
        tf.TextLineReader,
        lambda records: b"".join(record + b"\n" for record in records),
        _keyed(lambda index: index + 1),
        first="line 1",
    ),
    Kind(
        "text with header",
        lambda: tf.TextLineReader(skip_header_lines=2),
        lambda records: b"the\nheader\n" + b"\r\n".join(records),
        _keyed(lambda index: index + 3),
        first="line 3",
    ),
    *(_fixed(compression) for compression in COMPRESS),
    *(_tfrecord(compression) for compression in COMPRESS),
    Kind(
        "whole file",
        tf.WholeFileReader,
        b"".join,
        lambda name, records: [(name, b"".join(records))],
        has_whole_files=True,
    ),
    Kind(
        "identity",
        tf.IdentityReader,
        None,
        lambda name, records: [(name, name)],
        has_whole_files=True,
    ),
]


class Reading:
    """A reader in a session, which reads names from a closed queue.

    Args:
        make: Creates the reader.
        names: The names.
        is_closed: Whether the queue of names is closed.
    """

    def __init__(
        self,
        make: Callable[[], tf.ReaderBase],
        names: Sequence[Any] = (),
        is_closed: bool = True,
    ) -> None:
        self.graph = tf.Graph()
        self._calls: list[threading.Thread] = []
        with self.graph.as_default():
            self.session = tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=20_000))
            self.reader = make()
            self.queue = tf.FIFOQueue(99, [tf.string], [[]])
            self._read = self.reader.read(self.queue)
            self._limit = tf.placeholder(tf.int64, [])
            self._read_up_to = self.reader.read_up_to(self.queue, self._limit)
            self._saved = tf.placeholder(tf.string)
            self._restore = self.reader.restore_state(self._saved)
            self._serialize = self.reader.serialize_state()
            self._reset = self.reader.reset()
            self._counts = [
                self.reader.num_records_produced(),
                self.reader.num_work_units_completed(),
            ]
            self._name = tf.placeholder(tf.string, [])
            self._enqueue = self.queue.enqueue(self._name)
            self._close = self.queue.close()
        for name in names:
            self.add(name)
        if is_closed:
            self.session.run(self._close)

    def add(self, name: Any) -> None:
        self.session.run(self._enqueue, {self._name: os.fsencode(name)})

    def read(self) -> tuple[bytes, bytes]:
        return tuple(self.session.run(self._read))

    def read_up_to(self, limit: int) -> Pairs:
        keys, values = self.session.run(self._read_up_to, {self._limit: limit})
        assert keys.shape == values.shape
        return list(zip(keys, values, strict=True))

    def read_all(self) -> Pairs:
        records = []
        try:
            while True:
                records.append(self.read())
        except tf.errors.OutOfRangeError:
            return records

    def counts(self) -> tuple[int, int]:
        """Records produced and work units completed."""
        return tuple(map(int, self.session.run(self._counts)))

    def state(self) -> bytes:
        return self.session.run(self._serialize)

    def restore(self, state: Any) -> None:
        self.session.run(self._restore, {self._saved: state})

    def reset(self) -> None:
        self.session.run(self._reset)

    def error(self) -> tf.errors.OpError:
        """The error of a read."""
        with pytest.raises(tf.errors.OpError) as caught:
            self.read()
        return caught.value

    def text(self) -> str:
        """The first line of the message of a read's error."""
        return self.error().message.split("\n")[0]

    def blocked(self, function: Callable[[], Any], results: list[Any]) -> threading.Thread:
        """Starts a call in a thread, and returns once it waits for a name."""

        def run() -> None:
            try:
                results.append(function())
            except tf.errors.OpError as error:
                results.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        self._calls.append(thread)
        wait_until(lambda: self.stats().num_waiting_dequeues > 0)
        return thread

    def stats(self) -> QueueStatistics:
        return self.session.queue_statistics(self.queue)

    def end(self) -> None:
        self.session.close()
        for thread in self._calls:
            thread.join(TIMEOUT)
