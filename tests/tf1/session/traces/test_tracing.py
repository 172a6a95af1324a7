"""Runs that record the begin and the end of each operation."""

import json
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace.tf1 as tf
from headrace.tf1.protos import NodeExecStats, StepStats
from headrace.tf1.session.traces.timeline import Timeline

FULL = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)


def traced(
    fetches: Any, feed_dict: Any = None, options: tf.RunOptions = FULL
) -> tuple[Any, dict[str, NodeExecStats]]:
    """Returns the results of a run, and its trace of each operation."""
    metadata = tf.RunMetadata()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        values = session.run(fetches, feed_dict, options=options, run_metadata=metadata)
    (device,) = metadata.step_stats.dev_stats
    assert device.device == session.list_devices()[0].name
    return values, {node.node_name: node for node in device.node_stats}


def test_trace_contains_operations_with_inputs_and_outputs() -> None:
    x = tf.placeholder(tf.float32, [2, 3], name="x")
    product = tf.matmul(x, tf.ones([3, 4]), name="product")
    value, nodes = traced(product, {x: np.ones([2, 3])})
    np.testing.assert_array_equal(value, np.full([2, 4], 3))
    assert nodes["product"].timeline_label == "product = MatMul(x, ones)"
    (output,) = nodes["product"].output
    tensor = output.tensor_description
    assert [dim.size for dim in tensor.shape.dim] == [2, 4]
    assert (tensor.dtype, tensor.allocation_description.requested_bytes) == (tf.float32, 32)


def test_trace_contains_python_functions_and_variables() -> None:
    variable = tf.Variable([1.0, 2.0], name="v")
    doubled = tf.py_func(lambda array: array * 2, [variable], tf.float32, name="doubled")
    value, nodes = traced(doubled)
    np.testing.assert_array_equal(value, [2, 4])
    assert nodes["doubled"].all_start_micros >= nodes["v"].all_start_micros
    assert [dim.size for dim in nodes["doubled"].output[0].tensor_description.shape.dim] == [2]


def test_trace_omits_a_branch_that_was_not_taken() -> None:
    x = tf.placeholder(tf.int32, [])
    chosen = tf.cond(
        x > 0, lambda: tf.negative(x, name="negative"), lambda: tf.square(x, name="square")
    )
    value, nodes = traced(chosen, {x: 3})
    assert value == -3
    assert "cond/negative" in nodes
    assert "cond/square" not in nodes


def test_trace_includes_the_wait_for_an_element() -> None:
    queue = tf.FIFOQueue(1, tf.int32, shapes=[])
    dequeue = queue.dequeue(name="dequeue")
    enqueue = queue.enqueue(7)
    metadata = tf.RunMetadata()
    with tf.Session() as session:
        thread = threading.Timer(0.05, session.run, [enqueue])
        thread.start()
        assert session.run(dequeue, options=FULL, run_metadata=metadata) == 7
        thread.join()
    (device,) = metadata.step_stats.dev_stats
    (span,) = [node for node in device.node_stats if node.node_name == "dequeue"]
    assert span.all_end_rel_micros > 0
    assert span.output[0].tensor_description.dtype == tf.int32


def test_run_without_a_trace_clears_the_metadata() -> None:
    x = tf.negative(tf.placeholder_with_default(1.0, []))
    metadata = tf.RunMetadata()
    with tf.Session() as session:
        for options in (FULL, None, tf.RunOptions(trace_level=tf.RunOptions.NO_TRACE)):
            session.run(x, options=options, run_metadata=metadata)
            assert len(metadata.step_stats.dev_stats) == (1 if options is FULL else 0)
        session.make_callable(x)(options=FULL, run_metadata=metadata)
        assert len(metadata.step_stats.dev_stats) == 1


def test_partition_graph_contains_the_executed_operations() -> None:
    x = tf.constant(1.0, name="x")
    expected = tf.negative(x, name="wanted")
    tf.square(x, name="other")
    options = tf.RunOptions(output_partition_graphs=True)
    metadata = tf.RunMetadata()
    with tf.Session() as session:
        session.run(expected, options=options, run_metadata=metadata)
    (graph,) = metadata.partition_graphs
    assert [node.name for node in graph.node] == ["x", "wanted"]
    assert not metadata.step_stats.dev_stats


def test_metadata_of_the_wrong_class_is_rejected() -> None:
    with tf.Session() as session, pytest.raises(TypeError, match=r"expected tf.RunMetadata"):
        session.run(tf.constant(1), options=FULL, run_metadata={})


def test_failing_traced_run_names_the_operation() -> None:
    failing = tf.check_numerics(tf.placeholder_with_default(np.nan, []), "no number", name="check")
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        traced(failing)
    assert caught.value.op is failing.op


def stats_of(*spans: tuple[str, int, int]) -> StepStats:
    """Step statistics of operations, with a label, a beginning and a duration each."""
    nodes = [
        NodeExecStats(
            node_name=label.partition(" = ")[0],
            timeline_label=label,
            all_start_micros=begin,
            all_end_rel_micros=duration,
        )
        for label, begin, duration in spans
    ]
    stats = StepStats()
    stats.dev_stats.add(device="/cpu:0", node_stats=nodes)
    return stats


