"""The result of a function belongs to the caller: changing it changes no graph.

`RETURNED` has a call for every exported function and property that may return a list or dict, and
`NO_LIST` explains the exceptions.
"""

import inspect
import re
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import headrace.tf1 as tf


class World:
    """A small graph with items in all the lists that are returned."""

    def __init__(self, directory: Any) -> None:
        self.path = str(directory / "a")
        (directory / "a").write_text("1,x\n2,y\n")
        self.x = tf.placeholder_with_default(np.ones([2, 6], np.float32), [2, 6], name="x")
        self.v = tf.get_variable("v", initializer=1.0)
        self.w = tf.get_variable("w", initializer=2.0, collections=["local_variables"])
        tf.add_to_collection("moving_average_variables", self.v)
        tf.add_to_collection("model_variables", self.v)
        self.queue = tf.FIFOQueue(9, [tf.int32, tf.string], [[2], []], ["a", "b"], name="q")
        self.pair = tf.FIFOQueue(9, [tf.int32, tf.string], [[], []], name="pair")
        self.runner = tf.train.QueueRunner(self.pair, [self.pair.enqueue([1, "a"])])
        with tf.control_dependencies([self.v.initializer]):
            self.op = tf.identity(self.x, name="copy").op
        self.features = {"a": tf.VarLenFeature(tf.int64), "b": tf.FixedLenFeature([], tf.int64, 1)}
        self.sequences = {"c": tf.FixedLenSequenceFeature([], tf.int64)}
        self.shape = tf.TensorShape([1, 2])
        self.saver = tf.train.Saver()
        self.session = tf.Session()

    def checkpoint(self) -> str:
        """The prefix of a checkpoint."""
        self.session.run(tf.global_variables_initializer())
        return self.saver.save(self.session, f"{self.path}-saved")

    def kind(self, name: str) -> Any:
        """Creates a queue with two components."""
        arguments = {"FIFOQueue": (9,), "RandomShuffleQueue": (9, 1), "PaddingFIFOQueue": (9,)}
        if name == "PriorityQueue":
            return tf.PriorityQueue(9, [tf.int32], [[]])
        return getattr(tf, name)(*arguments[name], [tf.int32, tf.string], [[], []])


def _queues() -> dict[str, Callable[[World], Any]]:
    calls: dict[str, Callable[[World], Any]] = {}
    for kind in ("FIFOQueue", "PaddingFIFOQueue", "PriorityQueue", "RandomShuffleQueue"):
        for name in ("dtypes", "names", "runners", "shapes"):
            calls[f"{kind}.{name}"] = lambda w, k=kind, n=name: getattr(w.kind(k), n)
        calls[f"{kind}.dequeue"] = lambda w, k=kind: w.kind(k).dequeue()
        for name in ("dequeue_many", "dequeue_up_to"):
            calls[f"{kind}.{name}"] = lambda w, k=kind, n=name: getattr(w.kind(k), n)(2)
    return calls


def lines_of(path: str) -> list[Any]:
    with tf.gfile.FastGFile(path) as file:
        return file.readlines()


def _of_slim() -> dict[str, Callable[[World], Any]]:
    slim = tf.contrib.slim
    readers, decoders = slim.parallel_reader, slim.tfexample_decoder
    numbers = tf.lookup.KeyValueTensorInitializer(["a"], [1])
    table = tf.contrib.lookup.HashTable(numbers, -1)
    handlers = {
        "BackupHandler": decoders.BackupHandler(decoders.Image(), decoders.Tensor("b")),
        "LookupTensor": decoders.LookupTensor("b", table),
        "BoundingBox": decoders.BoundingBox(),
        "Image": decoders.Image(),
        "ItemHandler": decoders.Image(),
        "ItemHandlerCallback": decoders.ItemHandlerCallback("b", len),
        "SparseTensor": decoders.SparseTensor(),
        "Tensor": decoders.Tensor("b"),
    }

    def decoder(w: World) -> Any:
        return decoders.TFExampleDecoder(w.features, {"b": handlers["Tensor"]})

    def provider(w: World) -> Any:
        arguments = slim.dataset.Dataset([w.path], tf.TFRecordReader, decoder(w), 1, {})
        return slim.dataset_data_provider.DatasetDataProvider(arguments)

    def queue() -> Any:
        return tf.FIFOQueue(9, [tf.string, tf.string])

    plain = slim.data_provider.DataProvider({"a": 1}, 1)
    return {
        **{
            f"contrib.slim.tfexample_decoder.{name}.keys": lambda w, h=handler: h.keys
            for name, handler in handlers.items()
        },
        "contrib.slim.tfexample_decoder.TFExampleDecoder.decode": lambda w: decoder(w).decode(
            tf.constant(b"")
        ),
        "contrib.slim.tfexample_decoder.TFExampleDecoder.list_items": lambda w: decoder(
            w
        ).list_items(),
        "contrib.slim.data_provider.DataProvider.get": lambda w: plain.get(["a"]),
        "contrib.slim.data_provider.DataProvider.list_items": lambda w: plain.list_items(),
        "contrib.slim.dataset_data_provider.DatasetDataProvider.get": lambda w: provider(w).get(
            ["b"]
        ),
        "contrib.slim.dataset_data_provider.DatasetDataProvider.list_items": lambda w: provider(
            w
        ).list_items(),
        "contrib.slim.parallel_reader.ParallelReader.read": lambda w: readers.ParallelReader(
            tf.TFRecordReader, queue()
        ).read(queue()),
        "contrib.slim.parallel_reader.get_data_files": lambda w: readers.get_data_files(w.path),
        "contrib.slim.parallel_reader.parallel_read": lambda w: readers.parallel_read(
            w.path, tf.TFRecordReader
        ),
    }


