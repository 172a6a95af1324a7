"""Batches of records, as in `contrib.learn`."""

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
    results = []
    with tf.train.MonitoredSession() as sess:
        while not sess.should_stop():
            results.append(sess.run(fetches))
    return results


FEATURES = {"number": tf.FixedLenFeature([], tf.int64)}


def test_features_are_read_in_order(pattern):
    batch = io.read_batch_features(
        pattern, 4, FEATURES, tf.TFRecordReader, randomize_input=False, num_epochs=1
    )
    assert [each["number"].tolist() for each in taken(batch)] == [[0, 1, 2, 3], [4, 5]]


def test_features_are_read_from_record_files(pattern):
    batch = tf.contrib.learn.read_batch_record_features(
        pattern, 4, FEATURES, randomize_input=False, num_epochs=1
    )
    assert [each["number"].tolist() for each in taken(batch)] == [[0, 1, 2, 3], [4, 5]]
    assert batch["number"].op.name.startswith("dequeue_record_examples/")


@pytest.mark.parametrize("read_batch_size", [1, 2])
def test_records_are_read_in_random_order(pattern, read_batch_size):
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
    results = [int(number) for each in taken(numbers) for number in each]
    assert sorted(results) == sorted([*range(6)] * 2)


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
def test_invalid_arguments_are_rejected(pattern, arguments, message):
    inputs = {"file_pattern": pattern, "batch_size": 2, "reader": tf.TFRecordReader}
    with pytest.raises(ValueError, match=message):
        io.read_batch_examples(**inputs | arguments)


def test_run_n_initializes_and_fetches_n_times():
    number = tf.train.range_input_producer(3, num_epochs=1, shuffle=False).dequeue()
    counter = tf.Variable(10)
    fetched = tf.contrib.learn.run_n({"n": number, "c": counter}, n=2)
    assert fetched == [{"n": 0, "c": 10}, {"n": 1, "c": 10}]
    assert tf.contrib.learn.run_n({"n": number}, n=9) == [{"n": 0}, {"n": 1}, {"n": 2}]
    with pytest.raises(ValueError, match="output_dict is empty"):
        tf.contrib.learn.run_n({})


def test_run_n_restores_a_checkpoint(tmp_path):
    counter = tf.Variable(10, name="counter")
    with tf.Session() as session:
        session.run(counter.initializer)
        session.run(counter.assign(77))
        path = tf.train.Saver().save(session, str(tmp_path / "model"))
    assert tf.contrib.learn.run_n({"c": counter}, restore_checkpoint_path=path) == [{"c": 77}]


def test_mode_keys_match_tensorflow():
    learn, estimator = tf.contrib.learn.ModeKeys, tf.estimator.ModeKeys
    assert [learn.TRAIN, learn.EVAL, learn.INFER] == ["train", "eval", "infer"]
    assert [estimator.TRAIN, estimator.EVAL, estimator.PREDICT] == ["train", "eval", "infer"]


@pytest.mark.parametrize(
    "read", [io.read_keyed_batch_examples, tf.contrib.learn.read_keyed_batch_examples_shared_queue]
)
@pytest.mark.parametrize("read_batch_size", [1, 2])
def test_records_are_returned_with_their_keys(pattern, read, read_batch_size):
    keys, records = read(
        pattern, 2, tf.TFRecordReader, False, num_epochs=1, read_batch_size=read_batch_size
    )
    numbers = tf.parse_example(records, FEATURES)["number"]
    results = [
        (key.rpartition(b"/")[2], int(number))
        for each, some in taken([keys, numbers])
        for key, number in zip(each, some, strict=True)
    ]
    first = results[0][0]
    assert [number for _, number in results] == [*range(6)]
    assert first.startswith(b"0.tfrecord:")
    assert [key.partition(b":")[0] for key, _ in results] == [b"0.tfrecord"] * 3 + [
        b"1.tfrecord"
    ] * 3


@pytest.mark.parametrize("as_dict", [True, False])
def test_keys_stay_with_examples_parsed_before_the_queue(pattern, as_dict):
    def parse(record):
        result = tf.parse_single_example(record, FEATURES)
        return result if as_dict else (result["number"], result["number"] * 10)

    keys, parsed = io.read_keyed_batch_examples(
        pattern, 3, tf.TFRecordReader, False, num_epochs=1, parse_fn=parse
    )
    first, second = taken([keys, parsed])
    if as_dict:
        assert first[1]["number"].tolist() == [0, 1, 2]
        assert set(parsed) == {"number"}
    else:
        assert [part.tolist() for part in second[1]] == [[3, 4, 5], [30, 40, 50]]
    assert b"1.tfrecord" in second[0][0]


@pytest.mark.parametrize(
    "read", [io.read_keyed_batch_features, io.read_keyed_batch_features_shared_queue]
)
def test_keyed_features_pass_through_a_second_queue(pattern, read):
    features = {**FEATURES, "missing": tf.VarLenFeature(tf.int64)}
    keys, batch = read(pattern, 4, features, tf.TFRecordReader, False, num_epochs=1)
    assert batch["number"].op.type == keys.op.type == "QueueDequeueV2"
    assert batch["number"].shape.as_list() == [None]
    results = sorted(taken([keys, batch]), key=lambda each: each[1]["number"][0])
    assert [each["number"].tolist() for _, each in results] == [[0, 1, 2, 3], [4, 5]]
    assert [key.shape for key, _ in results] == [(4,), (2,)]
    assert [each["missing"].dense_shape.tolist() for _, each in results] == [[4, 0], [2, 0]]


def test_no_batch_is_lost_when_several_threads_parse(pattern):
    _, batch = io.read_keyed_batch_features(
        pattern, 1, FEATURES, tf.TFRecordReader, num_epochs=20, num_enqueue_threads=4
    )
    numbers = [int(each["number"][0]) for each in taken(batch)]
    assert sorted(numbers) == sorted([*range(6)] * 20)


def test_features_can_be_queued_without_keys():
    sparse = tf.SparseTensor([[0, 1]], [tf.train.range_input_producer(2, 1).dequeue()], [1, 2])
    keys, results = io.queue_parsed_features({"s": sparse, "d": tf.constant([5])})
    assert keys is None
    assert results["d"].shape == (1,)
    values = sorted((each["s"].values.tolist(), each["d"].tolist()) for each in taken(results))
    assert values == [([0], [5]), ([1], [5])]


def test_single_feature_can_be_queued_without_keys():
    number = tf.train.range_input_producer(2, 1, shuffle=False).dequeue()
    _, results = io.queue_parsed_features({"n": number}, num_enqueue_threads=1)
    assert taken(results) == [{"n": 0}, {"n": 1}]
