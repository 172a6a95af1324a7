"""For any argument, numbers out of range raise the right class of error, and never hang.

The class is neither Python's OverflowError nor the native module's own error.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import headrace.tf1 as tf
import headrace.tf1.queues as eager
from headrace.io.compression import TFRecordCompressionType

NUMBERS = [
    *(2**63 - 1, 2**63, 2**64, 2**70, 10**22, 10**400, -1, -(2**31) - 1, -(2**63) - 1, -(2**70)),
    *(1e300, float("inf"), float("nan")),
]
# A range of numbers that only uint64 has is an AssertionError in TensorFlow.
ALLOWED = (ValueError, TypeError, AssertionError, tf.errors.OpError)


def run(fetches: Any, **options: Any) -> Any:
    config = tf.ConfigProto(operation_timeout_in_ms=1)
    with tf.Session(config=config) as session:
        session.run(tf.local_variables_initializer(), options=tf.RunOptions(timeout_in_ms=20_000))
        return session.run(fetches, **options)


def options(number: Any) -> tf.python_io.TFRecordOptions:
    return tf.python_io.TFRecordOptions(TFRecordCompressionType.GZIP, compression_level=number)


def saved(**kwargs: Any) -> Any:
    variable = tf.Variable(1.0)
    saver = tf.train.Saver([variable], **kwargs)
    with tf.Session() as session:
        session.run(variable.initializer)
        return saver.save(session, "model")


def fifo() -> Any:
    return tf.FIFOQueue(3, [tf.int32], [[]])


def eager_queue() -> Any:
    return eager.FIFOQueue(3, [tf.int32], [[]])


def read_file(number: Any) -> Any:
    with tf.gfile.GFile("lines") as file:
        return file.read(number)


def add_summary(step: Any = 1, **kwargs: Any) -> None:
    with tf.summary.FileWriter("events", **kwargs) as writer:
        writer.add_summary(tf.Summary(), step)


IMAGE = np.zeros([2, 2, 3], np.uint8)
MATRIX = [[1, 2], [3, 4]]

CALLS: dict[str, Callable[[Any], Any]] = {
    "FIFOQueue, capacity": lambda n: run(tf.FIFOQueue(n, [tf.int32]).size()),
    "FIFOQueue, shape": lambda n: run(tf.FIFOQueue(3, [tf.int32], [[n]]).size()),
    "PaddingFIFOQueue, capacity": lambda n: run(tf.PaddingFIFOQueue(n, ["int32"], [[None]]).size()),
    "PriorityQueue, capacity": lambda n: run(tf.PriorityQueue(n, [tf.int32], [[]]).size()),
    "PriorityQueue, priority": lambda n: run(tf.PriorityQueue(3, ["int32"], [[]]).enqueue([n, 1])),
    "RandomShuffleQueue, least": lambda n: run(tf.RandomShuffleQueue(5, n, [tf.int32]).size()),
    "RandomShuffleQueue, seed": lambda n: run(
        tf.RandomShuffleQueue(5, 1, ["int32"], seed=n).size()
    ),
    "QueueBase.dequeue_many": lambda n: run(fifo().dequeue_many(n)),
    "QueueBase.dequeue_up_to": lambda n: run(fifo().dequeue_up_to(n)),
    "QueueBase.from_list": lambda n: run(tf.QueueBase.from_list(n, [fifo(), fifo()]).size()),
    "TextLineReader, header": lambda n: run(
        tf.TextLineReader(skip_header_lines=n).num_records_produced()
    ),
    "FixedLengthRecordReader": lambda n: run(
        tf.FixedLengthRecordReader(n, n, n, n).num_records_produced()
    ),
    "read_up_to": lambda n: run(
        tf.TextLineReader().read_up_to(tf.FIFOQueue(1, tf.string, [[]]), n)
    ),
    "range_input_producer": lambda n: run(tf.train.range_input_producer(n).size()),
    "string_input_producer, capacity": lambda n: run(
        tf.train.string_input_producer(["a"], capacity=n).size()
    ),
    "string_input_producer, num_epochs": lambda n: run(
        tf.train.string_input_producer(["a"], num_epochs=n).size()
    ),
    "string_input_producer, seed": lambda n: run(
        tf.train.string_input_producer(["a"], seed=n).size()
    ),
    "batch, batch_size": lambda n: run(tf.train.batch([tf.constant(1)], n)),
    "batch, capacity": lambda n: run(tf.train.batch([tf.constant(1)], 2, capacity=n)),
    "batch, num_threads": lambda n: tf.train.batch([tf.constant(1)], 2, num_threads=n),
    "shuffle_batch, capacity": lambda n: run(tf.train.shuffle_batch([tf.constant(1)], 2, n, 1)),
    "shuffle_batch, least": lambda n: run(tf.train.shuffle_batch([tf.constant(1)], 2, 5, n)),
    "limit_epochs": lambda n: run(tf.train.limit_epochs(tf.constant(1), n)),
    "count_up_to": lambda n: tf.count_up_to(tf.Variable(1), n),
    "RunOptions": lambda n: run(tf.constant(1), options=tf.RunOptions(timeout_in_ms=n)),
    "set_random_seed": lambda n: (tf.set_random_seed(n), run(tf.random_uniform([1]))),
    "random_uniform, seed": lambda n: run(tf.random_uniform([1], seed=n)),
    "random_uniform, maxval": lambda n: run(tf.random_uniform([1], maxval=n, dtype=tf.int64)),
    "constant, shape": lambda n: tf.constant(1, shape=[min(n, 0)]),
    "placeholder, shape": lambda n: tf.placeholder(tf.int32, [n]),
    "Dimension": lambda n: tf.Dimension(n) * tf.Dimension(n),
    "range": lambda n: run(tf.range(n, n)),
    "squeeze": lambda n: run(tf.squeeze([[1]], [n])),
    "expand_dims": lambda n: run(tf.expand_dims([1], n)),
    "split": lambda n: run(tf.split(MATRIX, n, 0)),
    "unstack": lambda n: run(tf.unstack(MATRIX, axis=n)),
    "concat": lambda n: run(tf.concat([MATRIX, MATRIX], n)),
    "gather": lambda n: run(tf.gather(MATRIX, n)),
    "slice": lambda n: run(tf.slice(MATRIX, [0, 0], [n, 1])),
    "index": lambda n: run(tf.constant(MATRIX)[n]),
    "dynamic_partition": lambda n: tf.dynamic_partition(MATRIX, [0, 1], n),
    "decode_csv, select_cols": lambda n: run(tf.decode_csv("1,2", [[1]], select_cols=[n])),
    "decode_jpeg, channels": lambda n: run(tf.image.decode_jpeg(b"x", channels=n)),
    "decode_jpeg, ratio": lambda n: run(tf.image.decode_jpeg(b"x", ratio=n)),
    "encode_jpeg, quality": lambda n: run(tf.image.encode_jpeg(IMAGE, quality=n)),
    "encode_png, compression": lambda n: run(tf.image.encode_png(IMAGE, compression=n)),
    "crop_to_bounding_box": lambda n: run(tf.image.crop_to_bounding_box(IMAGE, n, 0, 1, 1)),
    "string_to_hash_bucket_fast": lambda n: run(tf.string_to_hash_bucket_fast(["a"], n)),
    "FixedLenFeature, shape": lambda n: run(
        tf.parse_single_example(b"", {"a": tf.FixedLenFeature([n], tf.int64)})
    ),
    "SparseFeature, size": lambda n: run(
        tf.parse_single_example(b"", {"a": tf.SparseFeature("i", "v", tf.int64, n)})
    ),
    "get_variable, shape": lambda n: tf.get_variable("v", [n]),
    "summary.image": lambda n: run(tf.summary.image("a", np.zeros([1, 2, 2, 1], np.float32), n)),
    "FileWriter, step": add_summary,
    "FileWriter, flush_secs": lambda n: add_summary(flush_secs=n),
    "Saver, hours": lambda n: saved(keep_checkpoint_every_n_hours=n),
    "Saver, max_to_keep": lambda n: saved(max_to_keep=n),
    "GFile.read": read_file,
    "Coordinator.join": lambda n: tf.train.Coordinator().join([], n),
    "TFRecordOptions": lambda n: tf.python_io.TFRecordWriter("records", options(n)).close(),
    "global_step": lambda n: tf.train.global_step(tf.Session(), tf.constant(n)),
    "feed": lambda n: run(tf.placeholder(tf.int32, name="p") + 1, feed_dict={"p:0": n}),
    "Queue, capacity": lambda n: eager.FIFOQueue(n, [tf.int32]),
    "Queue, shape": lambda n: eager.FIFOQueue(3, [tf.int32], [[n]]),
    "Queue, least": lambda n: eager.RandomShuffleQueue(3, n, [tf.int32]),
    "Queue, seed": lambda n: eager.RandomShuffleQueue(3, 1, [tf.int32], seed=n),
    "Queue.enqueue": lambda n: eager_queue().enqueue(n, timeout=0),
    "Queue.dequeue_many": lambda n: eager_queue().dequeue_many(n, timeout=0),
    "Queue.dequeue_up_to": lambda n: eager_queue().dequeue_up_to(n, timeout=0),
    "Queue.enqueue, timeout": lambda n: eager_queue().enqueue(1, timeout=n),
    "Queue.enqueue_many, timeout": lambda n: eager_queue().enqueue_many([1], timeout=n),
    "Queue.close, timeout": lambda n: eager_queue().close(timeout=n),
}


@pytest.fixture(autouse=True)
def in_a_directory(tmp_path, monkeypatch):
    (tmp_path / "lines").write_text("1\n2\n")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: f"{number}"[:20])
@pytest.mark.filterwarnings("ignore")
def test_absurd_number_is_accepted_or_raises_an_expected_error(call, number):
    error = error_of(call, number)
    assert error is None or isinstance(error, ALLOWED)
    assert str(error)


def error_of(call: Callable[[Any], Any], number: Any) -> Exception | None:
    try:
        call(number)
    except Exception as error:
        return error
    return None


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda n: tf.FIFOQueue(n, ["int32"], name="q"), "operation 'q', attr 'capacity': Value"),
        (
            lambda n: tf.FIFOQueue(3, ["int32"], [[n]], name="q"),
            "attr 'shapes': Value out of range",
        ),
        (lambda n: tf.train.string_input_producer(["a"], num_epochs=n), "attr 'limit': Value out"),
        (lambda n: tf.dynamic_partition([1], [0], n), "'num_partitions' of .*: Value out of range"),
        (lambda n: tf.train.batch([1], 2, num_threads=n), "num_threads: Value out of range"),
        (lambda n: tf.constant(1, shape=[-n]), "its sizes must fit into 64 bits"),
        (
            lambda n: run(tf.constant(1), options=tf.RunOptions(timeout_in_ms=n)),
            "timeout_in_ms is .*, expected at most",
        ),
        (lambda n: eager.FIFOQueue(n, ["int32"]), "capacity is .*, expected at most"),
        (lambda n: eager_queue().dequeue_many(n), "n is .*, expected at most"),
    ],
)
def test_error_names_the_wrong_argument(call, words):
    with pytest.raises(ValueError, match=words):
        call(2**70)


@pytest.mark.parametrize("milliseconds", [2**63 - 1, 10**18])
def test_timeout_far_in_the_future_means_no_timeout(milliseconds):
    assert run(tf.constant(1), options=tf.RunOptions(timeout_in_ms=milliseconds)) == 1
