"""A pipeline without a default graph, without collections, and without TensorFlow's names."""

import pytest

from headrace.core.errors import OutOfRangeError
from headrace.graph import Graph, get_default_graph
from headrace.tf1 import input, ops
from headrace.tf1.coordinator import Coordinator
from headrace.tf1.graph_dependencies import runners_of, start_runners, variables_of
from headrace.tf1.queue_runners import QueueRunner
from headrace.tf1.session import Session

SECONDS = 20


@pytest.fixture
def no_collections(monkeypatch) -> None:
    """Makes each look into a collection fail."""

    def refuse(*_args, **_kwargs):
        raise AssertionError("a collection was looked into")

    monkeypatch.setattr(Graph, "get_collection", refuse)
    monkeypatch.setattr(Graph, "get_collection_ref", refuse)


def drained(session, fetches, coord):
    """All values of some fetches, until the input ends."""
    values = []
    try:
        while not coord.should_stop():
            values.append(session.run(fetches))
    except OutOfRangeError:
        return values
    finally:
        coord.request_stop()


@pytest.mark.usefixtures("no_collections")
def test_pipeline_requires_neither_a_default_graph_nor_collections(tmp_path):
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for number, path in enumerate(paths):
        path.write_text("".join(f"{10 * number + row},{row / 2}\n" for row in range(5)))
    graph = Graph()
    names = graph.make(ops.constant, [str(path) for path in paths])
    files = input.string_input_producer(names, num_epochs=2)
    record = graph.make(ops.TextLineReader).read(files).value
    number, half = ops.decode_csv(record, [[0], [0.0]])
    batch = input.shuffle_batch([number, half + 1], 4, 20, 5, allow_smaller_final_batch=True)
    assert [runner.queue.name for runner in runners_of(batch)] == [
        "shuffle_batch/random_shuffle_queue",
        "input_producer",
    ]
    coord = Coordinator()
    with Session(graph=graph) as session:
        session.run(ops.variables_initializer(variables_of(batch)))
        threads = start_runners(session, runners_of(batch), coord)
        batches = drained(session, batch, coord)
        coord.join(threads, stop_grace_period_secs=SECONDS)
    numbers = sorted(int(x) for numbers, _ in batches for x in numbers)
    assert numbers == sorted(2 * [*range(5), *range(10, 15)])
    assert get_default_graph().get_operations() == []


@pytest.mark.usefixtures("no_collections")
def test_explicit_queues_and_runners_need_no_default_graph():
    graph = Graph()
    queue = graph.make(ops.FIFOQueue, 3, ["int32"], shapes=[[]])
    step = graph.make(ops.Variable, 0, name="step")
    counted = step.assign_add(1)
    runner = QueueRunner(queue, [queue.enqueue(counted)])
    taken = queue.dequeue_many(4)
    coord = Coordinator()
    with Session(graph=graph) as session:
        session.run([variable.initializer for variable in variables_of(taken)])
        threads = start_runners(session, [runner], coord)
        assert session.run(taken).tolist() == [1, 2, 3, 4]
        coord.request_stop()
        coord.join(threads, stop_grace_period_secs=SECONDS)
    assert get_default_graph().get_operations() == []


def queue_with_runner(graph, value):
    queue = graph.make(ops.FIFOQueue, 3, ["int32"], shapes=[[]])
    return queue, QueueRunner(queue, [queue.enqueue(value)])


def test_runners_of_finds_runners_through_queues_branches_and_structures():
    graph = Graph()
    first, first_runner = queue_with_runner(graph, 1)
    second, second_runner = queue_with_runner(graph, first.dequeue())
    chosen, chosen_runner = queue_with_runner(graph, 3)
    size = second.size()
    either = ops.cond(chosen.dequeue() > 0, lambda: size + 1, lambda: size)
    result = runners_of({"x": (either,)})
    assert set(result) == {first_runner, second_runner, chosen_runner}
    assert result.index(second_runner) < result.index(first_runner)
    assert runners_of(second) == [second_runner, first_runner]
    assert runners_of(first.dequeue().op) == [first_runner]
    index = graph.make(ops.placeholder, "int32", [])
    selected = ops.QueueBase.from_list(index, [first, chosen])
    assert runners_of(selected.dequeue()) == [first_runner, chosen_runner]
    assert selected.runners == []


def test_queue_objects_of_one_operation_have_the_same_runners():
    graph = Graph()
    queue, runner = queue_with_runner(graph, 1)
    other = ops.QueueBase(queue.dtypes, queue.shapes, None, queue.queue_ref)
    assert other.runners == queue.runners == [runner]


def test_variables_of_finds_variables_in_initial_values():
    graph = Graph()
    first = graph.make(ops.Variable, 1)
    second = ops.Variable(first.initialized_value() + 1)
    assert set(variables_of(second.value() * 2)) == {first, second}
    assert variables_of([]) == []


def test_non_tensor_is_rejected_with_its_value():
    with pytest.raises(TypeError, match=r"upstream: got 'x', expected tensors, operations, queues"):
        runners_of(["x"])


def test_make_restores_the_default_graph():
    graph = Graph()
    with pytest.raises(TypeError):
        graph.make(ops.placeholder, object())
    assert graph.make(ops.constant, 1, name="one").name == "one:0"
    assert get_default_graph() is not graph
