"""The structure of public programs: loops, ends of the input, records, coders and summaries."""

import random
import threading
from typing import Any

import numpy as np

from tensorflow_comparison.cases.idioms_queues import set_up
from tensorflow_comparison.cases.pipelines import to_the_end
from tensorflow_comparison.table import case


def write_records(tf: Any, path: Any, count: int = 6) -> str:
    """Writes records like conversion scripts."""

    def int64_feature(value: Any) -> Any:
        value = value if isinstance(value, (list, tuple)) else [value]
        return tf.train.Feature(int64_list=tf.train.Int64List(value=value))

    def bytes_feature(value: Any) -> Any:
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=[tf.compat.as_bytes(value)]))

    with tf.python_io.TFRecordWriter(str(path)) as writer:
        for number in range(count):
            pixels = np.full([2, 3], number, np.uint8)
            features = {
                "height": int64_feature(pixels.shape[0]),
                "label": int64_feature(int(np.int64(number))),
                "ids": int64_feature(list(range(number % 3))),
                "name": bytes_feature(f"n{number}"),
                "image_raw": bytes_feature(pixels.tobytes()),
                "score": tf.train.Feature(float_list=tf.train.FloatList(value=pixels[0] / 2.0)),
            }
            example = tf.train.Example(features=tf.train.Features(feature=features))
            writer.write(example.SerializeToString())
    return str(path)


@case(with_files=True)
def records_read_without_a_graph(tf: Any, directory: Any) -> Any:
    """Reads records like scripts: fields, counts and dictionaries."""
    path = write_records(tf, directory / "r.tfrecord")
    results = []
    for record in tf.python_io.tf_record_iterator(path=path):
        example = tf.train.Example()
        example.ParseFromString(record)
        feature = example.features.feature
        pixels = np.frombuffer(feature["image_raw"].bytes_list.value[0], np.uint8)
        results.append(
            (
                feature["label"].int64_list.value[0],
                list(feature["ids"].int64_list.value),
                feature["name"].bytes_list.value[0].decode(),
                pixels.reshape(feature["height"].int64_list.value[0], -1),
                feature["score"].float_list.value[:],
                sorted(feature),
                "ids" in feature,
                feature["label"].WhichOneof("kind"),
            )
        )
    return results, sum(1 for _ in tf.python_io.tf_record_iterator(path))


@case((False,), (True,), with_files=True)
def records_in_the_usual_loop(tf: Any, is_parsed_late: bool, directory: Any) -> Any:
    """The loop of most programs: epochs, a coordinator, the end, and a smaller last batch."""
    files = [write_records(tf, directory / f"r-{i:05d}-of-00002", 4 + i) for i in range(2)]
    features = {
        "label": tf.FixedLenFeature([1], dtype=tf.int64, default_value=-1),
        "name": tf.FixedLenFeature((), tf.string, default_value=""),
        "none": tf.FixedLenFeature(2, tf.float32, [0.5, 1.5]),
        "score": tf.FixedLenFeature(shape=(3,), dtype=tf.float32),
    }
    with tf.name_scope("input"):
        files = tf.gfile.Glob(str(directory / "r-?????-of-*"))
        queue = tf.train.string_input_producer(sorted(files), num_epochs=1, shuffle=False)
        _, record = tf.TFRecordReader().read(queue)
        if is_parsed_late:
            batch = tf.train.batch([record], 4, allow_smaller_final_batch=True)
            parsed = tf.parse_example(batch, features=features)
        else:
            example = tf.parse_single_example(serialized=record, features=features)
            parsed = tf.train.batch(example, 4, allow_smaller_final_batch=True)
    init_op = tf.group(tf.global_variables_initializer(), tf.local_variables_initializer())
    steps: list[Any] = []
    with tf.Session() as session:
        session.run(init_op)
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess=session, coord=coord)
        try:
            while not coord.should_stop():
                steps.append(session.run(parsed, feed_dict=None, options=None, run_metadata=None))
        except tf.errors.OutOfRangeError:
            steps.append("done")
        finally:
            coord.request_stop()
        coord.join(threads)
    shapes = [parsed[key].shape.as_list() for key in sorted(parsed)]
    return type(parsed).__name__, shapes, steps, [t.is_alive() for t in threads]


