"""Errors for bad records, for each decoder and each kind of source.

The decoders' own tests list the rejected records. These tests check that the message identifies the
record by file, number and byte, or by its position in the batch if it passed through a queue.
"""

import gzip
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

import headrace.tf1 as tf

IAE, DATA_LOSS = tf.errors.InvalidArgumentError, tf.errors.DataLossError
NO_MESSAGE = b"\xff\xff"
NOT_PARSED = (
    "Could not parse example input, value: '\ufffd\ufffd'. Check that the file contains such "
)


def example(**values: int) -> bytes:
    features = {
        key: tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))
        for key, value in values.items()
    }
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


@dataclass(frozen=True)
class Case:
    """A decoder with a valid and an invalid record.

    Attributes:
        decode: Decodes one record or, if `is_batched`, also a vector of records.
        words: The start of the message for one record.
        words_of_batch: The start of the message for the third record of a vector, if it differs.
    """

    decode: Callable[[tf.Tensor], Any]
    good: bytes
    bad: bytes
    words: str
    error: type[Exception] = IAE
    is_batched: bool = False
    words_of_batch: str | None = None


def parse_batch(records: tf.Tensor) -> Any:
    if records.shape.rank == 0:
        records = tf.expand_dims(records, 0)
    return tf.parse_example(records, {"a": tf.FixedLenFeature([], tf.int64)})


def parse_single(record: tf.Tensor) -> Any:
    return tf.parse_single_example(record, {"a": tf.FixedLenFeature([], tf.int64)})


def parse_sequence(record: tf.Tensor) -> Any:
    return tf.parse_single_sequence_example(record, {"a": tf.VarLenFeature(tf.int64)})


CASES = {
    "decode_csv, a number": Case(
        *(lambda lines: tf.decode_csv(lines, [[0], [""]]), b"1,a", b"x,a"),
        "Field 0 in record 0 is not a valid int32: x. Correct the record, or read the column as ",
        is_batched=True,
        words_of_batch="Field 0 in record 2 is not a valid int32: x.",
    ),
    "decode_csv, a field too many": Case(
        *(lambda lines: tf.decode_csv(lines, [[0]]), b"1", b"1,2"),
        "Expect 1 fields but have 2 in record 0. Correct the record, set a default for",
        is_batched=True,
        words_of_batch="Expect 1 fields but have 2 in record 2.",
    ),
    "decode_raw": Case(
        *(lambda data: tf.decode_raw(data, tf.int16), b"abcd", b"abc"),
        "Input to DecodeRaw has length 3 that is not a multiple of 2, the size of int16. Check ou",
        is_batched=True,
        words_of_batch="DecodeRaw requires input strings to all be the same size, but element 2 ha",
    ),
    "parse_example, no message": Case(
        *(parse_batch, example(a=1), NO_MESSAGE, NOT_PARSED), is_batched=True
    ),
    "parse_example, another feature": Case(
        *(parse_batch, example(a=1), example(b=1)),
        "Name: <unknown>, Feature: a (data type: int64) is required but could not be found. The E",
        is_batched=True,
    ),
    "parse_single_example, no message": Case(parse_single, example(a=1), NO_MESSAGE, NOT_PARSED),
    "parse_single_example, another feature": Case(
        *(parse_single, example(a=1), example(b=1)),
        "Feature: a (data type: int64) is required but could not be found. The Example has: b. Co",
    ),
    "parse_single_sequence_example": Case(parse_sequence, example(a=1), NO_MESSAGE, NOT_PARSED),
    "parse_tensor": Case(
        *(lambda record: tf.parse_tensor(record, tf.int32), b"\x08\x03\x12\0\x3a\x01\x07"),
        *(
            NO_MESSAGE,
            "Could not parse `serialized` as TensorProto: '\ufffd\ufffd'. Pass the comp",
        ),
    ),
    "decode_json_example": Case(
        *(tf.decode_json_example, b"{}", b"[]"),
        "Error while parsing JSON: [] is not an object, got '[]'. Pass one object with",
        is_batched=True,
        words_of_batch="Error while parsing JSON: [] is not an object, got '[]' in element 2.",
    ),
    "decode_compressed": Case(
        *(lambda data: tf.decode_compressed(data, "GZIP"), gzip.compress(b"a"), b"plain text"),
        "inflate() failed with error -3: incorrect header check. It does not look compressed; rea",
        *(DATA_LOSS, True),
    ),
    "string_to_number": Case(
        *(tf.string_to_number, b"1", b"one"),
        "StringToNumberOp could not correctly convert string: one. Correct the record",
        is_batched=True,
    ),
    "string_split": Case(
        *(lambda line: tf.reshape(tf.string_split([line]).values, [2]), b"a b", b"a"),
        "Input to reshape is a tensor with 1 values, but the requested shape has 2",
    ),
    "sparse_tensor_to_dense": Case(
        lambda data: tf.sparse_tensor_to_dense(
            tf.SparseTensor(tf.cast(tf.decode_raw([data], tf.uint8), tf.int64), [7], [9])
        ),
        *(b"\x08", b"\x09"),
        "indices[0] = [9] is out of bounds: need 0 <= index < [9]",
    ),
    "decode_image": Case(
        *(tf.image.decode_image, b"BM" + bytes(50), b"nope"),
        "Unable to decode bytes as JPEG, PNG, GIF, or BMP: Expected image (JPEG, PNG, or GIF), go",
    ),
    "py_func": Case(
        *(lambda record: tf.py_func(lambda text: 1 / int(text), [record], tf.float64), b"1", b"0"),
        *("ZeroDivisionError: ", tf.errors.UnknownError),
    ),
}

