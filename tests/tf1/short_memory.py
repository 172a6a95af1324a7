"""Calls operations that are only available in sessions, with little memory.

Run as `python -m tests.tf1.short_memory [NAME...]`.

Each call is made in children of this process, as in
`tests/pipeline/native_functions/short_memory.py`.
"""

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from tests.pipeline.native_functions.short_memory import MORE_BYTES, in_child

import headrace.tf1 as tf
from headrace.protos import SequenceExample

COUNT = 300_000
# Rows that are separate tensors.
FEW = 30_000
CALLS: dict[str, Callable[["Inputs"], Any]] = {}


class Inputs:
    """Placeholders with values of some MiB, which are made on first use."""

    def __init__(self) -> None:
        self.feeds: dict[Any, Any] = {}

    def tensor(self, value: Any, shape: Any = None) -> Any:
        array = np.asarray(value)
        output = tf.placeholder(array.dtype if array.dtype != object else tf.string, shape)
        self.feeds[output] = array
        return output

    def sparse(self, dtype: str = "float32", width: int = 4, count: int = COUNT) -> Any:
        rows = np.arange(count)
        positions = np.stack([rows, rows % width], 1)
        values = rows.astype(dtype) % 1000 if dtype != "str" else rows.astype(dtype)
        if dtype == "str":
            values = values.astype(object)
        output = tf.sparse_placeholder(tf.string if dtype == "str" else tf.as_dtype(dtype))
        self.feeds[output] = tf.SparseTensorValue(positions, values, [count, width])
        return output

    @property
    def floats(self) -> Any:
        return self.tensor(np.ones((COUNT, 4), np.float32))

    @property
    def ids(self) -> Any:
        return self.tensor(np.arange(COUNT, dtype=np.int32) % 1000)

    @property
    def sorted_ids(self) -> Any:
        return self.tensor(np.arange(COUNT, dtype=np.int32) // 3)

    @property
    def texts(self) -> Any:
        return self.tensor(np.array([b"%d" % number for number in range(100_000)], object))


def _serialized() -> bytes:
    example = SequenceExample()
    for number in range(1000):
        feature = example.feature_lists.feature_list["n"].feature.add()
        feature.int64_list.value.extend(range(number, number + 300))
    return example.SerializeToString()


def _enqueued(make: Callable[[], Any], count: int = COUNT) -> Callable[[Inputs], Any]:
    def call(value: Inputs) -> Any:
        queue, rows = make(), value.tensor(np.ones((count, 4), np.float32))
        with tf.control_dependencies([queue.enqueue_many(rows)]):
            return queue.dequeue_many(count)

    return call


def _parsed_sequence(value: Inputs) -> Any:
    features = {"n": tf.VarLenFeature(tf.int64)}
    _, lists = tf.parse_single_sequence_example(
        value.tensor(_serialized()), sequence_features=features
    )
    return lists["n"]


def _parsed_strings(value: Inputs) -> Any:
    example = SequenceExample()
    for number in range(1000):
        feature = example.feature_lists.feature_list["n"].feature.add()
        feature.bytes_list.value.extend([b"%d" % number] * 200)
    features = {"n": tf.VarLenFeature(tf.string)}
    serialized = value.tensor(example.SerializeToString())
    _, lists = tf.parse_single_sequence_example(serialized, sequence_features=features)
    return lists["n"]


def _sparse_tables(value: Inputs) -> Any:
    many = tf.serialize_many_sparse(value.sparse(count=FEW))
    return tf.deserialize_many_sparse(many, tf.float32)


def _lookup(value: Inputs) -> Any:
    table = tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1)
    texts, numbers = value.texts, value.tensor(np.arange(100_000))
    with tf.control_dependencies([table.insert(texts, numbers)]):
        return table.lookup(texts)


def _updated(update: Callable[..., Any], *, is_nd: bool = False) -> Callable[[Inputs], Any]:
    def call(value: Inputs) -> Any:
        variable = tf.Variable(np.ones((1000, 4), np.float32))
        ids, floats = value.ids, value.floats
        with tf.control_dependencies([variable.initializer]):
            return update(variable, ids[:, None] if is_nd else ids, floats)

    return call


def _added(update: Callable[..., Any]) -> Callable[[Inputs], Any]:
    def call(value: Inputs) -> Any:
        variable, floats = tf.Variable(np.ones((COUNT, 4), np.float32)), value.floats
        with tf.control_dependencies([variable.initializer]):
            return update(variable, floats)

    return call


def _scattered(value: Inputs) -> Any:
    rows = np.arange(FEW, dtype=np.int32)
    array = tf.TensorArray(tf.float32, FEW).scatter(rows, value.floats[:FEW])
    return array.gather(value.tensor(rows))


