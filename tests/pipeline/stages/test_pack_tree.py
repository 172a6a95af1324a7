"""Groups of examples that are packed as prefix trees."""

from itertools import groupby

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.pipeline.conftest import LARGE_WAYS, same

import headrace as hr
from headrace.core import errors
from headrace.testing import assert_resumes

ADDED = ("node_lengths", "parents", "positions", "leaf_of")


def answers(groups):
    """An example for each list of tokens, with a number, in the order of the groups."""

    def examples():
        number = 0
        for group, lists in enumerate(groups):
            for tokens in lists:
                yield {"tokens": np.array(tokens, np.int32), "group_id": group, "n": number}
                number += 1

    return hr.iterable(examples)


def unfolded(tree, name=None):
    """The lists of a tree's first component, in order of arrival."""
    values = next(iter(tree.values())) if name is None else tree[name]
    ends = np.cumsum(tree["node_lengths"])
    nodes = np.split(values, ends[:-1])
    lists = []
    for leaf in tree["leaf_of"]:
        path, node = [], leaf
        while node != -1:
            path.append(nodes[node])
            node = tree["parents"][node]
        lists.append(np.concatenate(path[::-1]).tolist())
    return lists


def positions(tree):
    """The position of each element in the lists that contain it, from the nodes."""
    starts = []
    for parent in tree["parents"]:
        starts.append(0 if parent == -1 else starts[parent] + tree["node_lengths"][parent])
    pairs = zip(starts, tree["node_lengths"], strict=True)
    return [position for start, length in pairs for position in range(start, start + length)]


def num_nodes(lists):
    """The number of nodes of a tree of these lists, which end at lists' ends and branches."""
    prefixes = {tuple(tokens[:n]) for tokens in lists for n in range(1, len(tokens) + 1)}
    ends = {tuple(tokens) for tokens in lists if tokens}
    branches = {
        prefix
        for prefix in prefixes
        if len({other[len(prefix)] for other in prefixes if other[:-1] == prefix}) > 1
    }
    return len(ends | branches)


def test_tree_stores_each_prefix_once():
    groups = [[[1, 2, 3, 4], [1, 2, 5], [7], [1, 2, 3]], [[1, 2]]]
    pipe = answers(groups).pack(16, "tokens", tree="group_id", along=["group_id", "n"])
    first, second = pipe
    assert list(first) == ["tokens", *ADDED, "group_id", "n"]
    assert first["tokens"].tolist() == [1, 2, 3, 4, 5, 7]
    assert first["node_lengths"].tolist() == [2, 1, 1, 1, 1]
    assert first["parents"].tolist() == [-1, 0, 1, 0, -1]
    assert first["positions"].tolist() == [0, 1, 2, 3, 2, 0]
    assert first["leaf_of"].tolist() == [2, 3, 4, 1]
    assert (first["group_id"].tolist(), first["n"].tolist()) == ([0] * 4, [0, 1, 2, 3])
    assert (second["tokens"].tolist(), second["parents"].tolist()) == ([1, 2], [-1])
    assert {first[name].dtype for name in ADDED} == {np.dtype(np.int32)}
    assert pipe.spec["tokens"] == hr.Spec(np.dtype(np.int32), (None,), True)
    assert list(pipe.spec) == list(first)


TOKENS = st.lists(st.integers(0, 2), max_size=7)


@given(
    groups=st.lists(st.lists(TOKENS, min_size=1, max_size=8), min_size=1, max_size=6),
    way=st.sampled_from(LARGE_WAYS),
)
def test_trees_unfold_into_their_rows(groups, way):
    groups = [[[0], *lists] for lists in groups]
    trees = list(answers(groups).pack(100, "tokens", tree="group_id", along="n").options(**way))
    filled = [[tokens for tokens in lists if tokens] for lists in groups]
    assert [unfolded(tree) for tree in trees] == filled
    for tree, lists in zip(trees, filled, strict=True):
        assert tree["positions"].tolist() == positions(tree)
        assert len(tree["node_lengths"]) == num_nodes(lists)
        assert all(parent < node for node, parent in enumerate(tree["parents"]))
        assert tree["node_lengths"].min() > 0