@case()
def loops_one_after_the_other(tf: Any) -> Any:
    """Uses a coordinator again, with `stop_on_exception` instead of a handler."""
    number = tf.Variable(0, name="number")
    count = number.count_up_to(3)
    coord = tf.train.Coordinator()
    rounds: list[Any] = []
    with set_up(tf) as session:
        for limit in (2, 5):
            coord.clear_stop()
            try:
                with coord.stop_on_exception():
                    while not coord.should_stop():
                        rounds.append(session.run(count))
                        if len(rounds) == limit:
                            coord.request_stop()
                coord.join([])
                rounds.append("joined")
            except tf.errors.OutOfRangeError as error:
                rounds.append(type(error).__name__)
    return rounds


@case()
def session_of_a_notebook(tf: Any) -> Any:
    """Calls `run` of operations and `eval` of tensors in a default session."""
    queue = tf.FIFOQueue(3, "float")
    fill, first = queue.enqueue_many([[0.1, 0.2, 0.3]]), queue.dequeue()
    total = tf.Variable(0.0)
    with tf.Session().as_default() as session:
        tf.global_variables_initializer().run()
        fill.run()
        values = [first.eval(), first.eval(session=session)]
        queue.enqueue([9.0]).run()
        total.assign_add(2.5).op.run()
        values += [total.eval(), queue.size().eval(), session.run({"a": [total], "b": (first,)})]
    session.close()
    return values


@case()
def coder_shared_by_threads(tf: Any) -> Any:
    """A class with a session that decodes images, called in threads that a coordinator joins."""
    data = tf.placeholder(dtype=tf.string)
    decoded = tf.image.decode_png(data, channels=3)
    encoded = tf.image.encode_png(tf.placeholder_with_default(np.zeros([2, 3, 1], np.uint8), None))
    session = tf.Session()
    picture = session.run(encoded)
    shapes: dict[int, Any] = {}

    def work(index: int) -> None:
        image = session.run(decoded, feed_dict={data: picture})
        assert len(image.shape) == 3
        shapes[index] = image.shape, image.dtype.name, int(image.sum())

    coord = tf.train.Coordinator()
    threads = []
    for index in range(3):
        threads.append(threading.Thread(target=work, args=(index,)))
        threads[-1].start()
    coord.join(threads)
    return sorted(shapes.items())


@case(with_files=True)
def summary_with_values_of_the_program(tf: Any, directory: Any) -> Any:
    """Parses a summary from the graph, adds values, and writes it."""
    loss = tf.summary.scalar("loss", tf.constant(0.5))
    merged = tf.summary.merge_all()
    writer = tf.summary.FileWriter(str(directory), tf.get_default_graph())
    with tf.Session() as session:
        serialized = session.run(merged)
        summary = tf.Summary()
        summary.ParseFromString(serialized)
        summary.value.add(tag="accuracy/test", simple_value=np.mean([1.0, 0.5]))
        writer.add_summary(summary, np.int64(3))
        writer.add_summary(session.run(loss), global_step=4)
    writer.flush()
    writer.close()
    results = []
    for path in tf.gfile.Glob(str(directory / "events*")):
        for event in tf.train.summary_iterator(path):
            for value in event.summary.value:
                results.append((event.step, value.tag, value.simple_value))
    return results