def _of_contrib() -> dict[str, Callable[[World], Any]]:
    nest, training, learn = tf.contrib.framework.nest, tf.contrib.training, tf.contrib.learn
    cluster = tf.train.ClusterSpec({"a": ["b:1"], "c": {3: "d:2"}})
    area = tf.contrib.staging.StagingArea([tf.int32], [[]], ["a"])
    batch = training.batch_sequences_with_states("k", {"a": [1]}, {"c": 1}, None, {"s": 0.0}, 1, 1)
    return {
        "contrib.training.NextQueuedSequenceBatch.context": lambda w: batch.context,
        "contrib.training.NextQueuedSequenceBatch.sequences": lambda w: batch.sequences,
        "contrib.staging.StagingArea.dtypes": lambda w: area.dtypes,
        "contrib.staging.StagingArea.names": lambda w: area.names,
        "contrib.staging.StagingArea.shapes": lambda w: area.shapes,
        "flags.FlagValues.flag_values_dict": lambda w: tf.flags.FlagValues().flag_values_dict(),
        "contrib.framework.nest.flatten": lambda w: nest.flatten(1),
        "contrib.framework.nest.flatten_dict_items": lambda w: nest.flatten_dict_items({1: 2}),
        "contrib.framework.nest.flatten_up_to": lambda w: nest.flatten_up_to([1], [2]),
        "contrib.framework.nest.flatten_with_joined_string_paths": lambda w: (
            nest.flatten_with_joined_string_paths([1])
        ),
        "contrib.metrics.aggregate_metric_map": lambda w: tf.contrib.metrics.aggregate_metric_map(
            {"a": tf.metrics.mean(w.x)}
        ),
        "contrib.metrics.aggregate_metrics": lambda w: tf.contrib.metrics.aggregate_metrics(
            tf.metrics.mean(w.x)
        ),
        "contrib.learn.read_batch_features": lambda w: tf.contrib.learn.read_batch_features(
            w.path, 2, w.features, tf.TFRecordReader
        ),
        "contrib.learn.read_batch_record_features": lambda w: (
            tf.contrib.learn.read_batch_record_features(w.path, 2, w.features)
        ),
        "contrib.learn.queue_parsed_features": lambda w: learn.queue_parsed_features({"x": w.x}),
        "contrib.learn.read_keyed_batch_features": lambda w: learn.read_keyed_batch_features(
            w.path, 2, w.features, tf.TFRecordReader
        ),
        "contrib.learn.read_keyed_batch_features_shared_queue": lambda w: (
            learn.read_keyed_batch_features_shared_queue(w.path, 2, w.features, tf.TFRecordReader)
        ),
        "contrib.training.resample_at_rate": lambda w: training.resample_at_rate([w.x], [1.0, 1.0]),
        "contrib.training.weighted_resample": lambda w: training.weighted_resample(
            [w.x], [1.0, 1.0], 1.0
        ),
        "contrib.learn.run_n": lambda w: tf.contrib.learn.run_n({"x": w.x}),
        "contrib.learn.io.read_batch_features": lambda w: tf.contrib.learn.io.read_batch_features(
            w.path, 2, w.features, tf.TFRecordReader
        ),
        "contrib.training.rejection_sample": lambda w: training.rejection_sample(
            [w.x], lambda value: 1.0, 2
        ),
        "contrib.training.stratified_sample": lambda w: training.stratified_sample(
            [w.x], 0, [0.5, 0.5], 2
        ),
        "train.ClusterSpec.as_dict": lambda w: cluster.as_dict(),
        "train.ClusterSpec.job_tasks": lambda w: cluster.job_tasks("c"),
        "train.ClusterSpec.jobs": lambda w: cluster.jobs,
        "train.ClusterSpec.task_indices": lambda w: cluster.task_indices("c"),
    }