@given(
    rows=st.lists(st.tuples(st.integers(0, 4), TOKENS), min_size=1, max_size=40),
    length=st.integers(7, 20),
    max_open=st.integers(1, 3),
    balance=st.sampled_from([None, 2]),
)
def test_trees_stay_within_the_length(rows, length, max_open, balance):
    rows = [(0, [1]), *rows]
    pipe = hr.iterable(
        [{"tokens": np.array(t, np.int32), "g": f"g{g}", "n": n} for n, (g, t) in enumerate(rows)]
    )
    trees = list(
        pipe.pack(length, "tokens", max_open=max_open, along=["g", "n"], tree="g", balance=balance)
    )
    found = {}
    for tree in trees:
        assert len(tree["tokens"]) <= length
        assert len(set(tree["g"])) == 1
        assert tree["n"].tolist() == sorted(tree["n"])
        found |= dict(
            zip(tree["n"].tolist(), zip(tree["g"], unfolded(tree), strict=True), strict=True)
        )
    assert found == {n: (f"g{g}", tokens) for n, (g, tokens) in enumerate(rows) if tokens}


def test_rows_share_only_elements_that_are_equal_in_all_components():
    rows = [
        {"t": np.array([1, 2, 3]), "w": np.float32([0, 0, 1]), "p": np.ones((3, 2)), "g": 5},
        {"t": np.array([1, 2, 3]), "w": np.float32([0, 1, 1]), "p": np.ones((3, 2)), "g": 5},
        {"t": np.array([1, 2]), "w": np.float32([-0.0, 0]), "p": np.ones((2, 2)), "g": 5},
        {"t": np.array([1]), "w": np.float32([0]), "p": np.array([[1.0, 2.0]]), "g": 5},
    ]
    (tree,) = hr.iterable(rows).pack(16, ["t", "w", "p"], tree="g")
    for name in ("t", "w", "p"):
        assert unfolded(tree, name) == [row[name].tolist() for row in rows]
    assert tree["parents"].tolist() == [-1, 0, 0, -1, -1]
    assert tree["p"].shape == (len(tree["t"]), 2)
    nan = [{"t": [1, n], "w": [np.nan, 1.0], "g": 0} for n in (1, 2)]
    (tree,) = hr.iterable(nan).pack(16, ["t", "w"], tree="g")
    assert tree["node_lengths"].tolist() == [1, 1, 1]


def test_rows_that_do_not_fit_start_a_new_tree():
    lists = [[1, 2, 3], [1, 2, 4], [1, 5, 6], [1, 2], [9, 9, 9, 9, 9]]
    trees = list(answers([lists]).pack(5, "tokens", tree="group_id", along="n"))
    assert [tree["n"].tolist() for tree in trees] == [[0, 1], [2, 3], [4]]
    assert [len(tree["tokens"]) for tree in trees] == [4, 4, 5]
    batches = iter(answers([[[1, 2], [3] * 9]]).pack(5, "tokens", tree="group_id", along="n"))
    words = r"an example has 9 elements, expected at most 5. Cut it before pack.*example 1\]"
    with pytest.raises(errors.InvalidArgumentError, match=words):
        list(batches)


def test_oldest_tree_is_returned_if_too_many_are_open():
    numbers = [0, 1, 0, 2, 1, 3, 0]
    rows = hr.iterable([{"t": [n, i], "g": n} for i, n in enumerate(numbers)])

    def groups(max_open):
        return [
            tree["g"].tolist()
            for tree in rows.pack(64, "t", max_open=max_open, tree="g", along="g")
        ]

    assert groups(64) == [[0, 0, 0], [1, 1], [2], [3]]
    assert groups(2) == [[0, 0], [1, 1], [2], [3], [0]]
    assert groups(1) == [[g] for g, _ in groupby(numbers)]


