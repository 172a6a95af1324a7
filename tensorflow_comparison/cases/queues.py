"""Queues: dequeued elements, their order, and errors."""

from typing import Any

from tensorflow_comparison.table import case, generated

KINDS = ["fifo", "padding", "shuffle", "priority"]


def make_queue(tf: Any, kind: str, **options: Any) -> Any:
    """Returns a queue of int32 scalars (with an int64 priority if it is one)."""
    if kind == "fifo":
        return tf.FIFOQueue(10, tf.int32, shapes=[()], **options)
    if kind == "padding":
        return tf.PaddingFIFOQueue(10, tf.int32, shapes=[()], **options)
    if kind == "shuffle":
        return tf.RandomShuffleQueue(10, 2, tf.int32, shapes=[()], seed=7, **options)
    return tf.PriorityQueue(10, tf.int32, shapes=[()], **options)


def values_for(kind: str, numbers: list[int]) -> Any:
    """Returns the components of elements with these numbers."""
    return [[n % 3 for n in numbers], numbers] if kind == "priority" else [numbers]


@case(*[(kind,) for kind in KINDS])
def drained_after_close(tf: Any, kind: str) -> Any:
    """Enqueue, close, dequeue until the end."""
    queue = make_queue(tf, kind)
    enqueue, close = queue.enqueue_many(values_for(kind, list(range(8)))), queue.close()
    one, three, up_to = queue.dequeue(), queue.dequeue_many(3), queue.dequeue_up_to(3)
    with tf.Session() as session:
        session.run(enqueue)
        sizes = [session.run(queue.size())]
        session.run(close)
        taken = [session.run(one), session.run(three), session.run(up_to)]
        sizes.append(session.run(queue.size()))
        try:
            session.run(three)
        except tf.errors.OutOfRangeError:
            taken.append("end of data")
        return taken, sizes, session.run(queue.is_closed())


@case(*[(kind, what) for kind in KINDS for what in ("dequeue", "dequeue_many", "dequeue_up_to")])
def what_is_known_of_a_dequeue(tf: Any, kind: str, what: str) -> Any:
    """Names, types and static shapes."""
    queue = make_queue(tf, kind, name="q")
    result = getattr(queue, what)(*([] if what == "dequeue" else [4]))
    tensors = result if isinstance(result, list) else [result]
    return [(t.name, t.dtype.name, str(t.shape)) for t in tensors], queue.name


@case(
    (3,),
    ([1, 2],),
    (1.5,),
    ("text",),
    (None,),
    ([[1], [2], [3]],),
    ({"a": 1},),
)
def enqueue_of(tf: Any, value: Any) -> Any:
    """Values that a queue of one int32 component accepts."""
    queue = tf.FIFOQueue(10, tf.int32)
    with tf.control_dependencies([queue.enqueue(value)]):
        return queue.size()


@generated("queue_programs")
def program_of(tf: Any, kind: str, steps: list[tuple[str, Any]]) -> Any:
    """Calls of a queue, one after the other. Calls that would wait are skipped."""
    queue = make_queue(tf, kind)
    numbers = tf.placeholder(tf.int32, [None])
    components = [numbers % 3, numbers] if kind == "priority" else [numbers]
    if kind == "priority":
        components[0] = tf.cast(components[0], tf.int64)
    enqueue = queue.enqueue_many(components)
    count = tf.placeholder(tf.int32, [])
    takes = {"dequeue": queue.dequeue_many(count), "up_to": queue.dequeue_up_to(count)}
    closes = [queue.close(), queue.close(cancel_pending_enqueues=True)]
    outcomes: list[Any] = []
    first, size, is_closed = 0, 0, False
    with tf.Session() as session:
        for what, argument in steps:
            free = size - (2 if kind == "shuffle" and not is_closed else 0)
            if what == "enqueue" and size + argument > 10 and not is_closed:
                continue
            if what in takes and argument > free and not is_closed:
                continue
            # TensorFlow loses a batch that is smaller than requested from a closed priority queue.
            if what == "up_to" and kind == "priority" and 0 < size < argument:
                continue
            try:
                if what == "enqueue":
                    block = list(range(first, first + argument))
                    session.run(enqueue, {numbers: block})
                    first += argument
                elif what == "close":
                    session.run(closes[argument])
                    is_closed = True
                else:
                    outcomes.append(session.run(takes[what], {count: argument}))
            except tf.errors.OpError as error:
                outcomes.append(type(error).__name__)
            size = int(session.run(queue.size()))
            outcomes.append(size)
    return outcomes
