"""Large files need no more memory than small ones, and states outlive a process."""

import gzip
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.tf1.ops.readers.reading import COMPRESS, frame_length, tfrecords

from headrace.core import engine

MEBIBYTE = 2**20
RECORD_BYTES = 4 * MEBIBYTE
NUM_RECORDS = 64
MAX_GROWTH_BYTES = 64 * MEBIBYTE

# Reads a file, and prints its size and the memory growth of the process after the first records.
READ_ALL = """
import resource, sys
import headrace.tf1 as tf
reader = eval(sys.argv[1])
queue = tf.FIFOQueue(1, [tf.string], [[]])
_, values = reader.read_up_to(queue, 2)
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
with tf.Session() as session:
    session.run(queue.enqueue(sys.argv[2]))
    session.run(queue.close())
    total, before = sum(map(len, session.run(values))), peak()
    try:
        while True:
            total += sum(map(len, session.run(values)))
    except tf.errors.OutOfRangeError:
        print(total, peak() - before)
"""

# Reads one more record after a state, and prints it and the next state.
READ_ONE = """
import sys
import headrace.tf1 as tf
reader = eval(sys.argv[1])
queue = tf.FIFOQueue(1, [tf.string], [[]])
read = reader.read(queue)
restore, save = reader.restore_state(bytes.fromhex(sys.argv[2])), reader.serialize_state()
with tf.Session() as session:
    session.run(restore)
    print(*session.run(read), session.run(save).hex().encode())
"""

# Passes inputs of absurd sizes to operations, and prints the error classes and the memory growth.
CLAIM_MUCH = """
import resource, sys
import headrace.tf1 as tf
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
names = tf.FIFOQueue(9, [tf.string], [[]])
plain, packed = sys.argv[1:]
example = b"\\x0a\\xff\\xff\\xff\\xff\\x0f" * 2 + b"\\x0a\\xff\\xff\\xff\\xff\\x7f"
tensor = b"\\x08\\x03\\x12\\x08\\x12\\x06\\x08\\x80\\x80\\x80\\x80\\x7f"
claims = [
    (tf.TFRecordReader().read(names), plain),
    (tf.TFRecordReader(options="GZIP").read(names), packed),
    (tf.FixedLengthRecordReader(2**40).read(names), plain),
    (tf.FixedLengthRecordReader(2**40, encoding="GZIP").read(names), packed),
    (tf.FixedLengthRecordReader(1, 2**40, encoding="GZIP").read(names), packed),
    (tf.TextLineReader(skip_header_lines=2**40).read(names), plain),
    (tf.parse_single_example(example, {"a": tf.VarLenFeature(tf.int64)}), None),
    (tf.parse_tensor(tensor, tf.int32), None),
    (tf.sparse_tensor_to_dense(tf.SparseTensor([[0]], [1], [2**45])), None),
]
with tf.Session() as session:
    session.run(tf.constant(0))
    before = peak()
    for fetches, name in claims:
        if name is not None:
            session.run(names.enqueue(name))
        try:
            session.run(fetches, options=tf.RunOptions(timeout_in_ms=500))
        except tf.errors.OpError as error:
            print(type(error).__name__)
    print(peak() - before)
"""


# Reads a larger file with little memory, and prints the class and text of the error.
READ_WITH_LITTLE = """
import resource, sys
import headrace.tf1 as tf
names = tf.FIFOQueue(1, [tf.string], [[]])
fetches = eval(sys.argv[1])
with tf.Session() as session:
    session.run(names.enqueue(sys.argv[2]))
    pages = int(open("/proc/self/statm").read().split()[0])
    limit = pages * resource.getpagesize() + 2**28
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    try:
        session.run(fetches)
    except tf.errors.OpError as error:
        print(type(error).__name__, error.message.splitlines()[0], sep="\\n")
"""