def random_answers(num_groups, seed=1):
    random = np.random.default_rng(seed)
    groups = []
    for _ in range(num_groups):
        prompt = random.integers(0, 50, random.integers(1, 9)).tolist()
        sizes = random.integers(0, 9, random.integers(1, 7))
        groups.append([prompt + random.integers(0, 2, size).tolist() for size in sizes])
    return groups


@pytest.mark.parametrize("balance", [None, 3])
def test_trees_resume_exactly_with_any_number_of_threads(balance):
    shuffled = answers(random_answers(120)).shuffle(window=20, seed=3)
    pipe = shuffled.pack(24, "tokens", max_open=5, along="n", balance=balance, tree="group_id")
    trees = list(pipe)
    assert all(same(trees, list(pipe.options(**way))) for way in LARGE_WAYS)
    assert_resumes(pipe.epochs(2), every=17)
    assert_resumes(pipe.batch(4, ragged="offsets"), every=9)


def test_trees_resume_with_a_different_number_of_ranks():
    pipe = answers(random_answers(60)).pack(24, "tokens", along="n", tree="group_id")
    trees = list(pipe)
    two = [iter(pipe.shard(rank, 2)) for rank in range(2)]
    for rank in two:
        next(rank)
    assert same(list(pipe.shard(0, 1).resume(two[0].state())), trees[2:])
    lengths = {0: 24, 50: 60}
    scheduled = answers(random_answers(60)).pack(lengths, "tokens", along="n", tree="group_id")
    assert max(len(tree["tokens"]) for tree in scheduled) > 24
    assert_resumes(scheduled, every=9)


