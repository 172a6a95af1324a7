import inspect
import re
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from headrace.core.dtypes import float32, int32
from headrace.core.repr_prefix import displayed_name
from headrace.core.shapes import TensorShape
from headrace.graph import (
    Graph,
    GraphKeys,
    Tensor,
    default_session,
    get_default_graph,
    get_default_session,
    get_seed,
    graph_of,
    reset_default_graph,
    set_random_seed,
)


def make(graph, name="x", inputs=(), dtypes=(int32,), shape=(2, None)):
    """Adds an operation of a type without a kernel."""
    shapes = [TensorShape(shape)] * len(dtypes)
    return graph.create_op("Make", inputs, dtypes, output_shapes=shapes, name=name)


class Recorder:
    """A fake session that records its fetches."""

    def __init__(self, graph):
        self.graph = graph
        self.calls = []

    def run(self, fetches, feed_dict=None):
        self.calls.append((fetches, feed_dict))
        return "result"


class TestOperation:
    def test_operation_has_its_inputs_outputs_and_attributes(self):
        graph = Graph()
        x = make(graph).outputs[0]
        kernel = len
        op = graph.create_op(
            "Pair", [x, x], [int32, float32], name="pair", attrs={"a": 1}, kernel=kernel
        )
        assert (op.name, op.type, op.graph, op.kernel) == ("pair", "Pair", graph, kernel)
        assert op.inputs == (x, x)
        assert op.control_inputs == []
        assert [t.name for t in op.outputs] == ["pair:0", "pair:1"]
        assert [t.dtype for t in op.outputs] == [int32, float32]
        assert [t.value_index for t in op.values()] == [0, 1]
        assert op.outputs[0].shape.rank is None
        assert op.get_attr("a") == 1
        assert op.device == ""
        assert x.consumers() == [op, op]

    def test_unknown_attribute_is_rejected(self):
        op = make(Graph())
        with pytest.raises(ValueError, match="Operation 'x' has no attr named 'foo'"):
            op.get_attr("foo")

    def test_operation_has_a_node_def(self):
        graph = Graph()
        pair = make(graph, "pair", dtypes=(int32, int32))
        with graph.control_dependencies([make(graph, "first")]):
            op = make(graph, "last", pair.outputs)
        assert op.node_def.name == "last"
        assert op.node_def.op == "Make"
        assert op.node_def.input == ["pair", "pair:1", "^first"]
        assert str(op).startswith('name: "last"\nop: "Make"\ninput: "pair"\n')
        assert repr(op) == f"<{displayed_name('headrace', 'Operation')} 'last' type=Make>"
        assert [node.name for node in graph.as_graph_def().node] == ["pair", "first", "last"]

    def test_operation_records_the_line_in_the_user_program(self):
        line = inspect.currentframe().f_lineno + 1
        op = make(Graph())
        maker = make.__code__.co_firstlineno + 3
        assert op.defined_at == f"{__file__}:{maker}"
        assert op.traceback[0].name == "make"
        assert line > maker

    def test_inputs_must_be_tensors_of_the_same_graph(self):
        graph, other = Graph(), Graph()
        with pytest.raises(TypeError, match="input needs to be a Tensor: 3"):
            make(graph, inputs=[3])
        with pytest.raises(ValueError, match="is not from this graph"):
            make(graph, inputs=make(other).outputs)

    def test_operation_runs_in_the_default_or_an_explicit_session(self):
        op = make(Graph())
        with pytest.raises(
            ValueError,
            match=re.escape("Cannot execute operation using `run()`: No default session"),
        ):
            op.run()
        session = Recorder(op.graph)
        with default_session(session):
            op.run({"a": 1})
        op.run(session=session)
        assert session.calls == [(op, {"a": 1}), (op, None)]

    def test_operation_rejects_a_session_of_a_different_graph(self):
        op, stranger = make(Graph()), Recorder(Graph())
        with pytest.raises(ValueError, match="Cannot use the given session to execute operation"):
            op.run(session=stranger)
        with (
            default_session(stranger),
            pytest.raises(ValueError, match="Cannot use the default session to execute operation"),
        ):
            op.run()


