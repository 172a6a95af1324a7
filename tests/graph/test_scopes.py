import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.dtypes import int32
from headrace.graph import Graph, control_dependencies, device, get_default_graph, name_scope


def make(graph, name=None, inputs=()):
    return graph.create_op("NoOp", inputs, [int32], name=name)


class TestNames:
    def test_default_operation_name_is_its_type(self):
        assert make(Graph()).name == "NoOp"
        assert make(Graph(), "").name == "NoOp"

    def test_repeated_names_are_numbered(self):
        graph = Graph()
        assert [make(graph, "x").name for _ in range(3)] == ["x", "x_1", "x_2"]

    def test_number_in_use_is_skipped(self):
        graph = Graph()
        names = [make(graph, name).name for name in ("x", "x_1", "x", "x_1", "x")]
        assert names == ["x", "x_1", "x_2", "x_1_1", "x_3"]

    def test_names_that_differ_only_in_case_collide(self):
        graph = Graph()
        assert [make(graph, name).name for name in ("Foo", "foo", "FOO")] == [
            "Foo",
            "foo_1",
            "FOO_2",
        ]

    def test_unique_name_can_skip_reserving_the_name(self):
        graph = Graph()
        assert graph.unique_name("x", mark_as_used=False) == "x"
        assert graph.unique_name("x") == "x"
        assert graph.unique_name("x") == "x_1"

    @pytest.mark.parametrize("name", ["a", "A.b-c/d_e", "9x", ".x", "a>b", "a\\b"])
    def test_valid_names_are_accepted(self, name):
        assert make(Graph(), name).name == name

    @pytest.mark.parametrize("name", ["_a", "-a", "/a", ">a", "a b", "é", "a:0", "a^"])
    def test_invalid_names_are_rejected(self, name):
        with pytest.raises(ValueError, match=re.escape(f"'{name}' is not a valid node name")):
            make(Graph(), name)

    def test_name_with_a_trailing_slash_is_used_as_is(self):
        graph = Graph()
        with graph.name_scope("s") as scope:
            assert make(graph, scope).name == "s"
            with pytest.raises(ValueError, match="Duplicate node name in graph: 's'"):
                make(graph, scope)

    @given(st.lists(st.sampled_from(["x", "X", "x_1", "x_2", "x_1_1", "y"]), max_size=20))
    def test_generated_names_never_repeat(self, expected):
        graph = Graph()
        outputs = [make(graph, name).name for name in expected]
        assert len({name.lower() for name in outputs}) == len(outputs)
        assert all(name.startswith(want) for name, want in zip(outputs, expected, strict=True))


class TestScopes:
    def test_name_scopes_prefix_names(self):
        graph = Graph()
        with graph.name_scope("a") as a, graph.name_scope("b") as b:
            assert (a, b) == ("a/", "a/b/")
            assert graph.get_name_scope() == "a/b"
            assert make(graph, "x").name == "a/b/x"
        assert make(graph, "x").name == "x"
        assert graph.get_name_scope() == ""

    def test_name_scopes_are_numbered_like_names(self):
        graph = Graph()
        names = []
        for name in ("s", "s", "S"):
            with graph.name_scope(name):
                names.append(make(graph, "x").name)
        assert names == ["s/x", "s_1/x", "S_2/x"]

    def test_name_scope_can_be_reentered(self):
        graph = Graph()
        with graph.name_scope("s") as scope:
            make(graph, "x")
        with graph.name_scope("other"), graph.name_scope(scope):
            assert make(graph, "x").name == "s/x_1"

    @pytest.mark.parametrize("name", [None, ""])
    def test_empty_name_scope_returns_to_the_root(self, name):
        graph = Graph()
        with graph.name_scope("s"), graph.name_scope(name) as scope:
            assert scope == ""
            assert make(graph, "x").name == "x"

    def test_name_scopes_are_validated(self):
        graph = Graph()
        with (
            pytest.raises(ValueError, match="'_a' is not a valid scope name"),
            graph.name_scope("_a"),
        ):
            pass
        with graph.name_scope("a"):
            with graph.name_scope("_b") as inner:
                assert inner == "a/_b/"
            with (
                pytest.raises(ValueError, match="'b c' is not a valid scope name"),
                graph.name_scope("b c"),
            ):
                pass

    def test_name_scope_ends_on_an_error(self):
        graph = Graph()
        with pytest.raises(KeyError), graph.name_scope("a"):
            raise KeyError
        assert graph.get_name_scope() == ""

    def test_name_scope_accepts_a_default_name_and_values(self):
        graph = Graph()
        x = make(graph).outputs[0]
        with name_scope(None, "default", [x]) as scope:
            assert scope == "default/"
            assert get_default_graph() is graph
        assert get_default_graph() is not graph
        with name_scope("given", "default") as scope:
            assert scope == "given/"
        assert name_scope("given").name == "given"

    def test_name_scope_requires_a_name(self):
        with (
            pytest.raises(ValueError, match=r"At least one of name .None. and default_name .None."),
            name_scope(None, None, [1]),
        ):
            pass
        with pytest.raises(TypeError, match=r"`default_name` type .* is not a string type"):
            name_scope("x", ["x"])


class TestControlDependencies:
    def test_control_dependencies_apply_inside_the_block(self):
        graph = Graph()
        first, tensor = make(graph, "a"), make(graph, "b").outputs[0]
        with graph.control_dependencies([first, tensor, first]):
            assert make(graph).control_inputs == [first, tensor.op]
        assert make(graph).control_inputs == []

    def test_nested_control_dependencies_add_up(self):
        graph = Graph()
        a, b = make(graph, "a"), make(graph, "b")
        with graph.control_dependencies([a]), graph.control_dependencies([a, b]):
            assert make(graph).control_inputs == [a, b]

    def test_control_dependencies_none_drops_the_outer_blocks(self):
        graph = Graph()
        a, b = make(graph, "a"), make(graph, "b")
        with graph.control_dependencies([a]):
            with graph.control_dependencies(None):
                assert make(graph).control_inputs == []
                with graph.control_dependencies([b]):
                    assert make(graph).control_inputs == [b]
            assert make(graph).control_inputs == [a]

    def test_control_dependencies_implied_by_inputs_are_omitted(self):
        graph = Graph()
        a = make(graph, "a")
        with graph.control_dependencies([a]):
            inner = make(graph, "inner")
            assert make(graph, inputs=inner.outputs).control_inputs == []
            assert make(graph, inputs=a.outputs).control_inputs == []

    @pytest.mark.parametrize(
        ("item", "error", "words"),
        [
            (3, TypeError, "Can not convert a int into a Tensor or Operation"),
            ("missing", KeyError, "refers to an Operation not in the graph"),
            (make(Graph(), "z"), ValueError, "is not an element of this graph"),
        ],
    )
    def test_control_dependencies_reject_values_that_are_not_operations(self, item, error, words):
        with pytest.raises(error, match=words):
            Graph().control_dependencies([item])

    def test_control_dependencies_function_uses_the_default_graph(self):
        graph = get_default_graph()
        a = make(graph, "a")
        with control_dependencies([a]):
            assert make(graph).control_inputs == [a]


def test_devices_colocation_and_containers_are_accepted():
    graph = get_default_graph()
    op = make(graph)
    with device("/cpu:0"), graph.device(None), graph.colocate_with(op), graph.container("c"):
        assert make(graph).device == ""