def test_ranks_receive_trees_of_equal_cost():
    groups = answers(random_answers(800))

    def cost_of(tree):
        ends = tree["positions"].astype(float) + 1
        return (ends**2 - (ends - 1) ** 2).sum()

    def spread(balance):
        pipe = groups.select("tokens", "group_id")
        trees = list(pipe.pack(200, "tokens", max_open=1, balance=balance, tree="group_id"))
        costs = np.array(list(map(cost_of, trees)))[: len(trees) // 16 * 16].reshape(-1, 4, 4)
        sums = costs.sum(1)
        return (sums.max(1) / sums.mean(1) - 1).mean()

    assert spread(4) < 0.35 * spread(None)


def test_examples_may_be_groups_of_rows(tmp_path):
    groups = [(lists * 4)[:4] for lists in random_answers(20)]
    rows = [
        {"t": np.array(tokens, np.int32), "w": np.float32(tokens), "g": number}
        for number, lists in enumerate(groups)
        for tokens in lists
    ]
    with hr.Journal(tmp_path / "j") as journal:
        for index in np.random.default_rng(1).permutation(len(rows)).tolist():
            journal.append([{**rows[index], "i": index}])
    source = hr.journal(tmp_path / "j", group="g", group_size=4, ragged=["t", "w"])
    pipe = source.pack(64, ["t", "w"], tree="g", along=["g", "i"])
    trees = list(pipe)
    assert sorted(tree["g"].tolist() for tree in trees) == [[n] * 4 for n in range(20)]
    for tree in trees:
        expected = [rows[index]["t"].tolist() for index in tree["i"]]
        assert unfolded(tree) == unfolded(tree, "w") == expected
    batches = iter(pipe)
    next(batches)
    assert same(list(pipe.resume(batches.state())), trees[1:])


COLUMNS = {"t": hr.Ragged(int, 2), "g": hr.Ragged(str), "w": hr.Ragged(str, 3)}


def test_groups_may_have_any_number_of_rows(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text(
        '{"t": [[1, 2], [1, 3], []], "g": ["a", "a", "a"], "w": [[["x"]], [["y", "z"], []], []]}\n'
        '{"t": [], "g": [], "w": []}\n'
        '{"t": [[1, 2]], "g": ["a"], "w": [[]]}\n'
    )
    pipe = hr.json_lines(path, columns=COLUMNS).pack(8, "t", tree="g", along=["g", "w"])
    first, second = pipe
    assert (unfolded(first), unfolded(second)) == ([[1, 2], [1, 3]], [[1, 2]])
    assert list(first["g"]) == ["a", "a"]
    assert [words.tolist() for words in first["w.values"]] == [["x"], ["y", "z"], []]
    assert (first["w.offsets"].tolist(), second["w.offsets"].tolist()) == ([0, 1, 3], [0, 0])
    assert_resumes(pipe)


def test_damaged_groups_are_errors_or_skipped(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text(
        '{"t": [[1, 2]], "g": ["a"], "w": [[]]}\n{"t": [[1, 2], [3]], "g": ["a"], "w": [[], []]}\n'
        '{"t": [[4]], "g": ["a"], "w": [[]]}\n'
    )
    pipe = hr.json_lines(path, columns=COLUMNS).pack(8, "t", tree="g", along="w")
    words = r"component 't' of a group has 2 rows, 'g' has 1, expected equal numbers.*line 2\]"
    with pytest.raises(errors.InvalidArgumentError, match=words):
        list(pipe)
    assert [unfolded(tree) for tree in pipe.skip_errors(2)] == [[[1, 2]], [[4]]]


@pytest.mark.timeout(60)
def test_group_is_returned_before_the_next_one_exists(tmp_path):
    with hr.Journal(tmp_path / "j") as journal:
        for number in range(3):
            journal.append([{"t": np.array([number, i]), "g": number} for i in range(2)])
            if number == 0:
                source = hr.journal(tmp_path / "j", group="g", group_size=2)
                trees = iter(source.pack(8, "t", tree="g"))
            assert unfolded(next(trees), "t") == [[number, 0], [number, 1]]
    assert not list(trees)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"split": True}, "split can't be combined with tree.*Remove split"),
        ({"cu_seqlens": True}, "cu_seqlens can't be combined with tree"),
        ({"values": 0}, "values can't be combined with tree"),
        ({"tree": "t"}, "'t' is both in names and in tree"),
        ({"tree": "x"}, "there is no component 'x'"),
        ({"tree": "m"}, r"tree is 'm', but that component is .*\(2, 2\).*expected one value"),
        ({"along": "g"}, r"'m' is neither packed nor in along.*select\('t', 'g'\), or add"),
        ({"along": ["m", "leaf_of"]}, "there is no component 'leaf_of'"),
        ({"tree": "v", "along": "m"}, r"'t' is .*, expected lists of numbers"),
    ],
)
def test_arguments_that_do_not_fit_are_rejected(arguments, words):
    rows = hr.arrays(
        {"t": np.ones((3, 2), int), "g": np.ones(3), "m": np.ones((3, 2, 2)), "v": np.ones((3, 2))}
    )
    rows = rows.select("t", "g", "m", *(["v"] if arguments.get("tree") == "v" else []))
    with pytest.raises(ValueError, match=words):
        rows.pack(4, "t", **{"tree": "g", "along": "m", **arguments})


def test_groups_need_one_length_and_a_value_for_each_row():
    groups = hr.arrays({"t": np.ones((3, 2, 4), int), "g": np.ones((3, 2)), "n": np.ones(3)})
    with pytest.raises(ValueError, match="tree with examples that are groups needs one length"):
        groups.select("t", "g").pack({0: 4, 9: 8}, "t", tree="g")
    with pytest.raises(ValueError, match=r"'n' is .*, but 'g' has several values per example"):
        groups.pack(4, "t", along="n", tree="g")
    with pytest.raises(ValueError, match="already a component 'parents'"):
        groups.select("t", "g").rename(t="parents").pack(4, "parents", tree="g")


def test_nested_lists_can_be_unbatched(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text(
        '{"a": [[1, 2], []], "b": [3, 4]}\n{"a": [], "b": []}\n{"a": [[5]], "b": [6]}\n'
    )
    pipe = hr.json_lines(path, columns={"a": hr.Ragged(int, 2), "b": hr.Ragged(int)}).unbatch()
    assert pipe.spec["a"] == hr.Spec(np.dtype(np.int64), (None,), True)
    assert [(row["a"].tolist(), int(row["b"])) for row in pipe] == [([1, 2], 3), ([], 4), ([5], 6)]
    assert_resumes(pipe)
