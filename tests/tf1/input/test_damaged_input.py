"""Bad input to the standard pipeline: `coord.join` raises one clear error, and all threads end."""

import struct

import pytest

import headrace.tf1 as tf

NUM_RECORDS = 20


def serialized(number):
    features = {
        "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[bytes([number]) * 30])),
        "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[number])),
    }
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


def write_records(path, records):
    with tf.python_io.TFRecordWriter(path) as writer:
        for record in records:
            writer.write(record)


@pytest.fixture
def path(tmp_path):
    """A good file of twenty records of equal length."""
    path = tmp_path / "digits.tfrecord"
    write_records(path, [serialized(number) for number in range(NUM_RECORDS)])
    return path


def record_bytes(path):
    """The size of one framed record."""
    return path.stat().st_size // NUM_RECORDS


def train_on(paths, label_dtype=tf.int64, image_size=30, num_threads=2):
    """Runs the training template over files, and returns the examples and the error of `join`."""
    names = tf.train.string_input_producer([str(p) for p in paths], num_epochs=1, shuffle=False)
    _, record = tf.TFRecordReader(name="reader").read(names)
    features = {
        "image": tf.FixedLenFeature((), tf.string),
        "label": tf.FixedLenFeature((), label_dtype),
    }
    example = tf.parse_single_example(record, features, name="parse")
    image = tf.reshape(tf.decode_raw(example["image"], tf.uint8), [image_size], name="image")
    batch = tf.train.batch(
        [image, example["label"]], 1, num_threads, allow_smaller_final_batch=True
    )
    seen = 0
    with tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=20_000)) as session:
        session.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        try:
            while not coord.should_stop():
                session.run(batch)
                seen += 1
        except tf.errors.OutOfRangeError:
            pass  # A failed pipeline also ends like this, and `join` raises the error.
        finally:
            coord.request_stop()
        error = None
        try:
            coord.join(threads, stop_grace_period_secs=10)
        except tf.errors.OpError as caught:
            error = caught
    assert not any(thread.is_alive() for thread in threads)
    return seen, error


def test_valid_files_yield_every_example_and_no_error(path):
    assert train_on([path]) == (NUM_RECORDS, None)


def test_error_for_a_truncated_file_names_record_and_offset(path):
    size = path.stat().st_size
    path.write_bytes(path.read_bytes()[:-10])
    _, error = train_on([path])
    offset = size // NUM_RECORDS * 19
    assert isinstance(error, tf.errors.DataLossError)
    length = size // NUM_RECORDS - 16
    assert error.message.startswith(
        f"{path}: truncated record at {offset} (record 19): the header claims {length} bytes, "
        f"past the end of the file ({size - 10} bytes). The file is cut short; copy it again."
    )
    assert error.op.type == "ReaderReadV2"


def test_error_for_a_flipped_bit_names_record_and_offset(path):
    data = bytearray(path.read_bytes())
    offset = 7 * record_bytes(path) + 12
    data[offset + 5] ^= 0x10
    path.write_bytes(data)
    _, error = train_on([path])
    assert isinstance(error, tf.errors.DataLossError)
    assert error.message.startswith(
        f"{path}: corrupted record at {offset} (record 7): "
        "the checksum of its data does not match; copy the file again."
    )


def test_error_for_a_flipped_bit_in_a_length_names_record_and_offset(path):
    data = bytearray(path.read_bytes())
    offset = 3 * record_bytes(path)
    data[offset] ^= 0x01
    path.write_bytes(data)
    _, error = train_on([path])
    assert error.message.startswith(f"{path}: corrupted record at {offset} (record 3): ")


def test_error_names_a_missing_file(path, tmp_path):
    missing = tmp_path / "missing.tfrecord"
    _, error = train_on([path, missing])
    assert isinstance(error, tf.errors.NotFoundError)
    assert error.message.startswith(f"{missing}; No such file or directory. Check the path")


def test_error_names_a_directory(path, tmp_path):
    _, error = train_on([path, tmp_path])
    assert isinstance(error, tf.errors.FailedPreconditionError)
    assert error.message.startswith(f"{tmp_path}; Is a directory. ")


def test_error_names_a_file_of_the_wrong_format(tmp_path):
    text = tmp_path / "table.csv"
    text.write_text("id,name\n1,somebody\n2,somebody else\n")
    _, error = train_on([text])
    assert isinstance(error, tf.errors.DataLossError)
    assert error.message.startswith(f"{text}: corrupted record at 0 (record 0): ")
    assert "is it a TFRecord file, and uncompressed?" in error.message


def test_error_for_a_wrong_feature_type_names_file_record_and_offset(path):
    _, error = train_on([path], label_dtype=tf.float32, num_threads=1)
    assert isinstance(error, tf.errors.InvalidArgumentError)
    assert "Key: label.  Data types don't match." in error.message
    assert f"[while reading {path}: record 0 at byte 0]" in error.message
    assert error.op.type == "ParseSingleExample"


def test_error_for_a_non_example_record_names_file_record_and_offset(tmp_path):
    path = tmp_path / "mixed.tfrecord"
    records = [serialized(number) for number in range(3)]
    write_records(path, [*records, b"\xff\xff\xff"])
    _, error = train_on([path])
    assert isinstance(error, tf.errors.InvalidArgumentError)
    assert "Could not parse example input" in error.message
    offset = sum(len(record) + 16 for record in records)
    assert f"[while reading {path}: record 3 at byte {offset}]" in error.message


