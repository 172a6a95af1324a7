"""Structures of lists, tuples and dicts."""

from collections import OrderedDict, namedtuple

import pytest

import headrace.tf1 as tf

nest = tf.contrib.framework.nest
Pair = namedtuple("Pair", ["first", "second"])


def test_leaves_are_flattened_in_order_and_packed_back():
    structure = [{"b": 1, "a": (2, 3)}, Pair(4, [5]), "text"]
    leaves = nest.flatten(structure)
    assert leaves == [2, 3, 1, 4, 5, "text"]
    packed = nest.pack_sequence_as(structure, [leaf * 2 for leaf in leaves])
    assert packed == [{"b": 2, "a": (4, 6)}, Pair(8, [10]), "texttext"]
    assert isinstance(packed[1], Pair)
    assert nest.flatten(7) == [7]


def test_dict_keeps_the_order_of_its_keys():
    packed = nest.pack_sequence_as(OrderedDict([("b", 0), ("a", 0)]), [1, 2])
    assert packed == OrderedDict([("b", 2), ("a", 1)])


def test_function_is_mapped_over_several_structures():
    assert nest.map_structure(lambda x, y: x + y, [1, (2,)], [10, (20,)]) == [11, (22,)]
    assert nest.map_structure_up_to([0, 0], len, [[1, 2], [3]]) == [2, 1]


def test_flatten_with_joined_string_paths_returns_leaf_paths():
    structure = {"a": [1, {"b": 2}], "c": Pair(3, 4)}
    assert nest.flatten_with_joined_string_paths(structure) == [
        *(("a/0", 1), ("a/1/b", 2), ("c/first", 3), ("c/second", 4))
    ]


def test_dict_items_are_flattened_by_their_keys():
    assert nest.flatten_dict_items({("a", "b"): (1, 2), "c": 3}) == {"a": 1, "b": 2, "c": 3}
    with pytest.raises(ValueError, match="not unique"):
        nest.flatten_dict_items({("a", "b"): (1, 2), "a": 3})


def test_leaves_are_flattened_up_to_a_shallow_structure():
    assert nest.flatten_up_to([0, [0]], [[1, 2], [3]]) == [[1, 2], 3]
    with pytest.raises(TypeError, match="must also be a sequence"):
        nest.flatten_up_to([[0]], [1])


@pytest.mark.parametrize(
    ("error", "first", "second"),
    [
        (ValueError, [1, 2], [1]),
        (ValueError, [1, 2], 1),
        (ValueError, {"a": 1}, {"b": 1}),
        (TypeError, [1], (1,)),
        (TypeError, Pair(1, 2), (1, 2)),
    ],
)
def test_different_structures_are_rejected(error, first, second):
    with pytest.raises(error, match="The two"):
        nest.assert_same_structure(first, second)


def test_type_checks_can_be_disabled():
    nest.assert_same_structure([1], (1,), check_types=False)


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (TypeError, lambda: nest.pack_sequence_as([1], 1)),
        (ValueError, lambda: nest.pack_sequence_as([1], [1, 2])),
        (TypeError, lambda: nest.map_structure(3, [1])),
        (ValueError, lambda: nest.map_structure(len)),
        (ValueError, lambda: nest.map_structure(len, [1], other=2)),
        (TypeError, lambda: nest.flatten({1: 1, "a": 2})),
        (TypeError, lambda: nest.flatten_dict_items([1])),
    ],
)
def test_mismatched_structures_are_rejected(error, call):
    with pytest.raises(error):
        call()
