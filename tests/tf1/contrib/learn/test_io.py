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


def test_features_of_record_files(pattern):
    batch = tf.contrib.learn.read_batch_record_features(
        pattern, 4, FEATURES, randomize_input=False, num_epochs=1
    )
    assert [each["number"].tolist() for each in taken(batch)] == [[0, 1, 2, 3], [4, 5]]
    assert batch["number"].op.name.startswith("dequeue_record_examples/")


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
def test_invalid_arguments_are_refused(pattern, arguments, message):
    given = {"file_pattern": pattern, "batch_size": 2, "reader": tf.TFRecordReader}
    with pytest.raises(ValueError, match=message):
        io.read_batch_examples(**given | arguments)


def test_run_n_does_everything_around_the_fetches():
    number = tf.train.range_input_producer(3, num_epochs=1, shuffle=False).dequeue()
    counter = tf.Variable(10)
    fetched = tf.contrib.learn.run_n({"n": number, "c": counter}, n=2)
    assert fetched == [{"n": 0, "c": 10}, {"n": 1, "c": 10}]
    assert tf.contrib.learn.run_n({"n": number}, n=9) == [{"n": 0}, {"n": 1}, {"n": 2}]
    with pytest.raises(ValueError, match="got nothing to fetch"):
        tf.contrib.learn.run_n({})


def test_run_n_restores_a_checkpoint(tmp_path):
    counter = tf.Variable(10, name="counter")
    with tf.Session() as session:
        session.run(counter.initializer)
        session.run(counter.assign(77))
        path = tf.train.Saver().save(session, str(tmp_path / "model"))
    assert tf.contrib.learn.run_n({"c": counter}, restore_checkpoint_path=path) == [{"c": 77}]


def test_modes_are_names():
    learn, estimator = tf.contrib.learn.ModeKeys, tf.estimator.ModeKeys
    assert [learn.TRAIN, learn.EVAL, learn.INFER] == ["train", "eval", "infer"]
    assert [estimator.TRAIN, estimator.EVAL, estimator.PREDICT] == ["train", "eval", "infer"]