@case()
def scope_entered_again(tf: Any) -> Any:
    """Scope names with a slash passed to functions, an empty name, and values as keywords."""
    with tf.name_scope("inputs") as scope:
        first = tf.constant(1, name="x")
    with tf.name_scope(scope):
        second = tf.constant(2, name="x")
    with tf.name_scope(scope or "default"), tf.name_scope("inner"):
        third = tf.constant(3)
    with tf.name_scope(name=None, default_name="decode", values=[first]):
        fourth = tf.constant(4)
    with tf.name_scope(""), tf.name_scope(None, "other", [second]):
        fifth = tf.constant(5)
    with tf.variable_scope("", reuse=True), tf.control_dependencies(None):
        sixth = tf.constant(6)
    return scope, [tensor.name for tensor in (first, second, third, fourth, fifth, sixth)]


@case(([1.0, 2.0, 3.0], 3), ([1.0, 2.0], 3), digits=5)
def checked_before_it_is_used(tf: Any, values: list[float], size: int) -> Any:
    """Assertions between a tensor and the copy that the program uses."""
    raw = tf.placeholder_with_default(values, [None])
    uninterrupted = tf.assert_equal(tf.shape(raw)[0], size, message="not whole")
    small = tf.Assert(tf.less(tf.reduce_max(raw), 9.0), ["large", raw, tf.shape(raw)])
    with tf.control_dependencies([uninterrupted, small]):
        raw = tf.identity(raw)
    shown = tf.Print(raw, data=[tf.constant("shown")], message="row: ", first_n=0)
    mean, variance = tf.nn.moments(shown, axes=[0])
    return (shown - mean) / tf.maximum(tf.sqrt(variance), 1e-3)


@case()
def functions_of_python_in_the_graph(tf: Any) -> Any:
    """Types alone, in lists and tuples, a string of one element, and a shape that is set later."""

    def both(a: Any, b: Any) -> Any:
        return np.float32(a + b), [a, b]

    text = tf.constant("word")
    (length,) = tf.py_func(len, [text], [tf.int64])
    total, pair = tf.py_func(both, [tf.constant(1), 2], (tf.float32, tf.int32))
    rotated = tf.py_func(lambda x: x[::-1].copy(), [np.arange(3)], tf.int64, stateful=False)
    rotated.set_shape([3])
    named = tf.py_func(lambda: [b"a", "b"], [], tf.string, name="names")
    return length, total, pair, rotated, named


@case((0,), (1,), (2,), (3,))
def kept_if_there_is_something(tf: Any, least: int) -> Any:
    """Drops examples before the queue if they are too small."""
    number = tf.train.range_input_producer(4, num_epochs=2, shuffle=False).dequeue()
    boxes = tf.ones(tf.stack([number, 2]))
    batch = tf.train.maybe_batch(
        {"boxes": boxes, "number": number},
        keep_input=tf.shape(boxes)[0] > least,
        batch_size=2,
        dynamic_pad=True,
        allow_smaller_final_batch=True,
    )
    return to_the_end(tf, batch)


@case()
def whole_table_each_time(tf: Any) -> Any:
    """An input function that returns a whole table once, or batches of its rows."""
    table = tf.constant(np.arange(8).reshape(4, 2), tf.float32)
    once = tf.train.limit_epochs(table, num_epochs=2, name="once")
    rows = tf.train.batch([once], 3, enqueue_many=True, allow_smaller_final_batch=True)
    return to_the_end(tf, rows)


@case()
def shuffled_alike_in_both_libraries(tf: Any) -> Any:
    """A shuffle must keep the elements of each epoch, and pairs."""
    random.seed(1)
    numbers = list(range(20))
    random.shuffle(numbers)
    pair = tf.train.slice_input_producer([numbers, [str(n) for n in numbers]], num_epochs=1)
    batch = tf.train.shuffle_batch(
        pair, 5, capacity=12, min_after_dequeue=6, num_threads=2, allow_smaller_final_batch=True
    )
    *batches, end = to_the_end(tf, batch)
    results = [(int(n), t.decode()) for ns, ts in batches for n, t in zip(ns, ts, strict=True)]
    return sorted(results), [str(n) == t for n, t in results], end