every_decoder = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
every_batch_decoder = pytest.mark.parametrize(
    "case", [case for case in CASES.values() if case.is_batched]
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "data.tfrecord"


@pytest.fixture
def names():
    """The queue of file names."""
    return tf.FIFOQueue(9, [tf.string], [[]])


def write(path, records):
    with tf.python_io.TFRecordWriter(path) as writer:
        for record in records:
            writer.write(record)


def error_of(session, case, fetches, words):
    with pytest.raises(case.error) as caught:
        session.run(fetches)
    message = caught.value.message
    assert message.startswith(words)
    return message.split("\n")[0]


@every_decoder
def test_error_names_the_file_record_and_byte_of_one_record(case, path, names):
    write(path, [b"skipped", case.bad])
    record = tf.TFRecordReader().read(names).value
    decoded = case.decode(record)
    with tf.Session() as session:
        session.run(names.enqueue(bytes(path)))
        session.run(record)
        message = error_of(session, case, decoded, case.words)
    assert message.endswith(f" [while reading {path}: record 1 at byte 23]")
    assert "element" not in message


@every_batch_decoder
def test_error_names_the_bad_one_of_several_records(case, path, names):
    write(path, [b"skipped", case.good, case.good, case.bad, case.good])
    one = tf.TFRecordReader()
    record, records = one.read(names).value, one.read_up_to(names, 4).values
    decoded = case.decode(records)
    byte = 23 + 2 * (16 + len(case.good))
    with tf.Session() as session:
        session.run(names.enqueue(bytes(path)))
        session.run(record)
        message = error_of(session, case, decoded, case.words_of_batch or case.words)
    # A Python kernel names the element in its own words.
    if "in element 2" in message:
        assert message.endswith(f" [while reading {path}: records 1 to 4 from byte 23]")
    else:
        assert message.endswith(f" [while reading {path}: record 3 at byte {byte}]")


@every_batch_decoder
def test_error_names_the_batch_element_of_dequeued_records(case, path, names):
    write(path, [case.good, case.good, case.bad])
    records = tf.FIFOQueue(9, [tf.string], [[]])
    enqueue = records.enqueue(tf.TFRecordReader().read(names).value)
    decoded = case.decode(records.dequeue_many(3))
    with tf.Session() as session:
        session.run(names.enqueue(bytes(path)))
        for _ in range(3):
            session.run(enqueue)
        message = error_of(session, case, decoded, case.words_of_batch or case.words)
    assert message.endswith(" [element 2 of the batch]") or " in element 2. " in message


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (NO_MESSAGE, "Name: {key}, Could not parse example input, value: '"),
        (example(b=1), "Name: {key}, Feature: a (data type: int64) is required but could not be"),
    ],
)
def test_keys_identify_the_records_of_a_shuffled_batch(path, names, bad, words):
    write(path, [example(a=1), example(a=2), bad])
    shuffled = tf.RandomShuffleQueue(9, 0, [tf.string, tf.string], [[], []], seed=1)
    enqueue = shuffled.enqueue(tf.TFRecordReader().read(names))
    keys, records = shuffled.dequeue_many(3)
    features = {"a": tf.FixedLenFeature([], tf.int64)}
    parsed = tf.parse_example(records, features, example_names=keys)
    with tf.Session() as session:
        session.run(names.enqueue(bytes(path)))
        for _ in range(3):
            session.run(enqueue)
        byte = 2 * (16 + len(example(a=1)))
        with pytest.raises(IAE) as caught:
            session.run(parsed)
    assert caught.value.message.startswith(words.format(key=f"{path}:{byte}"))
