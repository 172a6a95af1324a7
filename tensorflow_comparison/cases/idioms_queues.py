"""Combinations of queues in public programs: selectors, guards, odd arguments, and ends."""

import threading
from collections.abc import Iterable
from typing import Any

import numpy as np

from tensorflow_comparison.cases.pipelines import to_the_end
from tensorflow_comparison.table import case


def filled(tf: Any, values: Iterable[Any], dtype: str = "int32", **arguments: Any) -> Any:
    """A closed queue of scalars, and the operation that fills it."""
    queue = tf.FIFOQueue(20, [dtype], shapes=[()], **arguments)
    with tf.control_dependencies([queue.enqueue_many([list(values)])]):
        return queue, queue.close()


def set_up(tf: Any, *operations: Any) -> Any:
    """A session in which all variables are initialized and some operations have run."""
    session = tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=20_000))
    session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    for operation in operations:
        session.run(operation)
    return session


@case()
def queue_chosen_by_a_variable(tf: Any) -> Any:
    """Switches to another input by an assignment."""
    (train, fill), (test, fill_too) = filled(tf, [1, 2, 3]), filled(tf, [10, 20])
    choice = tf.Variable(0, trainable=False, name="choice")
    batch = tf.QueueBase.from_list(choice, [train, test]).dequeue()
    with set_up(tf, fill, fill_too) as session:
        first = [session.run(batch), session.run(batch)]
        session.run(tf.assign(choice, 1))
        second = [session.run(batch), session.run(batch)]
        session.run(choice.assign(0))
        return first, second, session.run(batch)


@case()
def queue_chosen_by_a_condition(tf: Any) -> Any:
    """Switches by a fed bool, and dequeues several elements at once."""
    (train, fill), (test, fill_too) = filled(tf, [1, 2, 3, 4]), filled(tf, [10, 20])
    is_training = tf.placeholder(tf.bool, shape=None, name="is_training")
    choice = tf.cond(is_training, lambda: tf.constant(0), lambda: tf.constant(1))
    queue = tf.QueueBase.from_list(choice, [train, test])
    size = tf.placeholder(tf.int32, [])
    some = queue.dequeue_up_to(size)
    with set_up(tf, fill, fill_too) as session:
        runs = [(True, 3), (False, 5), (True, 3)]
        return [session.run(some, {is_training: flag, size: count}) for flag, count in runs]


@case(with_files=True)
def lines_of_a_chosen_queue(tf: Any, directory: Any) -> Any:
    """A reader reads from the queue that a selector picks by a Python number."""
    for name in ("train", "test"):
        (directory / name).write_text(f"{name} 1\n{name} 2\n")
    queues = [
        tf.train.string_input_producer([str(directory / name)], num_epochs=1, shuffle=False)
        for name in ("train", "test")
    ]
    _, line = tf.TextLineReader().read(tf.QueueBase.from_list(1, queues))
    return to_the_end(tf, line)


@case((0,), (1,), (2,))
def filled_while_it_is_short(tf: Any, at_first: int) -> Any:
    """An enqueue in a branch, which refills the queue when few elements are left."""
    names = tf.convert_to_tensor(["a", "b", "c"], dtype=tf.string)
    queue = tf.FIFOQueue(capacity=100, dtypes=[names.dtype.base_dtype])
    fill = tf.cond(tf.less(queue.size(), 2), lambda: queue.enqueue_many([names]), tf.no_op)
    with set_up(tf) as session:
        for _ in range(at_first):
            session.run(queue.enqueue("x"))
        session.run(fill)
        first = session.run(queue.size())
        session.run(fill)
        return first, session.run(queue.size()), session.run(queue.dequeue())


@case()
def pool_of_earlier_elements(tf: Any) -> Any:
    """Enqueues an element, and dequeues an earlier one once there are enough."""
    value = tf.placeholder(tf.int32, [])
    pool = tf.FIFOQueue(capacity=3, dtypes=[tf.int32], shapes=[[]])

    def keep() -> Any:
        with tf.control_dependencies([pool.enqueue([value])]):
            return tf.identity(value)

    def swap() -> Any:
        earlier = pool.dequeue()
        with tf.control_dependencies([earlier]), tf.control_dependencies([pool.enqueue(value)]):
            return tf.identity(earlier)

    result = tf.cond(pool.size() < 3, keep, swap)
    with set_up(tf) as session:
        return [session.run(result, {value: number}) for number in range(7)]


@case(
    ((7,), lambda tf: tf.zeros([7]).get_shape()),
    ((2,), lambda tf: [2]),
    ((2, 3), lambda tf: [tf.TensorShape([2, 3])]),
    ((2, 3), lambda tf: ((2, 3),)),
    ((), lambda tf: ()),
    ((), lambda tf: [()]),
    ((2, 3), lambda tf: tf.TensorShape([2, 3])),
)
def shapes_in_many_forms(tf: Any, shape: tuple[int, ...], shapes: Any) -> Any:
    """A queue of one component, whose shape some programs pass without a list."""
    queue = tf.RandomShuffleQueue(10, 0, tf.float32, shapes=shapes(tf))
    with set_up(tf, queue.enqueue(np.zeros(shape, np.float32))) as session:
        return queue.shapes, session.run(queue.dequeue())