class TestTensor:
    def test_tensor_str_and_repr(self):
        graph = Graph()
        expected, unknown = make(graph).outputs[0], make(graph, "y", shape=None).outputs[0]
        tensor = displayed_name("headrace", "Tensor")
        assert repr(expected) == f"<{tensor} 'x:0' shape=(2, ?) dtype=int32>"
        assert str(expected) == 'Tensor("x:0", shape=(2, ?), dtype=int32)'
        assert repr(unknown) == f"<{tensor} 'y:0' shape=<unknown> dtype=int32>"
        assert str(unknown) == 'Tensor("y:0", dtype=int32)'

    def test_tensor_equals_only_itself(self):
        pair = make(Graph(), dtypes=(int32, int32))
        first, second = pair.outputs
        assert first == pair.outputs[0]
        assert first != second
        assert len({first, second, first}) == 2

    def test_tensor_shape_can_be_refined_but_not_contradicted(self):
        x = make(Graph()).outputs[0]
        x.set_shape([None, 3])
        assert x.shape.as_list() == x.get_shape().as_list() == [2, 3]
        x.set_shape(None)
        with pytest.raises(
            ValueError,
            match=re.escape(
                "Dimension 0 in both shapes must be equal, but are 2 and 4. "
                "Shapes are [2,3] and [4,?]."
            ),
        ):
            x.set_shape([4, None])
        with pytest.raises(ValueError, match="Shapes must be equal rank, but are 2 and 1"):
            x.set_shape([2])
        assert x.shape.as_list() == [2, 3]

    def test_tensor_rejects_iteration_bool_and_array_conversion(self):
        x = make(Graph()).outputs[0]
        with pytest.raises(
            TypeError, match="Tensor objects are only iterable when eager execution is enabled"
        ):
            list(x)
        with pytest.raises(
            TypeError, match=r"Using a `tf.Tensor` as a Python `bool` is not allowed"
        ):
            bool(x)
        with pytest.raises(NotImplementedError, match=r"Cannot convert a symbolic Tensor .x:0."):
            np.asarray(x)

    def test_tensor_evaluates_in_the_default_or_an_explicit_session(self):
        x = make(Graph()).outputs[0]
        with pytest.raises(
            ValueError, match=re.escape("Cannot evaluate tensor using `eval()`: No default session")
        ):
            x.eval()
        session = Recorder(x.graph)
        with default_session(session):
            assert x.eval({"a": 1}) == "result"
        assert x.eval(session=session) == "result"
        assert session.calls == [(x, {"a": 1}), (x, None)]

    def test_tensor_rejects_a_session_of_a_different_graph(self):
        x, stranger = make(Graph()).outputs[0], Recorder(Graph())
        with pytest.raises(ValueError, match="Cannot use the given session to evaluate tensor"):
            x.eval(session=stranger)
        with (
            default_session(stranger),
            pytest.raises(ValueError, match="Cannot use the default session to evaluate tensor"),
        ):
            x.eval()