def read_csv(path, reader, defaults):
    """Reads a file of comma-separated values until its first error."""
    names = tf.train.string_input_producer([str(path)], num_epochs=1, shuffle=False)
    _, line = reader.read(names)
    columns = tf.decode_csv(line, defaults)
    with tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=20_000)) as session:
        session.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        rows = []
        try:
            while True:
                rows.append(session.run(columns))
        except tf.errors.OpError as error:
            return rows, error
        finally:
            coord.request_stop()
            coord.join(threads, stop_grace_period_secs=10)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            "3",
            "Expect 2 fields but have 1 in record 0. Correct the record, set a default",
        ),
        ("x,3", "Field 0 in record 0 is not a valid int32: x. Correct the record"),
        (
            '1,"a',
            "Quoted field has to end with quote followed by delim or end: record 0 is '1,\"a'",
        ),
        ("\ufffd,3", "Field 0 in record 0 is not a valid int32: \ufffd. "),
    ],
)
def test_error_for_an_invalid_csv_line_names_file_line_and_offset(tmp_path, line, words):
    path = tmp_path / "table.csv"
    path.write_text(f"1,a\n2,b\n{line}\n4,d\n")
    rows, error = read_csv(path, tf.TextLineReader(), [[0], [""]])
    assert rows == [[1, b"a"], [2, b"b"]]
    assert isinstance(error, tf.errors.InvalidArgumentError)
    assert words in error.message
    assert f"[while reading {path}: line 3 at byte 8]" in error.message
    assert error.op.type == "DecodeCSV"


@pytest.mark.parametrize("asks", [True, False])
def test_should_stop_loop_drops_elements_left_in_the_queue_after_an_error(path, asks):
    """As in docs/tf1/errors.md, and in TensorFlow."""
    records = [b"%d" % number for number in range(10)]
    write_records(path, records)
    path.write_bytes(path.read_bytes()[:-1])
    names = tf.train.string_input_producer([str(path)], num_epochs=1)
    record = tf.TFRecordReader().read(names).value
    batch = tf.train.batch([record], 4, allow_smaller_final_batch=True)
    seen = []
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        assert coord.wait_for_stop(10)
        try:
            while not (asks and coord.should_stop()):
                seen += session.run(batch).tolist()
        except tf.errors.OutOfRangeError:
            assert not asks
        with pytest.raises(tf.errors.DataLossError, match=r"\(record 9\)"):
            coord.join(threads, stop_grace_period_secs=10)
    assert seen == ([] if asks else records[:9])


@pytest.mark.parametrize("limit", [None, 9])
def test_line_numbers_match_text_editors(tmp_path, limit):
    """From 1, with skipped lines, empty lines, and line ends between quotes."""
    path = tmp_path / "table.csv"
    text = '"a name\nof two lines",b\r\n\n1,2\n\r\n3,4\n5,x\n'
    path.write_bytes(text.encode())
    number = text.split("\n").index("5,x") + 1
    names = tf.train.string_input_producer([str(path)], num_epochs=1)
    reader = tf.TextLineReader(skip_header_lines=3)
    key, lines = reader.read(names) if limit is None else reader.read_up_to(names, limit)
    filled = tf.where(tf.equal(lines, ""), tf.fill(tf.shape(lines), "0,0"), lines)
    columns = tf.decode_csv(filled, [[0], [0]])
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        for _ in range(0 if limit else 3):
            session.run([key, *columns])
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            session.run([key, *columns])
        coord.request_stop()
        coord.join(threads, stop_grace_period_secs=10)
    where = f"line {number} at byte {text.index('5,x')}"
    if limit is not None:
        # Not the lines as they were read, but others made of them.
        where = f"lines 4 to {number} from byte {text.index('1,2')}"
    assert f"[while reading {path}: {where}]" in caught.value.message


def test_error_names_a_tfrecord_file_read_as_csv(path):
    _, error = read_csv(path, tf.WholeFileReader(), [[0], [""]])
    assert isinstance(error, tf.errors.InvalidArgumentError)
    assert f"[while reading {path}: record 0 at byte 0]" in error.message


def test_error_for_a_wrong_image_size_names_file_record_and_offset(path):
    _, error = train_on([path], image_size=31, num_threads=1)
    assert isinstance(error, tf.errors.InvalidArgumentError)
    assert "Input to reshape is a tensor with 30 values" in error.message
    assert f"[while reading {path}: record 0 at byte 0]" in error.message
    assert error.op.name == "image"


def test_huge_length_is_rejected_without_allocating_memory(tmp_path):
    path = tmp_path / "huge.tfrecord"
    write_records(path, [b"x"])
    data = bytearray(path.read_bytes())
    data[:8] = struct.pack("<Q", 2**62)
    data[8:12] = struct.pack("<I", masked_crc32c(bytes(data[:8])))
    path.write_bytes(data)
    _, error = train_on([path])
    assert f"the header claims {2**62} bytes, past the end of the file" in error.message


def masked_crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF
