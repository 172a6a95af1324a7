"""Producers and batchers: names, static shapes, rejected arguments, and all results."""

from collections.abc import Callable
from typing import Any

from tensorflow_comparison.table import case

SPARSE = ([[0], [2]], [5, 6], [4])
SPARSE_ROWS = ([[0, 0], [0, 1], [2, 1]], [5, 6, 7], [4, 3])


def to_the_end(tf: Any, fetches: Any, limit: int = 20) -> Any:
    """Fetches until the input ends, and returns the values and the errors at the end."""
    values: list[Any] = []
    config = tf.ConfigProto(operation_timeout_in_ms=20_000)
    with tf.Session(config=config) as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        try:
            while len(values) < limit:
                values.append(session.run(fetches))
        except tf.errors.OpError as error:
            values.append(type(error).__name__)
        coord.request_stop()
        try:
            coord.join(threads, stop_grace_period_secs=20)
        except tf.errors.OpError as error:
            values.append(type(error).__name__)
    return values


def described(tf: Any, result: Any) -> Any:
    """Names, types and static shapes of a pipeline's tensors, and its operations in the graph."""
    parts = list(result.values()) if isinstance(result, dict) else result
    parts = parts if isinstance(parts, list) else [parts]
    tensors = []
    for part in parts:
        is_sparse = isinstance(part, tf.SparseTensor)
        tensors += [part.indices, part.values, part.dense_shape] if is_sparse else [part]
    shapes = [t.shape.as_list() if t.shape.ndims is not None else None for t in tensors]
    results = [(t.name, t.dtype.base_dtype.name) for t in tensors]
    kind = "tensor" if isinstance(result, tf.Tensor) else type(result).__name__
    return kind, results, shapes, collected(tf)


def collected(tf: Any) -> Any:
    """Names of the items that pipelines add to collections."""
    runners = tf.get_collection("queue_runners")
    return (
        [runner.name for runner in runners],
        [len(runner.enqueue_ops) for runner in runners],
        [variable.name for variable in tf.get_collection("local_variables")],
        [summary.name for summary in tf.get_collection("summaries")],
    )


Make = Callable[[Any], Any]

PRODUCERS: list[Make] = [
    lambda tf: tf.train.input_producer(tf.constant([[1, 2], [3, 4]]), num_epochs=2, shuffle=False),
    lambda tf: tf.train.input_producer(tf.constant([1]), name="q", summary_name="s"),
    lambda tf: tf.train.input_producer(tf.placeholder(tf.int32), []),
    lambda tf: tf.train.input_producer(tf.placeholder(tf.int32)),
    lambda tf: tf.train.input_producer(tf.constant(3)),
    lambda tf: tf.train.input_producer(tf.constant([[1, 2]]), [3]),
    lambda tf: tf.train.input_producer(tf.zeros([0], tf.int32), num_epochs=1),
    lambda tf: tf.train.string_input_producer(["a", "b", "c"], num_epochs=2, shuffle=False),
    lambda tf: tf.train.string_input_producer(list("abcdefgh"), num_epochs=3, seed=5),
    lambda tf: tf.train.string_input_producer(["a"], name="files", capacity=7, num_epochs=1),
    lambda tf: tf.train.string_input_producer([]),
    lambda tf: tf.train.string_input_producer([["a"]]),
    lambda tf: tf.train.string_input_producer(["a"], capacity=0),
    lambda tf: tf.train.string_input_producer(["a"], num_epochs=0),
    lambda tf: tf.train.string_input_producer(
        tf.placeholder_with_default(tf.zeros([0], tf.string), [None]), num_epochs=1
    ),
    lambda tf: tf.train.range_input_producer(5, num_epochs=2, seed=1),
    lambda tf: tf.train.range_input_producer(tf.constant(3, tf.int64), shuffle=False, name="r"),
    lambda tf: tf.train.range_input_producer(0, num_epochs=1),
]


@case(*[(number,) for number in range(len(PRODUCERS))])
def produced(tf: Any, number: int) -> Any:
    """The arguments of a producer, and its elements."""
    queue = PRODUCERS[number](tf)
    outputs = queue.name, [shape.as_list() for shape in queue.shapes], collected(tf)
    is_fed = any(op.type == "Placeholder" for op in tf.get_default_graph().get_operations())
    return outputs, [] if is_fed else to_the_end(tf, queue.dequeue())


@case(
    ([[1, 2, 3], ["a", "b", "c"]],),
    ([[1, 2, 3], ["a", "b"]],),
    ([[1, 2], ["a", "b", "c"]],),
    ([[[1, 2], [3, 4]]],),
    ([],),
    ([1, 2],),
)
def sliced(tf: Any, tensors: list[Any]) -> Any:
    """Slices of several tensors."""
    slices = tf.train.slice_input_producer(tensors, num_epochs=2, shuffle=False)
    return described(tf, slices), to_the_end(tf, slices)


@case((0,), (-1,), (1,), (3,))
def limited(tf: Any, num_epochs: int) -> Any:
    """A tensor that can be computed a limited number of times."""
    tensor = tf.train.limit_epochs(tf.constant(7), num_epochs)
    return described(tf, tensor), to_the_end(tf, tensor)


def numbers(tf: Any, limit: int) -> Any:
    """Returns 0 to `limit` - 1 in order."""
    return tf.train.range_input_producer(limit, num_epochs=1, shuffle=False).dequeue()


BATCHES: list[Make] = [
    lambda tf: tf.train.batch([1, "a"], 3),
    lambda tf: tf.train.batch([[1, 2]], 3, name="mine", num_threads=2, capacity=9),
    lambda tf: tf.train.batch({"b": 1, "a": 2.5, 3: "x"}, 2),
    lambda tf: tf.train.batch({"b": 1}, 2, allow_smaller_final_batch=True),
    lambda tf: tf.train.batch([1], tf.constant(3)),
    lambda tf: tf.train.batch([1], tf.placeholder(tf.int32, [])),
    lambda tf: tf.train.batch([1], 0),
    lambda tf: tf.train.batch([1], -1),
    lambda tf: tf.train.batch([], 2),
    lambda tf: tf.train.batch({}, 2),
    lambda tf: tf.train.batch(tf.constant([1, 2]), 2),
    lambda tf: tf.train.batch([1], 2, num_threads=0),
    lambda tf: tf.train.batch([1], 2, enqueue_many=True),
    lambda tf: tf.train.batch([tf.placeholder(tf.int32)], 2),
    lambda tf: tf.train.batch([tf.placeholder(tf.int32, [None])], 2),
    lambda tf: tf.train.batch([tf.placeholder(tf.int32, [None])], 2, dynamic_pad=True),
    lambda tf: tf.train.batch([tf.placeholder(tf.int32, [None, 4])], 2, enqueue_many=True),
    lambda tf: tf.train.batch([tf.placeholder(tf.int32)], 2, shapes=[(3, 4)]),
    lambda tf: tf.train.batch([tf.placeholder(tf.int32)], 2, shapes=(3, 4)),
    lambda tf: tf.train.batch([[1, 2]], 2, shapes=[(3,)]),
    lambda tf: tf.train.batch([1, 2], 2, shapes=[()]),
    lambda tf: tf.train.batch_join([[1, "a"], [2, "b"]], 3),
    lambda tf: tf.train.batch_join([{"a": 1}, {"a": 2}], 3),
    lambda tf: tf.train.batch_join([], 3),
    lambda tf: tf.train.batch_join([[1], ["a"]], 3),
    lambda tf: tf.train.batch_join([[1, 2], [1]], 3),
    lambda tf: tf.train.batch_join([{"a": 1}, {"b": 2}], 3),
    lambda tf: tf.train.batch_join(
        [[tf.constant([1])], [tf.constant([1, 2])]], 3, dynamic_pad=True
    ),
    lambda tf: tf.train.batch_join(
        [[tf.placeholder(tf.int32, [2])], [tf.placeholder(tf.int32, [None])]], 3
    ),
    lambda tf: tf.train.batch_join(
        [[tf.placeholder(tf.int32, [None])], [tf.placeholder(tf.int32, [2])]], 3, dynamic_pad=True
    ),
    lambda tf: tf.train.shuffle_batch([1, "a"], 3, 10, 4),
    lambda tf: tf.train.shuffle_batch([1], 3, 4, 4),
    lambda tf: tf.train.shuffle_batch_join([[1], [2]], 3, 10, 4, name="mine"),
    lambda tf: tf.train.batch([tf.SparseTensor(*SPARSE)], 2),
    lambda tf: tf.train.batch([tf.SparseTensor(*SPARSE), 1], 2),
    lambda tf: tf.train.batch([tf.sparse_placeholder(tf.int32)], 2),
    lambda tf: tf.train.batch([tf.SparseTensor(*SPARSE_ROWS)], 2, enqueue_many=True),
    lambda tf: tf.train.batch_join([[tf.SparseTensor(*SPARSE)], [tf.constant(1)]], 2),
    lambda tf: tf.train.batch_join(
        [[tf.SparseTensor(*SPARSE)], [tf.SparseTensor(*SPARSE_ROWS)]], 2
    ),
    *[
        lambda tf, shape=shape, many=many: tf.train.maybe_batch(
            [[1, 2]], tf.placeholder(tf.bool, shape), 2, enqueue_many=many
        )
        for shape in ([], [None], [2], [3], [2, 2], None)
        for many in (False, True)
    ],
    lambda tf: tf.train.maybe_batch_join([[1], [2]], tf.placeholder(tf.bool, []), 2),
    lambda tf: tf.train.maybe_shuffle_batch([1], 2, 10, 4, tf.placeholder(tf.bool, [])),
    lambda tf: tf.train.maybe_shuffle_batch_join([[1]], 2, 10, 4, tf.placeholder(tf.bool, [])),
]


@case(*[(number,) for number in range(len(BATCHES))])
def batched(tf: Any, number: int) -> Any:
    """The arguments of a batcher, or the class of the error."""
    return described(tf, BATCHES[number](tf))


def _sparse_row(tf: Any, number: Any) -> Any:
    wide = tf.cast(number, tf.int64)
    return tf.SparseTensor(
        tf.reshape(wide, [1, 1]), tf.reshape(number, [1]), tf.reshape(wide + 1, [1])
    )


def _padded(tf: Any, number: Any) -> Any:
    row = tf.fill([number], number)
    row.set_shape([None])
    return row


PIPELINES: list[Make] = [
    lambda tf: tf.train.batch([numbers(tf, 7)], 3),
    lambda tf: tf.train.batch([numbers(tf, 7)], 3, allow_smaller_final_batch=True),
    lambda tf: tf.train.batch([numbers(tf, 30)], 12, capacity=4),
    lambda tf: tf.train.batch([_padded(tf, numbers(tf, 6))], 3, dynamic_pad=True),
    lambda tf: tf.train.batch([_padded(tf, numbers(tf, 6))], 3, enqueue_many=True),
    lambda tf: tf.train.maybe_batch([numbers(tf, 9)], tf.placeholder_with_default(False, []), 2),
    lambda tf: tf.train.maybe_batch(
        [tf.stack([numbers(tf, 5)] * 3)], [True, False, True], 2, enqueue_many=True
    ),
    lambda tf: tf.train.batch([_sparse_row(tf, numbers(tf, 5))], 2),
    lambda tf: tf.train.batch([_sparse_row(tf, numbers(tf, 5))], 2, allow_smaller_final_batch=True),
    lambda tf: tf.train.batch([_sparse_row(tf, numbers(tf, 5))], 0),
]


def _mixed(tf: Any, number: Any) -> dict[str, Any]:
    return {"sparse": _sparse_row(tf, number), "dense": number, "text": tf.as_string(number)}


# The order is random, so all examples are in one batch, whose rows are sorted.
SHUFFLED: list[Make] = [
    lambda tf: tf.train.maybe_shuffle_batch(
        [numbers(tf, 9)], 3, 20, 5, tf.equal(numbers(tf, 9) % 3, 0), allow_smaller_final_batch=True
    ),
    lambda tf: tf.train.maybe_batch_join(
        [[numbers(tf, 5)], [numbers(tf, 3) + 10]], tf.constant(True), 8
    ),
    lambda tf: tf.train.maybe_batch_join(
        [[tf.stack([numbers(tf, 5)] * 2)], [tf.stack([numbers(tf, 3)] * 2)]],
        [True, False], 8, enqueue_many=True,
    ),
    lambda tf: tf.train.maybe_shuffle_batch_join(
        [[numbers(tf, 5)], [numbers(tf, 3) + 10]], 8, 20, 5, True
    ),
    lambda tf: tf.train.maybe_shuffle_batch_join(
        [[tf.stack([numbers(tf, 5)] * 2)]], 5, 20, 5, [False, True], enqueue_many=True
    ),
    lambda tf: tf.train.shuffle_batch_join([[numbers(tf, 5)], [numbers(tf, 5)]], 10, 20, 5),
    lambda tf: tf.train.shuffle_batch([numbers(tf, 9)], 20, 20, 5, allow_smaller_final_batch=True),
]  # fmt: skip


@case(*[(number,) for number in range(len(SHUFFLED))])
def drained_in_any_order(tf: Any, number: int) -> Any:
    """The results of a batcher in random order."""
    *batches, end = to_the_end(tf, SHUFFLED[number](tf))
    return sorted(value for batch in batches for value in batch.tolist()), end