CALLS.update(
    {
        "sparse_tensor_to_dense": lambda g: tf.sparse_tensor_to_dense(g.sparse()),
        "sparse_to_dense": lambda g: tf.sparse_to_dense(
            g.tensor(np.arange(COUNT)[:, None]), [COUNT * 3], g.tensor(np.ones(COUNT, np.float32))
        ),
        "sparse_from_dense": lambda g: tf.sparse.from_dense(g.floats),
        "sparse_to_indicator": lambda g: tf.sparse_to_indicator(g.sparse("int64", count=FEW), 1000),
        "sparse_add": lambda g: tf.sparse_add(g.sparse(), g.sparse()),
        "sparse_add of a dense one": lambda g: tf.sparse_add(g.sparse(), g.floats),
        "sparse product": lambda g: g.sparse() * g.floats,
        "sparse_maximum": lambda g: tf.sparse_maximum(g.sparse(), g.sparse()),
        "sparse_concat": lambda g: tf.sparse_concat(1, [g.sparse(), g.sparse()]),
        "sparse_concat of strings": lambda g: tf.sparse_concat(0, [g.sparse("str")] * 2),
        "sparse_split": lambda g: tf.sparse_split(sp_input=g.sparse(), num_split=2, axis=1)[0],
        "sparse_slice": lambda g: tf.sparse_slice(g.sparse(), [0, 0], [COUNT, 3]),
        "sparse_reorder": lambda g: tf.sparse_reorder(g.sparse()),
        "sparse_transpose": lambda g: tf.sparse_transpose(g.sparse()),
        "sparse_reshape": lambda g: tf.sparse_reshape(g.sparse(), [-1]),
        "sparse_expand_dims": lambda g: tf.sparse.expand_dims(g.sparse(), 1),
        "sparse_reset_shape": lambda g: tf.sparse_reset_shape(g.sparse()),
        "sparse_retain": lambda g: tf.sparse_retain(g.sparse(), g.tensor(np.arange(COUNT) % 2 > 0)),
        "sparse_fill_empty_rows": lambda g: tf.sparse_fill_empty_rows(g.sparse(), 1.0)[0],
        "sparse_reduce_sum": lambda g: tf.sparse_reduce_sum(g.sparse(), 1),
        "sparse_reduce_max_sparse": lambda g: tf.sparse_reduce_max_sparse(g.sparse(), 1),
        "sparse_softmax": lambda g: tf.sparse_softmax(g.sparse()),
        "sparse_tensor_dense_matmul": lambda g: tf.sparse_tensor_dense_matmul(
            g.sparse(), g.tensor(np.ones((4, 3), np.float32))
        ),
        "sparse_merge": lambda g: tf.sparse_merge(g.sparse("int64"), g.sparse(), COUNT),
        "sparse.cross": lambda g: tf.sparse.cross([g.sparse("str"), g.sparse("str")]),
        "sparse.cross_hashed": lambda g: tf.sparse.cross_hashed([g.sparse("int64")] * 2, 100),
        "serialize_sparse": lambda g: tf.serialize_sparse(g.sparse()),
        "serialize_many_sparse": lambda g: tf.serialize_many_sparse(g.sparse(count=FEW)),
        "deserialize_many_sparse": _sparse_tables,
        "edit_distance": lambda g: tf.edit_distance(
            g.sparse("int64", count=FEW), g.sparse("int64", count=FEW)
        ),
        "sparse_segment_sum": lambda g: tf.sparse_segment_sum(g.floats, g.ids, g.sorted_ids),
        "segment_sum": lambda g: tf.segment_sum(g.floats, g.sorted_ids),
        "unsorted_segment_sum": lambda g: tf.unsorted_segment_sum(g.floats, g.ids, COUNT),
        "dynamic_partition": lambda g: tf.dynamic_partition(g.floats, g.ids, 1000)[3],
        "dynamic_stitch": lambda g: tf.dynamic_stitch([g.sorted_ids], [g.floats]),
        "scatter_nd": lambda g: tf.scatter_nd(g.ids[:, None], g.floats, [COUNT, 4]),
        "tensor_scatter_add": lambda g: tf.tensor_scatter_add(g.floats, g.ids[:, None], g.floats),
        **{
            name: _updated(getattr(tf, name))
            for name in ("scatter_update", "scatter_add", "scatter_div", "scatter_min")
        },
        **{
            name: _updated(getattr(tf, name), is_nd=True)
            for name in ("scatter_nd_update", "scatter_nd_add")
        },
        "assign_add": _added(tf.assign_add),
        "TensorArray of rows": _scattered,
        "gather_nd": lambda g: tf.gather_nd(g.floats, g.ids[:, None]),
        "unique": lambda g: tf.unique(g.ids).idx,
        "unique of strings": lambda g: tf.unique_with_counts(g.texts).idx,
        "setdiff1d": lambda g: tf.setdiff1d(g.ids, g.ids[:100]).out,
        "sort": lambda g: tf.sort(g.floats, 0),
        "argsort": lambda g: tf.argsort(g.floats, 0),
        "top_k": lambda g: tf.nn.top_k(g.floats, 3).values,
        "searchsorted": lambda g: tf.searchsorted(g.sorted_ids, g.ids),
        "bincount": lambda g: tf.bincount(g.ids),
        "histogram_fixed_width": lambda g: tf.histogram_fixed_width(g.floats, [0.0, 2.0]),
        "matmul": lambda g: tf.matmul(g.floats, g.floats, transpose_a=True),
        "tensordot": lambda g: tf.tensordot(
            g.tensor(np.ones((COUNT, 4), np.float32), [None, 4]), np.ones((4, 9), np.float32), 1
        ),
        "softmax": lambda g: tf.nn.softmax(g.floats),
        "log_softmax": lambda g: tf.nn.log_softmax(g.floats),
        "elu": lambda g: tf.nn.elu(g.floats),
        "reduce_join": lambda g: tf.reduce_join(g.texts[:, None], 1),
        "as_string": lambda g: tf.as_string(g.ids),
        "bitcast": lambda g: tf.bitcast(g.floats, tf.uint8) + 1,
        "linspace": lambda g: tf.linspace(0.0, 1.0, g.tensor(np.int32(COUNT * 4))),
        "matrix_diag": lambda g: tf.matrix_diag(g.floats),
        "reverse_sequence": lambda g: tf.reverse_sequence(
            g.floats, g.tensor(np.full(COUNT, 2, np.int32)), 1
        ),
        "space_to_depth": lambda g: tf.space_to_depth(
            g.tensor(np.ones((1, 1000, 1000, 3), np.float32), [1, 1000, 1000, 3]), 2
        ),
        "extract_image_patches": lambda g: tf.extract_image_patches(
            g.tensor(np.ones((1, 500, 500, 3), np.float32)),
            *([1, 3, 3, 1], [1, 1, 1, 1], [1, 1, 1, 1], "SAME"),
        ),
        "parse_tensor": lambda g: tf.parse_tensor(tf.serialize_tensor(g.floats), tf.float32),
        "parse_single_sequence_example": _parsed_sequence,
        "parse_single_sequence_example of strings": _parsed_strings,
        "map_fn": lambda g: tf.map_fn(lambda row: row * 2, g.floats[:2000]),
        "TensorArray": lambda g: (
            tf.TensorArray(tf.float32, 2).split(g.floats, [COUNT // 2] * 2).concat()
        ),
        "while_loop": lambda g: tf.while_loop(
            lambda n, _: n < 3, lambda n, x: (n + 1, x + 1), [0, g.floats]
        )[1],
        "FIFOQueue": _enqueued(lambda: tf.FIFOQueue(COUNT, [tf.float32], [[4]])),
        "PaddingFIFOQueue": _enqueued(
            lambda: tf.PaddingFIFOQueue(FEW, [tf.float32], [[None]]), FEW
        ),
        "RandomShuffleQueue": _enqueued(
            lambda: tf.RandomShuffleQueue(COUNT, 0, [tf.float32], [[4]])
        ),
        "MutableHashTable": _lookup,
        "assign": lambda g: tf.assign(
            tf.Variable(0.0, validate_shape=False), g.floats, validate_shape=False
        ),
        "summary.histogram": lambda g: tf.summary.histogram("h", g.floats),
        "summary.image": lambda g: tf.summary.image(
            "i", g.tensor(np.ones((3, 800, 800, 3), np.float32))
        ),
        "encode_wav": lambda g: tf.audio.encode_wav(g.floats, 44100),
        "multinomial": lambda g: tf.multinomial(g.floats, 3),
        "random_shuffle": lambda g: tf.random_shuffle(g.floats),
    }
)


def failures(names: list[str]) -> Iterator[str]:
    """Yields each end of a process that is an error: the name of an operation, and the end."""
    for name in names or sorted(CALLS):
        with tf.Graph().as_default() as graph:
            value = Inputs()
            fetch = CALLS[name](value)
            ready = tf.placeholder_with_default(1, [])
        sessions: list[tf.Session] = []

        def prepare(graph: Any = graph, ready: Any = ready, sessions: Any = sessions) -> None:
            sessions.append(tf.Session(graph=graph))
            sessions[0].run(ready)
            # NumPy's BLAS library exits or hangs if it gets no memory for its buffers.
            np.ones((512, 512)) @ np.ones((512, 512))

        def call(sessions: Any = sessions, fetch: Any = fetch, value: Any = value) -> None:
            sessions[0].run(fetch, value.feeds)

        statuses = [in_child(call, more, prepare) for more in MORE_BYTES]
        if any(status not in (0, 1) for status in statuses) or 0 not in statuses:
            yield f"{name}: {statuses}"


if __name__ == "__main__":
    results = [print(failure, flush=True) for failure in failures(sys.argv[1:])]
    sys.exit(bool(results))