def run(program: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert not done.returncode, done.stderr
    return done.stdout


def write_sparse(path: Path, parts: list[tuple[int, bytes]], size: int) -> None:
    """Writes parts at their offsets. The gaps between them use no disk space."""
    with path.open("wb") as file:
        for offset, part in parts:
            file.seek(offset)
            file.write(part)
        file.truncate(size)


def text_lines(path: Path) -> None:
    ends = [(RECORD_BYTES * number - 1, b"\n") for number in range(1, NUM_RECORDS + 1)]
    write_sparse(path, ends, RECORD_BYTES * NUM_RECORDS)


def fixed_records(path: Path) -> None:
    write_sparse(path, [], RECORD_BYTES * NUM_RECORDS)


def gzip_records(path: Path) -> None:
    path.write_bytes(gzip.compress(bytes(RECORD_BYTES)) * NUM_RECORDS)


def tf_records(path: Path) -> None:
    size = RECORD_BYTES + 16
    crc = engine.crc32c(bytes(RECORD_BYTES))
    masked = (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF
    header, footer = tfrecords([b"x" * RECORD_BYTES])[:12], masked.to_bytes(4, "little")
    parts = []
    for start in range(0, size * NUM_RECORDS, size):
        parts += [(start, header), (start + size - 4, footer)]
    write_sparse(path, parts, size * NUM_RECORDS)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("write", "reader", "record_bytes"),
    [
        (text_lines, "tf.TextLineReader()", RECORD_BYTES - 1),
        (fixed_records, f"tf.FixedLengthRecordReader({RECORD_BYTES})", RECORD_BYTES),
        (
            gzip_records,
            f"tf.FixedLengthRecordReader({RECORD_BYTES}, encoding='GZIP')",
            RECORD_BYTES,
        ),
        (tf_records, "tf.TFRecordReader()", RECORD_BYTES),
    ],
    ids=["text", "fixed length", "fixed length GZIP", "tfrecord"],
)
def test_large_file_needs_no_more_memory_than_its_records(tmp_path, write, reader, record_bytes):
    write(tmp_path / "large")
    total, growth = map(int, run(READ_ALL, reader, str(tmp_path / "large")).split())
    assert total == record_bytes * NUM_RECORDS
    assert growth < MAX_GROWTH_BYTES


@pytest.mark.nightly
def test_bytes_between_records_are_not_read(tmp_path):
    path = tmp_path / "huge"
    write_sparse(path, [], 2**40)
    reader = f"tf.FixedLengthRecordReader(8, hop_bytes={2**32})"
    total, growth = map(int, run(READ_ALL, reader, str(path)).split())
    assert total == 8 * 2**40 // 2**32
    assert growth < MAX_GROWTH_BYTES


def test_record_that_claims_a_huge_length_needs_no_memory(tmp_path):
    plain, packed = tmp_path / "plain", tmp_path / "packed"
    plain.write_bytes(frame_length(2**40) + b"data")
    packed.write_bytes(gzip.compress(frame_length(2**40) + b"data"))
    *errors, growth = run(CLAIM_MUCH, str(plain), str(packed)).split()
    # After a file without records, no further name arrives, so the call times out.
    end = "DeadlineExceededError"
    assert errors == [
        *("DataLossError", "DataLossError", end, end, "OutOfRangeError", end),
        *("InvalidArgumentError", "InvalidArgumentError", "ResourceExhaustedError"),
    ]
    assert int(growth) < MAX_GROWTH_BYTES


def zeros(path: Path) -> None:
    write_sparse(path, [], 2**32)


def packed_zeros(path: Path) -> None:
    path.write_bytes(gzip.compress(bytes(RECORD_BYTES)) * 1024)


def packed_record(path: Path) -> None:
    path.write_bytes(gzip.compress(frame_length(2**40)) + gzip.compress(bytes(RECORD_BYTES)) * 1024)


@pytest.mark.parametrize(
    ("write", "fetches", "text"),
    [
        (
            zeros,
            "tf.TextLineReader().read(names)",
            "PATH: line 1 does not end within [0-9]+ bytes: ",
        ),
        (
            zeros,
            "tf.FixedLengthRecordReader(2**32).read(names)",
            "PATH: record 0, after byte [0-9]+ of the data: 4294967296 bytes do not fit",
        ),
        (
            zeros,
            "tf.WholeFileReader().read(names)",
            "PATH: the system cannot allocate 4294967296 bytes",
        ),
        (zeros, "tf.read_file(sys.argv[2])", "PATH: the system cannot allocate 4294967296 bytes"),
        (
            packed_zeros,
            "tf.decode_compressed(tf.read_file(sys.argv[2]), 'GZIP')",
            "[0-9]+ bytes were inflated to [0-9]+ so far: ",
        ),
        (
            packed_record,
            "tf.TFRecordReader(options='GZIP').read(names)",
            "PATH: record 0, after byte [0-9]+ of the data: 1099511627776 bytes do not fit",
        ),
    ],
    ids=[
        *("line", "fixed length", "whole file", "read_file", "decode_compressed"),
        "tfrecord GZIP",
    ],
)
def test_record_too_large_for_memory_ends_only_the_run(tmp_path, write, fetches, text):
    path = tmp_path / "large"
    write(path)
    printed = run(READ_WITH_LITTLE, fetches, str(path)).splitlines()
    assert printed[0] == "ResourceExhaustedError"
    assert re.match(text.replace("PATH", re.escape(str(path))), printed[1]), printed[1]
    assert "Use less memory" in printed[1]


@pytest.mark.parametrize(
    ("reader", "data"),
    [
        ("tf.TextLineReader(1)", b"header\none\ntwo\nsix"),
        ("tf.FixedLengthRecordReader(3, 2, encoding='ZLIB')", COMPRESS["ZLIB"](b"..onetwosix")),
        (
            "tf.TFRecordReader(options='GZIP')",
            COMPRESS["GZIP"](tfrecords([b"one", b"two", b"six"])),
        ),
    ],
    ids=["text", "fixed length", "tfrecord"],
)
def test_each_record_can_be_read_by_another_process(tmp_path, reader, data, reading):
    path = tmp_path / "data"
    path.write_bytes(data)
    one = reading(lambda: eval(reader, {"tf": sys.modules["headrace.tf1"]}), [path])
    assert one.read()[1] == b"one"
    state = one.state()
    for expected in ("two", "six"):
        _, value, state = run(READ_ONE, reader, state.hex()).split()
        assert value == f"b'{expected}'"
        state = bytes.fromhex(state[2:-1])
    one.restore(state)
    assert one.counts() == (3, 0)
    assert one.read_all() == []
    assert one.counts() == (3, 1)
