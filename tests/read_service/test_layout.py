"""The reader of each batch."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.read_service import Layout, ReaderAssignment, arranged


def test_batches_are_dealt_to_readers_in_turn():
    layout = Layout(0, (ReaderAssignment(0, ("a", "b", "c")),))
    assert [layout.reader_of(number) for number in range(5)] == ["a", "b", "c", "a", "b"]
    assert layout.count_of(7) == 3


def test_new_readers_start_at_the_chosen_batch():
    layout = Layout(3, (ReaderAssignment(0, ("a", "b")),)).changed(("a", "b", "c"), first=10)
    assert layout.version == 4
    assert [layout.count_of(number) for number in (0, 9, 10, 11)] == [2, 2, 3, 3]
    assert [layout.reader_of(number) for number in (9, 10, 11)] == ["b", "b", "c"]
    assert layout.readers == ("a", "b", "c")


def test_old_turns_are_dropped():
    layout = Layout(0, (ReaderAssignment(0, ("a",)),))
    for border in range(10, 60, 10):
        layout = layout.changed(("a", "b"), first=border, oldest=border - 5)
    assert [turn.first for turn in layout.turns] == [0, 50]
    assert layout.count_of(49) == 2


def test_readers_added_before_the_first_request_replace_the_first_one():
    assert Layout(0, (ReaderAssignment(0, ("a",)),)).changed(("b",), first=0).turns == (
        ReaderAssignment(0, ("b",)),
    )


def test_remaining_readers_take_over_the_batches_of_a_lost_one():
    layout = Layout(0, (ReaderAssignment(0, ("a",)), ReaderAssignment(5, ("a", "b", "c")))).without(
        "a"
    )
    assert layout.turns == (ReaderAssignment(0, ("b", "c")), ReaderAssignment(5, ("b", "c")))
    with pytest.raises(ValueError, match="reader 'b' is the only one"):
        layout.without("c").without("b")


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 30)), max_size=8), st.data())
def test_each_batch_has_exactly_one_reader_after_any_changes(changes, data):
    layout, first = Layout(0, (ReaderAssignment(0, ("r0",)),)), 0
    for count, step in changes:
        first += step
        before = [layout.reader_of(number) for number in range(first - step, first)]
        layout = layout.changed([f"r{n}" for n in range(count)], first, first - step)
        assert [layout.reader_of(number) for number in range(first - step, first)] == before
    for number in data.draw(st.lists(st.integers(first, first + 50))):
        assert layout.reader_of(number) in layout.readers


def test_trainer_only_asks_readers_that_hold_its_batches():
    layout = Layout(0, (ReaderAssignment(0, ("a", "b", "c", "d")),))
    assert layout.readers_of(1, 4) == {"b"}
    assert layout.readers_of(6, 2) == {"a", "c"}
    assert layout.readers_of(5, 3) == {"a", "b", "c", "d"}
    for first, step in ((3, 6), (0, 1), (7, 8)):
        met = {layout.reader_of(first + step * number) for number in range(20)}
        assert layout.readers_of(first, step) == met
    assert layout.changed(("e",), 10).readers_of(1, 4) == {"b", "e"}


def test_readers_are_placed_on_the_nodes_of_their_trainers():
    nodes = {"a": "right", "b": "left", "c": "right", "d": "left"}
    order = arranged(nodes, ["left", "right"])
    assert [nodes[name] for name in order] == ["left", "right", "left", "right"]
    assert sorted(order) == sorted(nodes)


def test_readers_on_other_nodes_can_go_anywhere():
    nodes = {"a": "far", "b": "left", "c": "far"}
    order = arranged(nodes, ["right", "left"])
    assert order[1] == "b"
    assert sorted(arranged(nodes, [])) == ["a", "b", "c"]
