"""Damaged files: the records before the damage, and the error with file, record, byte and remedy.

Each kind of file has a table. Files that cannot be opened are in `test_contract.py`, records that
cannot be decoded in `tests/tf1/ops/records/test_bad_records.py`.
"""

import gzip
import itertools
import threading
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tf1.ops.readers.reading import Reading, frame_length, tfrecords

import headrace.tf1 as tf

RECORDS = [b"one", b"two", b"three"]
PLAIN = tfrecords(RECORDS)
HEADER_BYTES = 12
STARTS = list(itertools.accumulate((len(record) + 16 for record in RECORDS), initial=0))
"""Where the records of the file begin, and where it ends."""
GZIP = gzip.compress(PLAIN, mtime=0)
ZLIB = zlib.compress(PLAIN)
COPY = "copy the file again."
CUT = "The file is cut short; copy it again."
LOOKS = {
    "": "It does not look compressed; read it without compression.",
    "GZIP": "It looks like GZIP; set the compression to GZIP.",
    "ZLIB": "It looks like ZLIB; set the compression to ZLIB.",
}
NO_RECORDS = "; is it a TFRecord file, and uncompressed? If it is, copy it again."


def corrupted(offset, record, what, remedy=f"; {COPY}"):
    where = f"corrupted record at {offset} (record {record})"
    return f"{where}: the checksum of its {what} does not match{remedy}"


def truncated(offset, record, length, size):
    where = f"truncated record at {offset} (record {record})"
    return f"{where}: the header claims {length} bytes, past the end of the file ({size}). {CUT}"


def inflating(what, record, offset, remedy="It is damaged; copy it again."):
    where = f"(record {record}, after byte {offset} of the data)"
    return f"inflate() failed with error -3: incorrect {what} check {where}. {remedy}"


def flipped(data, position):
    changed = bytearray(data)
    changed[position] ^= 8
    return bytes(changed)


def outcome(reading, path):
    """Returns the number of records read, and the error after them, without the path."""
    records = []
    while True:
        try:
            records.append(reading.read())
        except tf.errors.OutOfRangeError:
            return len(records), None
        except tf.errors.DataLossError as error:
            text = error.message.split("\n")[0]
            assert text.startswith(f"{path}: ")
            assert reading.text() == text, "a damaged file goes on failing"
            return len(records), text.removeprefix(f"{path}: ")