RETURNED: dict[str, Callable[[World], Any]] = {
    **_queues(),
    **_of_slim(),
    **_of_contrib(),
    "QueueBase.dequeue": lambda w: w.queue.dequeue(),
    "QueueBase.dequeue_many": lambda w: w.queue.dequeue_many(2),
    "QueueBase.dequeue_up_to": lambda w: w.queue.dequeue_up_to(2),
    "QueueBase.dtypes": lambda w: w.queue.dtypes,
    "QueueBase.names": lambda w: w.queue.names,
    "QueueBase.runners": lambda w: w.pair.runners,
    "QueueBase.shapes": lambda w: w.queue.shapes,
    "Graph.collections": lambda w: w.x.graph.collections,
    "Graph.get_all_collection_keys": lambda w: w.x.graph.get_all_collection_keys(),
    "Graph.get_collection": lambda w: w.x.graph.get_collection("variables"),
    "Graph.get_operations": lambda w: w.x.graph.get_operations(),
    "Operation.colocation_groups": lambda w: w.v.op.colocation_groups(),
    "Operation.control_inputs": lambda w: w.op.control_inputs,
    "Operation.get_attr": lambda w: [
        w.queue.queue_ref.op.get_attr(name) for name in ("component_types", "shapes")
    ],
    "Operation.outputs": lambda w: w.op.outputs,
    "Operation.traceback": lambda w: w.op.traceback,
    "SparseTensor.consumers": lambda w: tf.SparseTensor([[0]], [1], [2]).consumers(),
    "Tensor.consumers": lambda w: w.x.consumers(),
    "TensorShape.as_list": lambda w: w.shape.as_list(),
    "TensorShape.dims": lambda w: w.shape.dims,
    "VariableScope.get_collection": lambda w: tf.get_variable_scope().get_collection("variables"),
    "VariableScope.global_variables": lambda w: tf.get_variable_scope().global_variables(),
    "VariableScope.local_variables": lambda w: tf.get_variable_scope().local_variables(),
    "VariableScope.trainable_variables": lambda w: tf.get_variable_scope().trainable_variables(),
    "all_variables": lambda w: tf.all_variables(),
    "IndexedSlices.consumers": lambda w: tf.IndexedSlices(w.x, tf.constant([0, 1])).consumers(),
    "clip_by_global_norm": lambda w: tf.clip_by_global_norm([w.x], 1.0)[0],
    "losses.get_losses": lambda w: tf.losses.get_losses(),
    "losses.get_regularization_losses": lambda w: tf.losses.get_regularization_losses(),
    "config.get_visible_devices": lambda w: tf.config.get_visible_devices(),
    "config.list_logical_devices": lambda w: tf.config.list_logical_devices(),
    "config.list_physical_devices": lambda w: tf.config.list_physical_devices(),
    "config.optimizer.get_experimental_options": lambda w: (
        tf.config.optimizer.get_experimental_options()
    ),
    "cond": lambda w: tf.cond(tf.constant(True), lambda: [w.x, w.x], lambda: [w.x, w.x]),
    "decode_csv": lambda w: tf.decode_csv("1,a", [[1], [""]]),
    "dynamic_partition": lambda w: tf.dynamic_partition(w.x, [0, 1], 2),
    "get_all_collection_keys": lambda w: tf.get_all_collection_keys(),
    "get_collection": lambda w: tf.get_collection("variables"),
    "gfile.FastGFile.readlines": lambda w: lines_of(w.path),
    "fixed_size_partitioner": lambda w: tf.fixed_size_partitioner(2)(w.shape),
    "min_max_variable_partitioner": lambda w: tf.min_max_variable_partitioner(2)(w.shape, tf.int32),
    "variable_axis_size_partitioner": lambda w: tf.variable_axis_size_partitioner(2)(
        w.shape, tf.int32
    ),
    "gfile.Glob": lambda w: tf.gfile.Glob(w.path),
    "gfile.ListDirectory": lambda w: tf.gfile.ListDirectory(w.path[:-2]),
    "io.gfile.glob": lambda w: tf.io.gfile.glob(w.path),
    "io.gfile.listdir": lambda w: tf.io.gfile.listdir(w.path[:-2]),
    "io.gfile.walk": lambda w: list(tf.io.gfile.walk(w.path[:-2])),
    "gfile.Walk": lambda w: list(tf.gfile.Walk(w.path[:-2])),
    "global_variables": lambda w: tf.global_variables(),
    "identity_n": lambda w: tf.identity_n([w.x, w.x]),
    "parse_example": lambda w: tf.parse_example([b""], w.features),
    "parse_single_example": lambda w: tf.parse_single_example(b"", w.features),
    "io.parse_sequence_example": lambda w: tf.io.parse_sequence_example(
        [b""], w.features, w.sequences
    ),
    "parse_single_sequence_example": lambda w: tf.parse_single_sequence_example(
        b"", w.features, w.sequences
    ),
    "local_variables": lambda w: tf.local_variables(),
    "meshgrid": lambda w: tf.meshgrid([1, 2], [3]),
    "shape_n": lambda w: tf.shape_n([w.x, w.x]),
    "model_variables": lambda w: tf.model_variables(),
    "moving_average_variables": lambda w: tf.moving_average_variables(),
    "py_func": lambda w: tf.py_func(lambda: (1, 2), [], [tf.int64, tf.int64]),
    "sparse_split": lambda w: tf.sparse_split(sp_input=tf.sparse.eye(2), num_split=2, axis=0),
    "split": lambda w: [tf.split(w.x, 3, 1), tf.split(w.x, [2, 4], 1)],
    "trainable_variables": lambda w: tf.trainable_variables(),
    "tuple": lambda w: tf.tuple([w.x, w.x]),
    "unstack": lambda w: tf.unstack(w.x),
    "train.QueueRunner.create_threads": lambda w: w.runner.create_threads(w.session),
    "train.QueueRunner.enqueue_ops": lambda w: w.runner.enqueue_ops,
    "train.QueueRunner.exceptions_raised": lambda w: w.runner.exceptions_raised,
    "Session.list_devices": lambda w: w.session.list_devices(),
    "train.start_queue_runners": lambda w: tf.train.start_queue_runners(w.session, start=False),
    "train.Saver.last_checkpoints": lambda w: w.saver.last_checkpoints,
    "train.NewCheckpointReader.get_variable_to_dtype_map": lambda w: tf.train.NewCheckpointReader(
        w.checkpoint()
    ).get_variable_to_dtype_map(),
    "train.NewCheckpointReader.get_variable_to_shape_map": lambda w: tf.train.NewCheckpointReader(
        w.checkpoint()
    ).get_variable_to_shape_map(),
    "train.ExponentialMovingAverage.variables_to_restore": lambda w: (
        tf.train.ExponentialMovingAverage(0.9).variables_to_restore()
    ),
    "train.get_checkpoint_mtimes": lambda w: tf.train.get_checkpoint_mtimes([w.checkpoint()]),
    "train.list_variables": lambda w: tf.train.list_variables(w.checkpoint()),
    "train.batch": lambda w: tf.train.batch([w.x, w.x], 2),
    "train.batch_join": lambda w: tf.train.batch_join([[w.x, w.x]], 2),
    "train.maybe_batch": lambda w: tf.train.maybe_batch([w.x, w.x], True, 2),
    "train.maybe_batch_join": lambda w: tf.train.maybe_batch_join([[w.x, w.x]], True, 2),
    "train.maybe_shuffle_batch": lambda w: tf.train.maybe_shuffle_batch([w.x, w.x], 2, 9, 1, True),
    "train.maybe_shuffle_batch_join": lambda w: tf.train.maybe_shuffle_batch_join(
        [[w.x, w.x]], 2, 9, 1, True
    ),
    "train.shuffle_batch": lambda w: tf.train.shuffle_batch([w.x, w.x], 2, 9, 1),
    "train.shuffle_batch_join": lambda w: tf.train.shuffle_batch_join([[w.x, w.x]], 2, 9, 1),
    "train.slice_input_producer": lambda w: tf.train.slice_input_producer([w.x, w.x]),
}

