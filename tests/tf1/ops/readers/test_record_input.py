"""Record inputs: shuffled records of files, epoch after epoch."""

import os
from functools import partial
from itertools import chain

import pytest
from tests.calls import Call

import headrace.tf1 as tf
from headrace.tf1 import checkpoint

RecordInput = tf.contrib.framework.RecordInput


@pytest.fixture
def session():
    with tf.Session() as session:
        yield session


@pytest.fixture
def pattern(tmp_path):
    """Five files with 0, 7, 14, 21 and 28 records: "FILE NUMBER"."""
    for file in range(5):
        write(tmp_path / f"part-{file}", file, 7 * file)
    return str(tmp_path / "part-*")


def write(path, file, count, compression=""):
    with tf.python_io.TFRecordWriter(str(path), compression) as writer:
        for number in range(count):
            writer.write(f"{file} {number}".encode())


RECORDS = sorted(f"{file} {number}".encode() for file in range(5) for number in range(7 * file))


def batches(session, count, records):
    return [session.run(records).tolist() for _ in range(count)]


@pytest.mark.parametrize("parallelism", [1, 2, 9])
@pytest.mark.parametrize("buffer_size", [1, 10, 1000])
def test_each_epoch_has_all_records(session, pattern, parallelism, buffer_size):
    records = RecordInput(pattern, 10, buffer_size, parallelism, seed=3).get_yield_op()
    epochs = [list(chain(*batches(session, 7, records))) for _ in range(3)]
    assert [sorted(epoch) for epoch in epochs] == [RECORDS] * 3
    assert epochs[0] != epochs[1] != epochs[2]


def test_order_depends_on_the_seed(pattern):
    def order(seed):
        with tf.Graph().as_default(), tf.Session() as session:
            records = RecordInput(pattern, 10, 20, 2, seed=seed).get_yield_op()
            return batches(session, 14, records)

    assert order(1) == order(1) != order(2)


def test_shift_ratio_rotates_the_files(pattern):
    def files(shift_ratio):
        with tf.Graph().as_default(), tf.Session() as session:
            records = RecordInput(pattern, 70, shift_ratio=shift_ratio).get_yield_op()
            return list(dict.fromkeys(record.split()[0] for record in session.run(records)))

    unshifted = files(0.0)
    position = unshifted.index(files(0.5)[0])
    assert files(0.5) == unshifted[position:] + unshifted[:position]
    assert position > 0


def test_batch_can_span_epochs(session, pattern):
    records = RecordInput(pattern, 60, 30).get_yield_op()
    results = list(chain(*batches(session, 7, records)))
    assert sorted(results) == sorted(RECORDS * 6)


def test_records_are_distributed_to_several_batches(session, pattern):
    dealt = RecordInput(pattern, 5, 100, batches=2, name="input").get_yield_op()
    assert [len(batch) for batch in dealt] == [5, 5]
    assert dealt[0][0].shape.as_list() == []
    assert dealt[0][0].op.name.startswith("input_1/")
    values = [session.run(dealt) for _ in range(7)]
    assert sorted(record for pair in values for batch in pair for record in batch) == RECORDS


@pytest.mark.parametrize("kind", ["GZIP", "ZLIB"])
def test_compressed_files_are_read(session, tmp_path, kind):
    write(tmp_path / "a", 1, 5, getattr(tf.python_io.TFRecordCompressionType, kind))
    compression = getattr(tf.python_io.TFRecordCompressionType, kind)
    records = RecordInput(tmp_path / "a", 5, 5, compression_type=compression).get_yield_op()
    assert sorted(session.run(records)) == [f"1 {number}".encode() for number in range(5)]


def test_patterns_are_separated_by_commas(session, tmp_path):
    for file in range(2):
        write(tmp_path / f"{file}", file, 3)
    pattern = f"{tmp_path}/0,{tmp_path}/[1-9]"
    assert len(set(session.run(RecordInput(pattern, 6).get_yield_op()))) == 6


def test_two_yield_operations_read_independently(session, pattern):
    source = RecordInput(pattern, 70, 100)
    one, other = (source.get_yield_op() for _ in range(2))
    completed = session.run([one, other])
    assert [sorted(each) for each in completed] == [RECORDS] * 2


def test_many_threads_receive_each_record_once(session, pattern):
    records = RecordInput(pattern, 7, 20, 3).get_yield_op()
    calls = [Call(partial(batches, session, 10, records)) for _ in range(4)]
    results = [record for call in calls for batch in call.result() for record in batch]
    assert sorted(results) == sorted(RECORDS * 4)


def test_missing_and_empty_files_are_rejected(session, tmp_path):
    with pytest.raises(tf.errors.NotFoundError, match=r"Found no files at .*nothing"):
        session.run(RecordInput(tmp_path / "nothing").get_yield_op())
    write(tmp_path / "empty", 0, 0)
    with pytest.raises(tf.errors.OutOfRangeError, match=r"there are no records in .*empty"):
        session.run(RecordInput(tmp_path / "empty").get_yield_op())


def test_damage_is_reported_and_loses_nothing(session, tmp_path):
    write(tmp_path / "a", 1, 9)
    data = (tmp_path / "a").read_bytes()
    (tmp_path / "a").write_bytes(data[:-1])
    records = RecordInput(tmp_path / "a", 3, 1).get_yield_op()
    assert batches(session, 2, records) == [[b"1 0", b"1 1", b"1 2"], [b"1 3", b"1 4", b"1 5"]]
    for _ in range(2):
        with pytest.raises(tf.errors.DataLossError, match=f"{tmp_path}/a.*record 8"):
            session.run(records)
    (tmp_path / "a").write_bytes(data)
    assert sorted(session.run(records)) == [b"1 6", b"1 7", b"1 8"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"buffer_size": 0}, "file_buffer_size is 0, expected 1 or more"),
        ({"parallelism": 0}, "file_parallelism is 0, expected 1 or more"),
        ({"parallelism": -1}, "file_parallelism should >= 0, got -1"),
    ],
)
def test_invalid_numbers_are_rejected(session, pattern, arguments, text):
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        session.run(RecordInput(pattern, **arguments).get_yield_op())


@pytest.mark.parametrize("num_before", [0, 1, 5, 9])
def test_checkpoint_contains_the_position(session, pattern, tmp_path, num_before):
    records = RecordInput(pattern, 8, 20, 2, seed=5).get_yield_op()
    batches(session, num_before, records)
    checkpoint.save(session, tmp_path / "state")
    expected = batches(session, 20, records)
    with tf.Session() as other:
        batches(other, 2, records)
        checkpoint.restore(other, tmp_path / "state")
        assert batches(other, 20, records) == expected


def test_checkpoint_of_different_files_is_rejected(session, pattern, tmp_path):
    records = RecordInput(pattern, 8).get_yield_op()
    session.run(records)
    checkpoint.save(session, tmp_path / "state")
    os.remove(tmp_path / "part-3")
    with (
        tf.Session() as other,
        pytest.raises(tf.errors.FailedPreconditionError, match="was saved with 5 files"),
    ):
        checkpoint.restore(other, tmp_path / "state")