LONG = tfrecords([b"%05d" % number * 10 for number in range(10_000)])
FAR = corrupted(9_000 * 66 + 12, 9_000, "data")
TFRECORD = {
    "empty": ("", b"", 0, None),
    "a tail too short for a header": ("", PLAIN + bytes(11), 3, None),
    "cut in a header": ("", PLAIN[:-11], 2, None),
    "cut in the data": ("", PLAIN[:-6], 2, truncated(38, 2, 5, "53 bytes")),
    "cut in the last checksum": ("", PLAIN[:-1], 2, truncated(38, 2, 5, "58 bytes")),
    "a flipped bit in the first length": (
        "",
        flipped(PLAIN, 0),
        0,
        corrupted(0, 0, "length", NO_RECORDS),
    ),
    "a flipped bit in a length": ("", flipped(PLAIN, 19), 1, corrupted(19, 1, "length")),
    "a flipped bit in its checksum": ("", flipped(PLAIN, 29), 1, corrupted(19, 1, "length")),
    "a flipped bit in the data": ("", flipped(PLAIN, 32), 1, corrupted(31, 1, "data")),
    "a flipped bit in the last checksum": ("", flipped(PLAIN, 36), 1, corrupted(31, 1, "data")),
    "a huge length": (
        "",
        PLAIN + frame_length(2**63) + b"x" * 20,
        3,
        truncated(59, 3, 2**63, "91 bytes"),
    ),
    "a huge length in GZIP": (
        "GZIP",
        gzip.compress(PLAIN + frame_length(2**63) + b"x" * 20),
        3,
        truncated(59, 3, 2**63, "compressed"),
    ),
    "text": ("", b"id,name\n1,somebody\n", 0, corrupted(0, 0, "length", NO_RECORDS)),
    "unexpected GZIP": ("", GZIP, 0, corrupted(0, 0, "length", f". {LOOKS['GZIP']}")),
    "unexpected ZLIB": ("", ZLIB, 0, corrupted(0, 0, "length", f". {LOOKS['ZLIB']}")),
    "plain read as GZIP": ("GZIP", PLAIN, 0, inflating("header", 0, 0, LOOKS[""])),
    "ZLIB read as GZIP": ("GZIP", ZLIB, 0, inflating("header", 0, 0, LOOKS["ZLIB"])),
    "GZIP read as ZLIB": ("ZLIB", GZIP, 0, inflating("header", 0, 0, LOOKS["GZIP"])),
    "compressed text": (
        "GZIP",
        gzip.compress(b"id,name\n1,somebody\n"),
        0,
        corrupted(0, 0, "length", "; is it a TFRecord file? If it is, copy it again."),
    ),
    "junk after GZIP": ("GZIP", GZIP + b"junk", 3, inflating("header", 3, 59)),
    "junk after ZLIB": ("ZLIB", ZLIB + b"junk", 3, None),
    "a cut end of GZIP": ("GZIP", GZIP[:-5], 3, None),
    "a cut end of ZLIB": ("ZLIB", ZLIB[:-3], 3, None),
    "a cut beginning of GZIP": ("GZIP", GZIP[:5], 0, None),
    "GZIP cut in the data": (
        "GZIP",
        gzip.compress(PLAIN, 0)[:50],
        1,
        truncated(19, 1, 3, "compressed"),
    ),
    "a wrong checksum of GZIP": ("GZIP", flipped(GZIP, -6), 0, inflating("data", 0, 0)),
    "a wrong length of GZIP": ("GZIP", flipped(GZIP, -2), 0, inflating("length", 0, 0)),
    "a wrong checksum of ZLIB": ("ZLIB", flipped(ZLIB, -1), 0, inflating("data", 0, 0)),
    "a flipped bit far into the file": ("", flipped(LONG, 9_000 * 66 + 30), 9_000, FAR),
}


every_damage = pytest.mark.parametrize(
    ("compression", "data", "count", "text"), TFRECORD.values(), ids=TFRECORD
)


@every_damage
def test_damaged_tfrecord_file_fails_after_its_valid_records(
    make_file, reading, compression, data, count, text
):
    path = make_file("a.tfrecord", data)
    assert outcome(reading(lambda: tf.TFRecordReader(options=compression), [path]), path) == (
        count,
        text,
    )


@every_damage
def test_iterator_fails_after_the_valid_records_of_a_damaged_file(
    make_file, compression, data, count, text
):
    path = make_file("a.tfrecord", data)
    records, message = [], None
    try:
        records.extend(tf.python_io.tf_record_iterator(path, compression))
    except tf.errors.DataLossError as error:
        message = error.message.removeprefix(f"{path}: ")
    # The list also contains the records read before an error.
    assert (len(records), message) == (count, text)


@pytest.mark.parametrize("size", range(len(PLAIN)))
def test_tfrecord_file_truncated_at_any_byte_yields_its_complete_records(make_file, reading, size):
    path = make_file("a.tfrecord", PLAIN[:size])
    count = sum(end <= size for end in STARTS[1:])
    start = STARTS[count]
    text = truncated(start, count, len(RECORDS[count]), f"{size} bytes")
    # As in TensorFlow, less than a length and its checksum is not a record.
    expected = (count, text if size - start >= HEADER_BYTES else None)
    assert outcome(reading(tf.TFRecordReader, [path]), path) == expected


@pytest.mark.parametrize("position", range(len(PLAIN)))
def test_any_changed_byte_of_a_tfrecord_file_is_detected(make_file, reading, position):
    path = make_file("a.tfrecord", flipped(PLAIN, position))
    count = sum(end <= position for end in STARTS[1:])
    start = STARTS[count]
    if position < start + HEADER_BYTES:
        remedy = NO_RECORDS if count == 0 else f"; {COPY}"
        text = corrupted(start, count, "length", remedy)
    else:
        remedy = NO_RECORDS if count == 0 else f"; {COPY}"
        text = corrupted(start + HEADER_BYTES, count, "data", remedy)
    assert outcome(reading(tf.TFRecordReader, [path]), path) == (count, text)