def test_timeline_shows_overlapping_operations_in_lanes_with_arrows() -> None:
    stats = stats_of(("a = Slow()", 10, 50), ("b = Fast()", 20, 5), ("c = Add(a, b:1)", 60, 1))
    events = json.loads(Timeline(stats).generate_chrome_trace_format())["traceEvents"]
    ops = {event["args"]["name"]: event for event in events if event["ph"] == "X"}
    assert [ops[name]["tid"] for name in "abc"] == [0, 1, 0]
    assert (ops["a"]["ts"], ops["a"]["dur"]) == (10, 50)
    assert ops["c"]["args"] == {"name": "c", "op": "Add", "input0": "a", "input1": "b:1"}
    arrows = [(event["ph"], event["tid"], event["ts"]) for event in events if event["ph"] in "st"]
    assert arrows == [("s", 1, 25), ("t", 0, 60)]
    without = Timeline(stats).generate_chrome_trace_format(show_dataflow=False)
    assert not [event for event in json.loads(without)["traceEvents"] if event["ph"] in "st"]


def test_metadata_is_written_to_event_files_under_tags(tmp_path: Path) -> None:
    metadata = tf.RunMetadata()
    with tf.Session() as session:
        x = tf.negative(tf.placeholder_with_default(1.0, []), name="negative")
        session.run(x, options=FULL, run_metadata=metadata)
    with tf.summary.FileWriter(tmp_path) as writer:
        writer.add_run_metadata(metadata, "step1", 1)
        with pytest.raises(ValueError, match="already used"):
            writer.add_run_metadata(metadata, "step1", 2)
    (path,) = tmp_path.iterdir()
    (event,) = [e for e in tf.train.summary_iterator(str(path)) if e.step == 1]
    assert event.tagged_run_metadata.tag == "step1"
    assert tf.RunMetadata.FromString(event.tagged_run_metadata.run_metadata) == metadata


def test_cost_graph_lists_each_operation_with_inputs_and_outputs() -> None:
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    assigned = tf.assign(tf.Variable(0.0), 1.0, name="assigned")
    slow = tf.py_func(slowly_doubled, [x], tf.float32, name="slow")
    with tf.control_dependencies([assigned]):
        total = tf.square(slow, name="total")
    metadata = tf.RunMetadata()
    config = tf.ConfigProto(graph_options=tf.GraphOptions(build_cost_model=1))
    with tf.Session(config=config) as session:
        value = session.run(total, {x: np.ones([2, 3])}, run_metadata=metadata)
        device = session.list_devices()[0].name
    np.testing.assert_array_equal(value, np.full([2, 3], 4))
    assert not metadata.step_stats.dev_stats
    nodes = {node.name: node for node in metadata.cost_graph.node}
    assert {node.device for node in nodes.values()} == {device}
    names = {node.id: name for name, node in nodes.items()}
    assert len(names) == len(nodes)
    assert names[nodes["total"].input_info[0].preceding_node] == "slow"
    assert [names[number] for number in nodes["total"].control_input] == ["assigned"]
    (output,) = nodes["slow"].output_info
    assert [dim.size for dim in output.shape.dim] == [2, 3]
    assert (output.size, output.dtype, output.alias_input_port) == (24, tf.float32, -1)
    assert nodes["slow"].compute_cost >= 1000


def slowly_doubled(array: Any) -> Any:
    end = time.perf_counter() + 0.001
    while time.perf_counter() < end:
        pass
    return array * 2


@pytest.mark.parametrize(
    ("every", "after", "expected"),
    [
        (2, None, [2, 4, 6]),
        (3, None, [3, 6]),
        (3, 1, [4, 7]),
        (2, 5, [7]),
        (1, 3, [4, 5, 6, 7]),
        (0, None, []),
        (-2, None, []),
    ],
)
def test_build_cost_model_reports_costs_of_every_nth_run(
    every: int, after: int | None, expected: list[int]
) -> None:
    x = tf.placeholder(tf.float32, [])
    y, z = tf.sqrt(x), tf.square(x)
    options = tf.GraphOptions(build_cost_model=every)
    if after is not None:
        options.build_cost_model_after = after
    reported = []
    with tf.Session(config=tf.ConfigProto(graph_options=options)) as session:
        call = session.make_callable([z, y], [x], accept_options=True)
        for number in range(1, 8):
            metadata = tf.RunMetadata()
            # Runs without metadata count, and so does the same run through a callable.
            if number == 1:
                session.run([y, z], {x: 4.0})
            elif number == 2:
                call(4.0, run_metadata=metadata)
            else:
                session.run([y, z], {x: 4.0}, run_metadata=metadata)
            session.run(y, {x: 4.0})  # Has its own count.
            if metadata.cost_graph.node:
                reported.append(number)
    assert reported == [number for number in expected if number > 1]


def test_build_cost_model_counts_runs_of_a_single_fetch() -> None:
    y = tf.square(tf.constant(3.0))
    options = tf.GraphOptions(build_cost_model=3)
    with tf.Session(config=tf.ConfigProto(graph_options=options)) as session:
        session.run(y)
        session.run(y)
        metadata = tf.RunMetadata()
        assert session.run(y, run_metadata=metadata) == 9.0
    assert metadata.cost_graph.node


def test_session_without_build_cost_model_reports_no_costs() -> None:
    metadata = tf.RunMetadata()
    with tf.Session() as session:
        session.run(tf.constant(1), options=FULL, run_metadata=metadata)
    assert not metadata.cost_graph.node