_FINALIZED = "makes a list of threads for each call; the supervisor has finalized the graph"
_OF_SUBCLASSES = "a subclass makes it"
NO_LIST = {
    "contrib.slim.data_decoder.DataDecoder.decode": _OF_SUBCLASSES,
    "contrib.slim.data_decoder.DataDecoder.list_items": _OF_SUBCLASSES,
    "test.TestCase.get_recorded_properties": "absl's own: properties of a test for its report",
    "train.Supervisor.StartQueueRunners": _FINALIZED,
    "train.Supervisor.StartStandardServices": _FINALIZED,
    "train.Supervisor.start_queue_runners": _FINALIZED,
    "train.Supervisor.start_standard_services": _FINALIZED,
    "Graph.get_collection_ref": "the list itself is what it is for",
    "InteractiveSession.list_devices": "see Session",
    "contrib.training.HParams.values": "a new dict; its lists are the hyperparameters themselves",
    "contrib.training.parse_values": "makes a dict of each line",
    "import_graph_def": "makes a list of what each call asks for",
    "get_collection_ref": "the list itself is what it is for",
}

_MAKES_LISTS = re.compile(r"\b(list|dict)\[")


def exported(module: types.ModuleType, path: str = "") -> Iterator[tuple[str, Any]]:
    """Gives every function, method and property below a module of `headrace.tf1`, once."""
    seen: set[int] = set()
    modules = [(module, path)]
    while modules:
        module, path = modules.pop(0)
        for name in dir(module):
            value = getattr(module, name)
            if name.startswith("_") or id(value) in seen:
                continue
            if isinstance(value, types.ModuleType):
                if (
                    value.__name__.startswith("headrace.")
                    and value.__name__ != "headrace.core.dtypes"
                ):
                    seen.add(id(value))
                    modules.append((value, f"{path}{name}."))
            elif getattr(value, "__module__", "").startswith("headrace."):
                seen.add(id(value))
                yield from members(f"{path}{name}", value)