# Records of four bytes between a header and a footer of two.
FIXED = {
    "empty": ("", b"", [], "reached end of file after 0 bytes, expected a header of 2 bytes. "),
    "cut in the header": ("", b"h", [], "reached end of file after 1 bytes, expected a header of"),
    "nothing but a header and a footer": ("", b"hhff", [], None),
    "cut in a record": ("", b"hhaaaab", [], None),
    "cut in the footer": ("", b"hhaaaabbbbf", [b"aaaa"], None),
    "a flipped bit": ("", flipped(b"hhaaaaff", 2), [b"iaaa"], None),
    "unexpected GZIP": ("", b"\x1f\x8b" + bytes(10), [bytes(4)] * 2, None),
    "TFRecord": ("", tfrecords([b"abc"])[:8], [b"\0" * 4], None),
    "plain read as GZIP": ("GZIP", b"hhaaaaff", [], inflating("header", 0, 0, LOOKS[""])),
    "GZIP read as ZLIB": (
        *("ZLIB", gzip.compress(b"hhaaaaff"), []),
        inflating("header", 0, 0, LOOKS["GZIP"]),
    ),
    "GZIP cut in the header": (
        *("GZIP", gzip.compress(b"hhaaaaff", 0)[:16], []),
        "reached end of file after 1 bytes, expected a header of 2 bytes. Check header_bytes.",
    ),
    "GZIP cut in a record": (
        *("GZIP", gzip.compress(b"hhaaaabbbbff", 0)[:-12], [b"aaaa"]),
        None,
    ),
    "junk after GZIP": (
        *("GZIP", gzip.compress(b"hhaaaabbbbff") + b"junk", [b"aaaa", b"bbbb"]),
        inflating("header", 2, 12),
    ),
    "a wrong checksum of GZIP": (
        *("GZIP", flipped(gzip.compress(b"hhaaaaff"), -6), []),
        inflating("data", 0, 0),
    ),
    "a wrong checksum of ZLIB": (
        *("ZLIB", flipped(zlib.compress(b"hhaaaaff"), -1), []),
        inflating("data", 0, 0),
    ),
}


@pytest.mark.parametrize(("encoding", "data", "records", "text"), FIXED.values(), ids=FIXED)
def test_damaged_fixed_length_file_fails_after_its_valid_records(
    make_file, reading, encoding, data, records, text
):
    path = make_file("data", data)
    one = reading(lambda: tf.FixedLengthRecordReader(4, 2, 2, encoding=encoding), [path])
    assert [one.read()[1] for _ in records] == records
    # A missing header ends the input, as in TensorFlow.
    error = one.error()
    is_loss = text is not None and "inflate" in text
    assert isinstance(error, tf.errors.DataLossError if is_loss else tf.errors.OutOfRangeError)
    if text is not None:
        assert error.message.startswith(f"{path}: {text}")


TEXT = {
    "empty": (b"", []),
    "no line end at the end": (b"one\ntwo", [b"one", b"two"]),
    "ends of Windows": (b"one\r\ntwo\r\n", [b"one", b"two"]),
    "ends of an old Mac": (b"one\rtwo\r", [b"one\rtwo"]),
    "a mark of the byte order": (b"\xef\xbb\xbfone\n", [b"\xef\xbb\xbfone"]),
    "UTF-16": ("é\n".encode("utf-16-le"), [b"\xe9\0", b"\0"]),
    "no UTF-8": (b"\xff\xfe\n\x80\n", [b"\xff\xfe", b"\x80"]),
    "zeros": (bytes(1000), [bytes(1000)]),
    "GZIP": (GZIP, [line.removesuffix(b"\r") for line in GZIP.split(b"\n")]),
    "TFRecord": (PLAIN, [line.removesuffix(b"\r") for line in PLAIN.split(b"\n")]),
}


