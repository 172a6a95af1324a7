"""Batches of records, as `contrib.learn` has them."""

import pytest

import headrace.tf1 as tf

io = tf.contrib.learn.io


@pytest.fixture
def pattern(tmp_path):
    for part in range(2):
        with tf.python_io.TFRecordWriter(str(tmp_path / f"{part}.tfrecord")) as writer:
            for number in range(3 * part, 3 * part + 3):
                value = tf.train.Feature(int64_list=tf.train.Int64List(value=[number]))
                features = tf.train.Features(feature={"number": value})
                writer.write(tf.train.Example(features=features).SerializeToString())
    return str(tmp_path / "*.tfrecord")


def taken(fetches):
    found = []
    with tf.train.MonitoredSession() as sess:
        while not sess.should_stop():
            found.append(sess.run(fetches))
    return found


FEATURES = {"number": tf.FixedLenFeature([], tf.int64)}


def test_features_in_order(pattern):
    batch = io.read_batch_features(
        pattern, 4, FEATURES, tf.TFRecordReader, randomize_input=False, num_epochs=1
    )
    assert [each["number"].tolist() for each in taken(batch)] == [[0, 1, 2, 3], [4, 5]]


@pytest.mark.parametrize("read_batch_size", [1, 2])
def test_records_in_random_order(pattern, read_batch_size):
    batch = io.read_batch_examples(
        [pattern],
        2,
        tf.TFRecordReader,
        num_epochs=2,
        queue_capacity=10,
        num_threads=2,
        read_batch_size=read_batch_size,
    )
    numbers = tf.parse_example(batch, FEATURES)["number"]
    found = [int(number) for each in taken(numbers) for number in each]
    assert sorted(found) == sorted([*range(6)] * 2)


def test_records_are_parsed_before_the_queue(pattern):
    def parse(record):
        return tf.parse_single_example(record, FEATURES)

    batch = io.read_batch_examples(
        pattern, 3, tf.TFRecordReader, False, num_epochs=1, parse_fn=parse
    )
    assert [each["number"].tolist() for each in taken(batch)] == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"file_pattern": []}, "No files given"),
        ({"file_pattern": "none-*"}, "No files match none"),
        ({"batch_size": 0}, "Invalid batch_size 0"),
        ({"num_threads": 0}, "Invalid num_threads 0"),
        ({"read_batch_size": 0}, "Invalid read_batch_size 0"),
    ],
)
def test_what_is_refused(pattern, arguments, message):
    given = {"file_pattern": pattern, "batch_size": 2, "reader": tf.TFRecordReader}
    with pytest.raises(ValueError, match=message):
        io.read_batch_examples(**given | arguments)