@case(
    (100.5, 0),
    (1e3, 2),
    (np.int32(9), np.int64(1)),
    (10, 4.0),
    (10, 4.5),
    ("10", 4),
    (True, 0),
)
def numbers_of_elements(tf: Any, capacity: Any, min_after_dequeue: Any) -> Any:
    """Computed capacities, which have other number types."""
    queue = tf.RandomShuffleQueue(capacity, min_after_dequeue, [tf.int32], shapes=[()])
    node = queue.queue_ref.op
    return node.get_attr("capacity"), node.get_attr("min_after_dequeue")


@case(
    ({"batch_size": np.int64(2), "capacity": np.int32(9)},),
    ({"batch_size": 2.0},),
    ({"batch_size": 2, "capacity": 2 * 2.5},),
    ({"batch_size": 2, "num_threads": np.int64(2)},),
    ({"batch_size": 2, "num_threads": 2.0},),
    ({"batch_size": 2, "num_threads": True},),
    ({"batch_size": "2"},),
)
def numbers_of_batches(tf: Any, arguments: dict[str, Any]) -> Any:
    """Computed capacities of batches."""
    batch = tf.train.batch([tf.constant(1)], **arguments)
    return batch.shape.as_list(), len(tf.get_collection("queue_runners")[0].enqueue_ops)


@case()
def components_by_name(tf: Any) -> Any:
    """Component names as arguments of a queue, with examples as dictionaries."""
    parts = {"image": tf.ones([4, 2]), "label": tf.range(4)}
    queue = tf.FIFOQueue(
        capacity=8,
        dtypes=[part.dtype for part in parts.values()],
        shapes=[part.shape[1:] for part in parts.values()],
        names=list(parts.keys()),
        name="examples",
    )
    with set_up(tf, queue.enqueue_many(parts), queue.enqueue({"image": [5, 6], "label": 7})) as s:
        return s.run(queue.dequeue_many(3)), s.run(queue.dequeue()), queue.names, queue.name


@case()
def padded_components_of_a_table(tf: Any) -> Any:
    """Types and shapes from one list, unzipped into tuples."""
    table = [(tf.int32, [None, None]), (tf.string, []), (tf.float32, [None])]
    inputs = [tf.placeholder(dtype, shape) for dtype, shape in table]
    dtypes, shapes = zip(*table, strict=True)
    queue = tf.PaddingFIFOQueue(capacity=10, dtypes=dtypes, shapes=shapes)
    enqueue = queue.enqueue(inputs)
    with set_up(tf) as session:
        for size in (1, 3):
            parts = [np.full([size, 2], size), f"n{size}", [0.5] * size]
            session.run(enqueue, feed_dict=dict(zip(inputs, parts, strict=True)))
        return queue.dequeue_many(2)[0].shape.as_list(), session.run(queue.dequeue_many(2))


@case()
def fullness(tf: Any) -> Any:
    """How full a queue is, computed in three common ways."""
    queue, fill = filled(tf, range(5), name="examples")
    full = tf.cast(queue.size(), tf.float32) * (1.0 / 20)
    over = tf.cast(tf.maximum(0, queue.size() - 3), tf.float32) * (1.0 / (20 - 3))
    tag = f"queue/{queue.name}/fraction_of_{20:d}_full"
    summary = tf.summary.scalar(tag, full)
    with set_up(tf, fill) as session:
        return session.run([full, over, queue.size() / 20]), summary.name, session.run(summary)


@case()
def taken_until_it_is_closed(tf: Any) -> Any:
    """A loop that takes all elements, and ends when the queue is closed."""
    numbers = tf.train.input_producer(list(range(5)), num_epochs=2, shuffle=False, name="numbers")
    queue = tf.FIFOQueue(capacity=10, dtypes=[tf.string], name="consumed")
    runner = tf.train.QueueRunner(queue, [queue.enqueue(tf.as_string(numbers.dequeue()))])
    is_closed, value = queue.is_closed(), queue.dequeue()
    values: list[Any] = []
    with set_up(tf) as session:
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess=session, coord=coord)
        threads += runner.create_threads(session, coord=coord, daemon=True, start=True)
        try:
            while len(values) < 10:
                values.append(session.run(value))
            while not session.run(is_closed):  # The runner closes the queue after the last element.
                pass
        finally:
            coord.request_stop()
            coord.join(threads)
    return values


@case()
def filled_by_threads_of_the_program(tf: Any) -> Any:
    """Feeding threads that are registered with the coordinator and ended by a cancelled queue."""
    number = tf.placeholder(tf.int32, shape=None)
    queue = tf.PaddingFIFOQueue(4, ["int32"], shapes=[()])
    enqueue, close = queue.enqueue([number]), queue.close(cancel_pending_enqueues=True)
    ended: list[str] = []

    def fill(session: Any, coord: Any) -> None:
        try:
            while not coord.should_stop():
                session.run(enqueue, feed_dict={number: 7})
        except tf.errors.CancelledError as error:
            ended.append(type(error).__name__)

    with set_up(tf) as session:
        coord = tf.train.Coordinator()
        threads = [threading.Thread(target=fill, args=(session, coord)) for _ in range(3)]
        for thread in threads:
            coord.register_thread(thread)
            thread.daemon = True
            thread.start()
        values = session.run(queue.dequeue_many(9))
        coord.request_stop()
        session.run(close)
        coord.join()
        return values, {*ended} <= {"CancelledError"}, [thread.is_alive() for thread in threads]