def members(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if inspect.isfunction(value):
        yield path, value
    if not inspect.isclass(value):
        return
    for name, member in inspect.getmembers(value):
        function = member.fget if isinstance(member, property) else member
        if not name.startswith("_") and inspect.isfunction(function):
            yield f"{path}.{name}", function


def test_every_function_that_may_return_a_list_is_tested():
    returns = {
        path: str(inspect.signature(function).return_annotation) for path, function in exported(tf)
    }
    lists = {path for path, kind in returns.items() if _MAKES_LISTS.search(kind)}
    assert sorted(lists - RETURNED.keys() - NO_LIST.keys()) == []
    assert sorted(RETURNED.keys() | NO_LIST.keys() - returns.keys()) == sorted(RETURNED)


def described(graph: tf.Graph) -> list[Any]:
    """All that a graph holds, as text."""
    ops = [
        (op.name, op.type, str(op.inputs), str(op.control_inputs), str(op.outputs), str(op.attrs))
        for op in graph.get_operations()
    ]
    keys = graph.get_all_collection_keys()
    return [ops, [(key, [str(item) for item in graph.get_collection(key)]) for key in keys]]


def spoil(value: Any) -> int:
    """Empties all lists and dicts in a value, and returns their number."""
    if isinstance(value, (list, dict)):
        items = list(value.values()) if isinstance(value, dict) else list(value)
        value.clear()
        return 1 + sum(map(spoil, items))
    return sum(map(spoil, value)) if type(value) is tuple else 0


@pytest.mark.parametrize("name", RETURNED)
def test_returned_list_belongs_to_the_caller(name, tmp_path):
    world = World(tmp_path)
    call = RETURNED[name]
    returned = call(world)
    graph = tf.get_default_graph()
    before = described(graph)
    result = spoil(returned)
    assert described(graph) == before
    if returned is not None:
        assert result
    assert world.shape.as_list() == [1, 2]
    assert world.runner.enqueue_ops
    assert len(world.queue.dtypes) == len(world.queue.shapes) == len(world.queue.names) == 2
    assert len(world.op.outputs) == len(world.op.control_inputs) == 1
    with world.session as session:
        session.run(tf.global_variables_initializer())
        assert session.run(world.op.outputs[0]).shape == (2, 6)


@pytest.mark.parametrize(
    "make",
    [
        lambda x: tf.split(x, 2, 0),
        tf.unstack,
        lambda x: tf.decode_csv("1.5,2.5", [[0.0], [0.0]]),
        lambda x: tf.dynamic_partition(x, [0, 1], 2),
        lambda x: tf.py_func(lambda a: (a, a), [x], [tf.float32, tf.float32]),
        lambda x: tf.identity_n([x, x]),
    ],
    ids=["split", "unstack", "decode_csv", "dynamic_partition", "py_func", "identity_n"],
)
def test_item_of_a_returned_list_can_be_replaced(make):
    parts = make(tf.constant([[1.0, 2.0], [3.0, 4.0]]))
    first = parts[0]
    parts[0] -= 1.0
    with tf.Session() as session:
        changed, old = session.run([parts[0], first])
    np.testing.assert_array_equal(changed, old - 1.0)
