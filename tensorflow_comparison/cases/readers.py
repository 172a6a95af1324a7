"""Readers and files: keys, values, counts and errors, record by record."""

import gzip
import zlib
from pathlib import Path
from typing import Any

from tensorflow_comparison.table import case, generated

COMPRESS = {
    "": bytes,
    "GZIP": lambda data: gzip.compress(data, mtime=0),
    "ZLIB": zlib.compress,
}
TEXTS = [
    b"a\nb\r\nc\r\r\n\nd\0e",
    b"",
    b"\n",
    b"\xef\xbb\xbfx\n\xff\xfe\n\r\n\r",
    b"x\r",
    b"\r\r\ny",
]
LETTERS = bytes(range(65, 91))


def read_all(tf: Any, make: Any, contents: list[Any], directory: Path, limit: int | None) -> Any:
    """The results of reads, with the counts after them.

    Of files with these contents, or of names.
    """
    names = []
    for number, data in enumerate(contents):
        if isinstance(data, bytes):
            (directory / f"file-{number}").write_bytes(data)
            names.append(str(directory / f"file-{number}"))
        else:
            names.append(data)
    reader = make()
    queue = tf.FIFOQueue(99, [tf.string], [[]])
    enqueue, close = queue.enqueue_many([names]), queue.close()
    read = reader.read(queue) if limit is None else reader.read_up_to(queue, limit)
    counts = [reader.num_records_produced(), reader.num_work_units_completed()]
    seen: list[Any] = []
    with tf.Session() as session:
        session.run(enqueue)
        session.run(close)
        for _ in range(40):
            try:
                key, value = session.run(read)
                seen.append((without(directory, key), value, session.run(counts)))
            except tf.errors.OpError as error:
                seen.append((error.error_code, session.run(counts)))
                if "is closed and has insufficient elements" in str(error) or len(seen) > 30:
                    break
    return seen


def without(directory: Path, keys: Any) -> Any:
    """Keys without the name of the directory."""
    if isinstance(keys, bytes):
        return keys.replace(bytes(directory), b"")
    return [key.replace(bytes(directory), b"") for key in keys]


@case(*[(skip, limit) for skip in (0, 1, 4) for limit in (None, 2)], with_files=True)
def lines(tf: Any, skip: int, limit: int | None, directory: Path) -> Any:
    """Text files with all kinds of line ends."""
    return read_all(tf, lambda: tf.TextLineReader(skip), TEXTS, directory, limit)


@generated("texts", with_files=True)
def lines_of_any_text(tf: Any, text: bytes, directory: Path) -> Any:
    """Texts that hypothesis makes up."""
    return read_all(tf, tf.TextLineReader, [text], directory, None)


@generated("fixed_lengths", with_files=True)
def records_of_any_length(
    tf: Any, sizes: tuple[int, int, int, int], length: int, encoding: str, directory: Path
) -> Any:
    """Headers, footers, hops, compression."""
    data = COMPRESS[encoding](bytes(index % 251 for index in range(length)))
    record, header, footer, hop = sizes

    def make() -> Any:
        return tf.FixedLengthRecordReader(record, header, footer, hop, encoding=encoding)

    return read_all(tf, make, [data, COMPRESS[encoding](LETTERS)], directory, None)


@case(
    *[(name, limit) for name in ("WholeFileReader", "IdentityReader") for limit in (None, 2)],
    with_files=True,
)
def whole_files(tf: Any, name: str, limit: int | None, directory: Path) -> Any:
    """Files and names that are records themselves."""
    contents = [b"one", b"", b"two"] if name == "WholeFileReader" else ["one", "", "two"]
    return read_all(tf, getattr(tf, name), contents, directory, limit)