@pytest.mark.parametrize(("data", "lines"), TEXT.values(), ids=TEXT)
def test_text_and_whole_files_accept_any_bytes(make_file, reading, data, lines):
    path = make_file("data", data)
    assert [line for _, line in reading(tf.TextLineReader, [path]).read_all()] == lines
    assert [content for _, content in reading(tf.WholeFileReader, [path]).read_all()] == [data]
    assert [name for _, name in reading(tf.IdentityReader, [path]).read_all()] == [bytes(path)]
    with tf.Session() as session:
        assert session.run(tf.read_file(bytes(path))) == data


def test_records_before_the_damage_are_not_lost(make_file, reading):
    one = reading(tf.TFRecordReader, [make_file("a", flipped(PLAIN, 50))])
    assert [value for _, value in one.read_up_to(10)] == RECORDS[:2]
    assert one.counts() == (2, 0)
    assert "corrupted record at 50 (record 2)" in one.text()
    with pytest.raises(tf.errors.DataLossError, match=r"corrupted record at 50 \(record 2\)"):
        one.read_up_to(10)


def test_reset_skips_the_damaged_file(make_file, reading):
    one = reading(tf.TFRecordReader, [make_file("bad", b"x" * 20), make_file("good", PLAIN)])
    one.error()
    one.reset()
    assert [value for _, value in one.read_all()] == RECORDS


def test_damaged_file_fails_the_same_way_in_every_call(make_file, reading):
    one = reading(tf.TFRecordReader, [make_file("bad", flipped(PLAIN, 32)), make_file("a", PLAIN)])
    one.read()
    texts = {one.text() for _ in range(3)}
    with pytest.raises(tf.errors.DataLossError) as caught:
        one.read_up_to(2)
    assert texts == {caught.value.message.split("\n")[0]}
    assert one.counts() == (1, 0)
    assert one.stats().size == 1, "the next name waits"
    one.reset()
    assert one.counts() == (0, 0)
    assert [value for _, value in one.read_all()] == RECORDS
    assert one.counts() == (3, 1)


def test_threads_with_their_own_readers_continue_with_the_next_file(make_file):
    """Reads as in docs/tf1/errors.md: records before the damage, and all of other files."""
    paths, expected = [], []
    for number in range(24):
        data = flipped(PLAIN, 32) if number % 3 == 1 else PLAIN
        paths.append(bytes(make_file(f"file-{number}", data)))
        count = 1 if number % 3 == 1 else len(RECORDS)
        expected += [b"%s:%d" % (paths[-1], start) for start in STARTS[:count]]
    names = tf.FIFOQueue(99, [tf.string], [[]])
    readers = [tf.TFRecordReader() for _ in range(3)]
    reads = [(reader.read(names).key, reader.reset()) for reader in readers]
    seen, left = [], []

    def fill(session, read, reset):
        while True:
            try:
                seen.append(session.run(read))
            except tf.errors.DataLossError as error:
                left.append(error)
                session.run(reset)
            except tf.errors.OutOfRangeError:
                return

    with tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=20_000)) as session:
        session.run(names.enqueue_many([paths]))
        session.run(names.close())
        threads = [threading.Thread(target=fill, args=(session, *read)) for read in reads]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    assert sorted(seen) == sorted(expected)
    assert len(left) == 8


def test_restored_state_reaches_the_same_damage(make_file, reading):
    path = make_file("a", flipped(PLAIN, 32))
    one = reading(tf.TFRecordReader, [path])
    one.read()
    text = one.text()
    other = reading(tf.TFRecordReader)
    other.restore(one.state())
    assert other.text() == text


@given(st.data(), st.sampled_from(["", "GZIP", "ZLIB"]), st.booleans())
def test_any_damage_yields_an_error_or_valid_records(tmp_path_factory, data, compression, is_cut):
    uninterrupted = {"": PLAIN, "GZIP": GZIP, "ZLIB": ZLIB}[compression]
    position = data.draw(st.integers(0, len(uninterrupted) - 1))
    path = tmp_path_factory.mktemp("damaged") / "a"
    path.write_bytes(uninterrupted[:position] if is_cut else flipped(uninterrupted, position))
    one = Reading(lambda: tf.TFRecordReader(options=compression), [path])
    values = []
    try:
        while True:
            values.append(one.read()[1])
    except (tf.errors.DataLossError, tf.errors.OutOfRangeError):
        pass
    finally:
        one.end()
    assert values == RECORDS[: len(values)]