SPARSE_PIPELINES: list[Make] = [
    lambda tf: tf.train.batch(_mixed(tf, numbers(tf, 5)), 2, allow_smaller_final_batch=True),
    lambda tf: tf.train.batch_join([_mixed(tf, numbers(tf, 5))], 3),
    lambda tf: tf.train.maybe_batch(
        _mixed(tf, numbers(tf, 6)), tf.placeholder_with_default(True, []), 2
    ),
    lambda tf: tf.train.maybe_batch(
        [_sparse_row(tf, numbers(tf, 6))], tf.placeholder_with_default(False, []), 2
    ),
    lambda tf: tf.train.shuffle_batch([_sparse_row(tf, numbers(tf, 1))], 1, 20, 5),
    lambda tf: tf.train.shuffle_batch_join([[tf.SparseTensor(*SPARSE)]] * 2, 4, 20, 5),
    lambda tf: tf.train.batch([_sparse_row(tf, numbers(tf, 4)), tf.SparseTensor(*SPARSE)], 2),
    lambda tf: tf.train.batch(
        [tf.SparseTensor(tf.zeros([0, 2], tf.int64), tf.zeros([0]), [3, 4])], 2
    ),
]


@case(*[(number,) for number in range(len(SPARSE_PIPELINES))])
def sparse_drained(tf: Any, number: int) -> Any:
    """The first few batches of a batcher of sparse tensors."""
    return to_the_end(tf, SPARSE_PIPELINES[number](tf), limit=4)


# Draws that do not depend on timing, so they are equal in every run.
SHUFFLED: list[Make] = [
    lambda tf: _shuffled(tf, numbers(tf, 20), 4, 100, 50),
    lambda tf: _shuffled(tf, numbers(tf, 21), 4, 100, 21, allow_smaller_final_batch=True),
    lambda tf: _shuffled(tf, tf.train.range_input_producer(9, seed=2).dequeue(), 3, 8, 7),
    lambda tf: _shuffled(tf, tf.random_uniform([], seed=4), 2, 5, 4),
    lambda tf: _shuffled(tf, tf.range(1000), 5, 100, 30, enqueue_many=True),
]


def _shuffled(tf: Any, tensor: Any, *sizes: int, **options: Any) -> Any:
    return tf.train.shuffle_batch([tensor], *sizes, seed=3, **options)


@case(*[(number,) for number in range(len(SHUFFLED))])
def shuffled_with_seeds(tf: Any, number: int) -> Any:
    """The results of a shuffling batcher in a single thread, with all seeds set."""
    tf.set_random_seed(1)
    return to_the_end(tf, SHUFFLED[number](tf))


WHOLE: list[Make] = [
    lambda tf: tf.train.string_input_producer(["a", "b"], num_epochs=2),
    lambda tf: tf.train.string_input_producer(["a", "b"], shuffle=False, name="x"),
    lambda tf: tf.train.range_input_producer(5),
    lambda tf: tf.train.slice_input_producer([[1, 2], [3, 4]], num_epochs=1),
    lambda tf: tf.train.batch([tf.constant(1)], 2),
    lambda tf: tf.train.batch([tf.constant(1), tf.constant("a")], 2, dynamic_pad=True),
    lambda tf: tf.train.batch([tf.constant([1])], 2, enqueue_many=True),
    lambda tf: tf.train.shuffle_batch([tf.constant(1)], 2, 10, 5, num_threads=2),
    lambda tf: tf.train.shuffle_batch_join([[tf.constant(1)], [tf.constant(2)]], 2, 10, 5),
    lambda tf: tf.train.maybe_batch([tf.constant(1)], tf.constant(True), 2),
    lambda tf: tf.train.limit_epochs(tf.constant(1), 2),
    lambda tf: tf.train.match_filenames_once("*"),
    lambda tf: tf.TextLineReader().read(tf.train.string_input_producer(["a"])),
    lambda tf: tf.TFRecordReader().read_up_to(tf.FIFOQueue(1, [tf.string]), 3),
    lambda tf: tf.decode_csv("1,2", [[0], [0.0]]),
    lambda tf: tf.train.get_or_create_global_step(),
    lambda tf: tf.summary.histogram("h", [1.0]),
]


@case(*[(number,) for number in range(len(WHOLE))])
def operations(tf: Any, number: int) -> Any:
    """All operations that a function adds, because seeds depend on their number."""
    WHOLE[number](tf)
    return [(op.name, op.type) for op in tf.get_default_graph().get_operations()]


@case(*[(number,) for number in range(len(PIPELINES))])
def drained(tf: Any, number: int) -> Any:
    """The results of a batcher with one thread, and its end."""
    return to_the_end(tf, PIPELINES[number](tf))


@case((None,), ([True, False, True, True],))
def rows_of_a_sparse_tensor(tf: Any, keep: list[bool] | None) -> Any:
    """The first batch of the rows of a sparse tensor, of which some are kept."""
    example = [tf.SparseTensor(*SPARSE_ROWS), [0, 1, 2, 3]]
    kept = True if keep is None else keep
    return to_the_end(tf, tf.train.maybe_batch(example, kept, 3, enqueue_many=True), limit=2)