def damaged_records(directory: Path, tf: Any, compression: str) -> list[bytes]:
    """A TFRecord file that is cut short, or in which a bit is flipped."""
    path = str(directory / "whole")
    with tf.python_io.TFRecordWriter(path) as writer:
        for record in (b"one", b"two", b"three"):
            writer.write(record)
    data = (directory / "whole").read_bytes()
    spoiled = [
        data,
        data[:-11],
        data[:-6],
        data + bytes(11),
        data[:10],
        b"",
        b"some text, no record",
    ]
    for position in (0, 9, 13, 17, 19, 31, 50, 58):
        changed = bytearray(data)
        changed[position] ^= 4
        spoiled.append(bytes(changed))
    packed = [COMPRESS[compression](each) for each in spoiled]
    if compression:
        uninterrupted = COMPRESS[compression](data)
        packed += [
            uninterrupted[: len(uninterrupted) // 2],
            uninterrupted[:-4],
            uninterrupted[:5],
            uninterrupted + uninterrupted,
            uninterrupted + b"junk",
            data,
        ]
    return packed


@case(*[(compression, number) for compression in COMPRESS for number in range(15)], with_files=True)
def tfrecords(tf: Any, compression: str, number: int, directory: Path) -> Any:
    """TFRecord files, good and damaged, through a reader and the iterator."""
    data = damaged_records(directory, tf, compression)[number]
    options = tf.python_io.TFRecordOptions(compression)
    seen = read_all(tf, lambda: tf.TFRecordReader(options=options), [data], directory, None)
    records: list[Any] = []
    try:
        records.extend(tf.python_io.tf_record_iterator(str(directory / "file-0"), options))
    except tf.errors.OpError as error:
        records.append(error.error_code)
    return seen, records


def after_damage(tf: Any, position: int, limit: int | None, directory: Path) -> Any:
    """The reads of a damaged file and, after two errors and a reset, of the next one."""
    good, bad = directory / "good", directory / "bad"
    with tf.python_io.TFRecordWriter(str(good)) as writer:
        for record in (b"one", b"two", b"three"):
            writer.write(record)
    data = bytearray(good.read_bytes())
    if position < 0:
        del data[position:]
    else:
        data[position] ^= 4
    bad.write_bytes(data)
    reader = tf.TFRecordReader()
    queue = tf.FIFOQueue(9, [tf.string], [[]])
    enqueue, close = queue.enqueue_many([[str(bad), str(good)]]), queue.close()
    value = reader.read(queue).value if limit is None else reader.read_up_to(queue, limit).values
    counts = [reader.num_records_produced(), reader.num_work_units_completed(), queue.size()]
    reset = reader.reset()
    seen: list[Any] = []
    with tf.Session() as session:
        session.run(enqueue)
        session.run(close)
        num_errors = 0
        for _ in range(12):
            try:
                seen.append(session.run(value))
            except tf.errors.OpError as error:
                seen.append(error.error_code)
                num_errors += 1
            seen.append(session.run(counts))
            if num_errors == 2:
                session.run(reset)
    return seen


DAMAGE = (0, 9, 13, 17, 19, 32, 50, 58, -1, -6, -12)


@case(*[(position,) for position in DAMAGE], with_files=True)
def read_on_after_damage(tf: Any, position: int, directory: Path) -> Any:
    """A reader continues failing until it is reset, and then takes the next file."""
    return after_damage(tf, position, None, directory)


@case((0,), (19,), (32,), (-6,), with_files=True)
def several_read_on_after_damage(tf: Any, position: int, directory: Path) -> Any:
    """The same of several records at once."""
    return after_damage(tf, position, 10, directory)


@case((True,), (False,), with_files=True)
def consumed_after_damage(tf: Any, asks: bool, directory: Path) -> Any:
    """The rest of the queue when a reader fails, for a loop that asks if it should stop."""
    path = directory / "bad"
    with tf.python_io.TFRecordWriter(str(path)) as writer:
        for number in range(5):
            writer.write(b"%d" % number)
    path.write_bytes(path.read_bytes()[:-1])
    names = tf.train.string_input_producer([str(path)], num_epochs=1)
    record = tf.train.batch([tf.TFRecordReader().read(names).value], 1)
    seen: list[Any] = []
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        coord.wait_for_stop()
        try:
            while not (asks and coord.should_stop()):
                seen.append(session.run(record))
        except tf.errors.OpError as error:
            seen.append(error.error_code)
        try:
            coord.join(threads)
        except tf.errors.OpError as error:
            seen.append(error.error_code)
    return seen


@case(("TFRecordWriter",), ("GFile",))
def written_to_a_full_disk(tf: Any, name: str) -> Any:
    """The calls that fail when there is no room."""
    if name == "GFile":
        file, data = tf.gfile.GFile("/dev/full", "w"), "x" * 1_000_000
    else:
        file, data = tf.python_io.TFRecordWriter("/dev/full"), b"x" * 1_000_000
    seen = []
    for method, *arguments in (("write", data), ("flush",), ("write", data), ("close",)):
        try:
            getattr(file, method)(*arguments)
            seen.append("done")
        except tf.errors.OpError as error:
            seen.append(error.error_code)
    return seen


@case(
    *[(compression, number) for compression in ("GZIP", "ZLIB") for number in range(6)],
    with_files=True,
)
def damaged_compression(tf: Any, compression: str, number: int, directory: Path) -> Any:
    """A damaged compressed file, and strings like it."""
    data = damaged_records(directory, tf, compression)[15 + number]
    options = tf.python_io.TFRecordOptions(compression)
    seen = read_all(tf, lambda: tf.TFRecordReader(options=options), [data], directory, None)
    path = str(directory / "file-0")
    decoded = tf.decode_compressed(tf.read_file(path), compression)
    with tf.Session() as session:
        try:
            return seen, session.run(decoded)
        except tf.errors.OpError as error:
            return seen, error.error_code


@case(
    *[(name,) for name in ("WholeFileReader", "IdentityReader")],
    with_files=True,
)
def states(tf: Any, name: str, directory: Path) -> Any:
    """States saved after each read, and restored: good ones and junk."""
    for item in ("one", "two"):
        (directory / item).write_text(item)
    items = [str(directory / item) for item in ("one", "two")]
    reader = getattr(tf, name)()
    queue = tf.FIFOQueue(9, [tf.string], [[]])
    enqueue, read, save = queue.enqueue_many([items]), reader.read(queue), reader.serialize_state()
    tensor = tf.placeholder(tf.string)
    restore = reader.restore_state(tensor)
    counts = [reader.num_records_produced(), reader.num_work_units_completed()]
    seen: list[Any] = []
    with tf.Session() as session:
        session.run(enqueue)
        seen.append(session.run(save))
        session.run(read)
        saved = session.run(save)
        session.run(read)
        for state in (
            *(saved, b"", b"junk", b"\xff", b"\x08", b"\x08\x02\x10\x01", b"\x08\x01\x10\x02"),
            *(
                b"\x08" + b"\xff" * 9 + b"\x01",
                b"\x08\x01\x10\x01\x18\x09\x22\x01QH\x07",
                b'"\x05a',
            ),
        ):
            try:
                session.run(restore, {tensor: state})
                seen.append(session.run(save).replace(bytes(directory), b"x" * len(str(directory))))
            except tf.errors.OpError as error:
                seen.append(error.error_code)
            seen.append(session.run(counts))
    return seen


PATTERNS = [
    *("*", "*.txt", "a?.txt", "a[12].txt", "a[!1].txt", "a[^1].txt", "a[1-2].txt", "a[2-1].txt"),
    *("a[-1].txt", "a[", "[]a]*", r"[\]]x", "?", "*/x.txt", "d?/*", "**/x.txt", "{a1,b}.txt"),
    *(
        "[[]z].txt",
        r"\[z].txt",
        r"st\*r",
        r"*\*r",
        "d1",
        "d1/",
        "",
        "a1.txt",
        "nope*",
        "nope/*",
        ".*",
    ),
    *("/a1.txt", "*/", "./a*.txt", "d*/../a1.txt", r"d1\/*"),
]


@case(*[(pattern,) for pattern in PATTERNS], with_files=True)
def matching_files(tf: Any, pattern: str, directory: Path) -> Any:
    """Patterns of file names."""
    names = ["a1.txt", "a2.txt", "b.txt", ".hid", "d1/x.txt", "d2/x.txt", "d1/y", "[z].txt", "st*r"]
    for name in [*names, "]x"]:
        path = directory / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    result = tf.matching_files(f"{directory}/{pattern}")
    with tf.Session() as session:
        return without(directory, session.run(result))


@case(
    *[(name,) for name in ("read_file", "write_file")],
    with_files=True,
)
def files(tf: Any, name: str, directory: Path) -> Any:
    """Whole files, and the errors for paths that are not files."""
    (directory / "file").write_bytes(b"\0x\n")
    seen = []
    for path in ("file", "no", "", "file/x", "new/a/b", "new/a"):
        full = str(directory / path) if path else ""
        op = tf.read_file(full) if name == "read_file" else tf.write_file(full, b"written")
        with tf.Session() as session:
            try:
                seen.append(session.run(op))
            except tf.errors.OpError as error:
                seen.append(error.error_code)
    return seen
