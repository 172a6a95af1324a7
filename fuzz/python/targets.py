"""A function for each parser in Python that takes any bytes.

atheris calls it with what it makes up, and an ordinary test with the files of `fuzz/corpus`. Each
either works, or raises what its documentation says; whatever else is raised is a fault.
"""

import json
import struct
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import numpy as np
from click.testing import CliRunner

import headrace as hr
import headrace.tf1 as tf
from headrace.cli.commands import headrace as command
from headrace.core.errors import OpError
from headrace.tf1 import checkpoint as checkpoints
from headrace.tf1.events import summary_iterator
from headrace.tf1.saver.reader import CheckpointReader
from headrace.tf1.saver.state import get_checkpoint_state
from headrace.tf1.tensor_bundle.encoding import masked_crc32c, read_varint

__all__ = ["TARGETS"]

_MEMORY: Final = Path("/dev/shm")
_HEADER_BYTES: Final = 12
_FOOTER_BYTES: Final = 48


@contextmanager
def _directory() -> Iterator[Path]:
    """Gives a directory, in memory where the system has such a place."""
    with tempfile.TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else None) as path:
        yield Path(path)


def checkpoint(data: bytes) -> None:
    """The index of a checkpoint and its tensors: two bytes of length, the index, the data.

    The checksums of the index are made right first.
    """
    length = int.from_bytes(data[:2], "little")
    index, values = bytearray(data[2 : 2 + length]), data[2 + length :]
    _correct_blocks(index)
    with _directory() as directory:
        (directory / "c.index").write_bytes(index)
        (directory / "c.data-00000-of-00001").write_bytes(values)
        with suppress(OpError):
            _read_tensors(CheckpointReader(directory / "c"))


def _read_tensors(reader: CheckpointReader) -> None:
    with suppress(OpError):
        reader.get_variable_to_dtype_map()
        reader.debug_string()
    for name in reader.get_variable_to_shape_map():
        with suppress(OpError):
            reader.get_tensor(name)


def _correct_blocks(index: bytearray) -> None:
    """Makes the checksums of a table right, for as long as its handles lead to blocks."""
    with suppress(ValueError, struct.error):
        footer = bytes(index[-_FOOTER_BYTES:])
        position = 0
        for _ in range(2):
            offset, position = read_varint(footer, position)
            size, position = read_varint(footer, position)
            block = _correct_block(index, offset, size)
        at = 0
        while at < len(block):
            _, at = read_varint(block, at)
            num_key, at = read_varint(block, at)
            num_value, at = read_varint(block, at)
            start = at + num_key
            offset, behind = read_varint(block, start)
            _correct_block(index, offset, read_varint(block, behind)[0])
            at = start + num_value


def _correct_block(index: bytearray, offset: int, size: int) -> bytes:
    end = offset + size
    if end + 5 > len(index):
        raise ValueError("no block is there")
    struct.pack_into("<I", index, end + 1, masked_crc32c(bytes(index[offset : end + 1])))
    return bytes(index[offset:end])


def _correct_records(data: bytes) -> bytes:
    """Makes the checksums of a TFRecord file right, for as long as its lengths are."""
    file, at = bytearray(data), 0
    while at + _HEADER_BYTES <= len(file):
        (length,) = struct.unpack_from("<Q", file, at)
        struct.pack_into("<I", file, at + 8, masked_crc32c(bytes(file[at : at + 8])))
        start, end = at + _HEADER_BYTES, at + _HEADER_BYTES + length
        if end + 4 > len(file):
            break
        struct.pack_into("<I", file, end, masked_crc32c(bytes(file[start:end])))
        at = end + 4
    return bytes(file)


def events(data: bytes) -> None:
    """An event file, whose checksums are made right first."""
    with _directory() as directory:
        path = directory / "events.out.tfevents.0.x"
        path.write_bytes(_correct_records(data))
        with suppress(OpError):
            for event in summary_iterator(path):
                str(event)


def session_checkpoint(data: bytes) -> None:
    """A checkpoint of a session, whose checksums are made right first."""
    with _directory() as directory, _Session() as session:
        path = directory / "session.ckpt"
        path.write_bytes(_correct_records(data))
        with suppress(OpError):
            checkpoints.restore(session, path)


class _Session:
    """A session with a queue, a reader, a variable and random numbers."""

    def __enter__(self) -> Any:
        with tf.Graph().as_default() as graph:
            queue = tf.FIFOQueue(4, [tf.int64, tf.string], shapes=[[], []], name="queue")
            queue.enqueue([tf.constant(1, tf.int64), tf.constant("x")], name="enqueue")
            tf.TextLineReader(name="reader").read(tf.FIFOQueue(4, [tf.string], name="names"))
            tf.get_variable("v", shape=[2], initializer=tf.zeros_initializer())
            tf.random_uniform([2], seed=3, name="random")
            self._init = tf.global_variables_initializer()
        self._session = tf.Session(graph=graph)
        return self._session

    def __exit__(self, *_: object) -> None:
        self._session.close()


def checkpoint_list(data: bytes) -> None:
    """The file that lists the checkpoints of a directory."""
    with _directory() as directory:
        (directory / "checkpoint").write_bytes(data)
        with suppress(OpError, ValueError):
            get_checkpoint_state(directory)


def pipeline_state(data: bytes) -> None:
    """The state of a pipeline as JSON. Its checksum is made right first."""
    try:
        state = json.loads(data)
    except (ValueError, RecursionError):
        return
    if isinstance(state, dict) and "checksum" in state:
        content = {key: value for key, value in state.items() if key != "checksum"}
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), default=repr)
        state["checksum"] = zlib.crc32(text.encode())
    with suppress(ValueError, TypeError, OpError), _PIPELINE.resume(state) as batches:
        for _ in zip(range(20), batches, strict=False):
            pass


def _is_kept(example: Any) -> bool:
    return bool(example["x"] % 3)


# States of it are in the corpus.
_PIPELINE: Final = (
    hr.arrays({"x": np.arange(30)}).shuffle(window=7, seed=3).filter(_is_kept).epochs(2).batch(4)
)


def inspect(data: bytes) -> None:
    """Any file, as `headrace inspect` shows it: a letter for its name, and its bytes."""
    name = _NAMES[data[0] % len(_NAMES)] if data else _NAMES[0]
    with _directory() as directory:
        path = directory / name
        path.write_bytes(data[1:])
        result = CliRunner().invoke(command, ["inspect", str(path)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception


_NAMES: Final = ("file", "a.tfrecord", "a.csv", "a.jsonl", "a.tar", "a.index", "a.meta", "a.json")

TARGETS: Final[dict[str, Callable[[bytes], None]]] = {
    target.__name__: target
    for target in (
        checkpoint,
        checkpoint_list,
        events,
        inspect,
        pipeline_state,
        session_checkpoint,
    )
}