class TestLookup:
    @pytest.fixture
    def graph(self):
        graph = Graph()
        make(graph)
        return graph

    def test_elements_are_looked_up_by_name(self, graph):
        op = graph.get_operations()[0]
        assert graph.as_graph_element("x") is op
        assert graph.as_graph_element(b"x:0") is op.outputs[0]
        assert graph.as_graph_element(op) is op
        assert graph.as_graph_element(op.outputs[0]) is op.outputs[0]
        assert graph.get_operation_by_name("x") is op
        assert graph.get_tensor_by_name("x:0") is op.outputs[0]

    def test_object_can_represent_a_graph_element(self, graph):
        x = graph.get_tensor_by_name("x:0")

        class Stand:
            def _as_graph_element(self):
                return x

        assert graph.as_graph_element(Stand()) is x

    @pytest.mark.parametrize(
        ("call", "error", "words"),
        [
            (
                lambda g: g.as_graph_element(3),
                TypeError,
                "Can not convert a int into a Tensor or Operation.",
            ),
            (
                lambda g: g.as_graph_element("x:1:2"),
                ValueError,
                "The name 'x:1:2' looks a like a Tensor name, but is not a valid one. Tensor "
                'names must be of the form "<op_name>:<output_index>".',
            ),
            (
                lambda g: g.as_graph_element("x:1"),
                KeyError,
                "The name 'x:1' refers to a Tensor which does not exist. The operation, 'x', "
                "exists but only has 1 outputs.",
            ),
            (
                lambda g: g.as_graph_element("y:0"),
                KeyError,
                "The name 'y:0' refers to a Tensor which does not exist. The operation, 'y', "
                "does not exist in the graph.",
            ),
            (
                lambda g: g.as_graph_element("y"),
                KeyError,
                "The name 'y' refers to an Operation not in the graph.",
            ),
            (
                lambda g: g.get_operation_by_name("x:0"),
                ValueError,
                "Name 'x:0' appears to refer to a Tensor, not a Operation.",
            ),
            (
                lambda g: g.get_tensor_by_name("x"),
                ValueError,
                "The name 'x' refers to an Operation, not a Tensor. Tensor names must be of the "
                'form "<op_name>:<output_index>".',
            ),
            (
                lambda g: g.get_tensor_by_name("y"),
                ValueError,
                "The name 'y' looks like an (invalid) Operation name, not a Tensor.",
            ),
            (
                lambda g: g.as_graph_element("x", False, False),
                ValueError,
                "allow_tensor and allow_operation can't both be False.",
            ),
            (
                lambda g: g.get_tensor_by_name(3),
                TypeError,
                "Tensor names are strings (or similar), not int.",
            ),
            (
                lambda g: g.get_operation_by_name(3),
                TypeError,
                "Operation names are strings (or similar), not int.",
            ),
        ],
    )
    def test_lookup_errors_explain_how_the_name_was_parsed(self, graph, call, error, words):
        with pytest.raises(error, match=re.escape(words)):
            call(graph)

    def test_elements_of_a_different_graph_are_rejected(self, graph):
        stranger = make(Graph(), "z")
        with pytest.raises(
            ValueError, match=re.escape('Tensor Tensor("z:0", shape=(2, ?), dtype=int32) is not an')
        ):
            graph.as_graph_element(stranger.outputs[0])
        with pytest.raises(ValueError, match="is not an element of this graph"):
            graph.as_graph_element(stranger)


class TestCollections:
    def test_collections_keep_insertion_order(self):
        graph = Graph()
        graph.add_to_collection("a", 1)
        graph.add_to_collections(["a", "b"], 2)
        graph.add_to_collections("b", 3)
        assert graph.get_collection("a") == [1, 2]
        assert graph.get_collection("b") == [2, 3]
        assert graph.get_collection("none") == []
        assert sorted(graph.get_all_collection_keys()) == ["a", "b"]
        assert sorted(graph.collections) == ["a", "b"]

    def test_get_collection_copies_and_get_collection_ref_does_not(self):
        graph = Graph()
        graph.get_collection("a").append(1)
        assert graph.get_collection("a") == []
        graph.get_collection_ref("a").append(1)
        assert graph.get_collection("a") == [1]
        graph.clear_collection("a")
        assert graph.get_collection("a") == []

    def test_collections_can_be_filtered_by_name_prefix(self):
        graph = Graph()
        inner, outer = make(graph, "scope_x"), make(graph, "x")
        for item in (inner, outer, 3):
            graph.add_to_collection("ops", item)
        assert graph.get_collection("ops", scope="scope") == [inner]
        assert graph.get_collection("ops", scope=".*x") == [inner, outer]

    def test_standard_collection_names(self):
        assert GraphKeys.GLOBAL_VARIABLES == GraphKeys.VARIABLES == "variables"
        assert GraphKeys.LOCAL_VARIABLES == "local_variables"
        assert GraphKeys.TRAINABLE_VARIABLES == "trainable_variables"
        assert GraphKeys.QUEUE_RUNNERS == "queue_runners"
        assert GraphKeys.SUMMARIES == "summaries"


def test_finalized_graph_cannot_be_changed():
    graph = Graph()
    graph.finalize()
    assert graph.finalized
    for change in (
        lambda: make(graph),
        lambda: graph.add_to_collection("a", 1),
        lambda: graph.clear_collection("a"),
    ):
        with pytest.raises(RuntimeError, match="Graph is finalized and cannot be modified"):
            change()


def test_feeding_and_fetching_can_be_prevented():
    graph = Graph()
    op = make(graph)
    x = op.outputs[0]
    assert graph.is_feedable(x)
    assert graph.is_fetchable(x)
    graph.prevent_feeding(x)
    graph.prevent_fetching(op)
    assert not graph.is_feedable(x)
    assert not graph.is_fetchable(x)
    assert not graph.is_fetchable(op)


class TestDefaults:
    def test_innermost_graph_is_the_default(self):
        outer = get_default_graph()
        graph, inner = Graph(), Graph()
        with graph.as_default() as entered:
            assert entered is graph
            with inner.as_default():
                assert get_default_graph() is inner
            assert get_default_graph() is graph
        assert get_default_graph() is outer

    def test_new_thread_does_not_inherit_the_defaults_of_its_parent(self):
        graph, seen = Graph(), []
        with graph.as_default(), default_session("session"):
            thread = threading.Thread(
                target=lambda: seen.append((get_default_graph(), get_default_session()))
            )
            thread.start()
            thread.join(10)
            assert get_default_session() == "session"
        assert seen == [(get_default_graph(), None)]
        assert get_default_session() is None

    def test_reset_default_graph_creates_a_new_graph(self):
        old = get_default_graph()
        reset_default_graph()
        assert get_default_graph() is not old
        with (
            Graph().as_default(),
            pytest.raises(AssertionError, match=r"Do not use tf.reset_default_graph.. to clear"),
        ):
            reset_default_graph()

    def test_graphs_must_be_exited_in_reverse_order(self):
        first, second = Graph().as_default(), Graph().as_default()
        first.__enter__()
        second.__enter__()
        with pytest.raises(AssertionError, match="Nesting violated for default stack"):
            first.__exit__(None, None, None)
        second.__exit__(None, None, None)
        assert get_default_graph() is not None

    def test_sessions_can_be_exited_in_any_order(self):
        first, second = (
            default_session(name, is_nesting_enforced=False) for name in ("first", "second")
        )
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert get_default_session() == "second"
        second.__exit__(None, None, None)
        assert get_default_session() is None

    def test_graph_of_returns_the_graph_shared_by_the_values(self):
        graph, other = Graph(), Graph()
        x, y = make(graph).outputs[0], make(other, "y").outputs[0]
        assert graph_of([1, x, "a"]) is graph
        assert graph_of([1]) is get_default_graph()
        with pytest.raises(
            ValueError,
            match=re.escape(
                'Tensor("y:0", shape=(2, ?), dtype=int32) must be from the same graph as '
                'Tensor("x:0", shape=(2, ?), dtype=int32).'
            ),
        ):
            graph_of([x, y])


class TestSeeds:
    def test_get_seed_without_seeds_returns_none(self):
        assert get_seed(None) == (None, None)

    def test_operation_seed_alone_is_used(self):
        assert get_seed(5) == (87654321, 5)
        assert get_seed(0) == (87654321, 0)
        assert get_seed(2**31) == (87654321, 1)

    def test_graph_seed_alone_is_combined_with_a_counter(self):
        set_random_seed(3)
        assert get_seed(None) == (3, 0)
        make(get_default_graph())
        assert get_seed(None) == (3, 1)

    def test_both_seeds_are_used(self):
        set_random_seed(3)
        assert get_seed(5) == (3, 5)

    def test_two_zero_seeds_are_changed(self):
        set_random_seed(0)
        assert get_seed(0) == (0, 2**31 - 1)


def test_many_threads_can_add_operations_at_once():
    graph, start = Graph(), threading.Barrier(8)

    def add(number):
        start.wait(10)
        with graph.name_scope(f"thread{number}"):
            return [make(graph, "x").name for _ in range(200)] + [
                make(graph, "same/").name if number == 0 else ""
            ]

    with ThreadPoolExecutor(8) as pool:
        names = [name for part in pool.map(add, range(8)) for name in part if name]
    assert len(names) == len(set(names)) == 8 * 200 + 1
    assert {op.name for op in graph.get_operations()} == set(names)
    assert sorted(op._id for op in graph.get_operations()) == list(range(1, 1602))


def test_operators_can_be_registered():
    x = make(Graph()).outputs[0]
    Tensor.register_operator("__pos__", lambda tensor: ("plus", tensor))
    try:
        assert +x == ("plus", x)
    finally:
        del Tensor.__pos__
