"""JSON arrays: their elements match Python's `json`, and other text is rejected."""

import gzip
import itertools
import json
import re
from random import Random

import numpy as np
import pytest

import headrace as hr
from headrace.core import errors


def written(tmp_path, text, name="a.json"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def values_of(pipeline):
    return [example["v"] for example in pipeline]


def random_value(random, depth=0):
    kind = random.randrange(9 if depth < 4 else 7)
    if kind == 7:
        return [random_value(random, depth + 1) for _ in range(random.randrange(4))]
    if kind == 8:
        return {random_text(random): random_value(random, depth + 1) for _ in range(3)}
    scalars = (None, True, -random.randrange(2**53), random.random(), "", random_text(random))
    return random.choice(scalars)


def random_text(random):
    return "".join(random.choices('a"\\[]{},\né😀\0', k=5))


def test_elements_match_json_load(tmp_path):
    for seed in range(200):
        random = Random(seed)
        rows = [{"v": random_value(random), "other": [{}]} for _ in range(random.randrange(9))]
        text = json.dumps(
            rows,
            indent=random.choice([None, 0, 3, "\t"]),
            ensure_ascii=random.random() < 0.5,
            separators=random.choice([(",", ":"), (" ,\r\n", "\t: ")]),
        )
        path = written(tmp_path, random.choice(["", " \n"]) + text + random.choice(["", "\n\n"]))
        pipe = hr.json_array(path, {"v": hr.Json})
        assert values_of(pipe) == [row["v"] for row in json.loads(path.read_bytes())]
        shuffled = values_of(pipe.shuffle(seed=seed))
        assert sorted(map(json.dumps, shuffled)) == sorted(json.dumps(row["v"]) for row in rows)


@pytest.mark.parametrize("text", ["[]", " [\n]\n", "\ufeff[]"])
def test_empty_array_has_no_examples(tmp_path, text):
    assert list(hr.json_array(written(tmp_path, text), {"v": int})) == []


CUT, WRONG = errors.DataLossError, errors.InvalidArgumentError


@pytest.mark.parametrize(
    ("text", "code", "message", "num_read"),
    [
        ("", CUT, r"ends at byte 0, .*\(record 0\): expected '\[' of a JSON array", 0),
        ('{"v": 1}', WRONG, r"byte 0 .*json_lines", 0),
        ('[{"v": 1}', CUT, r"ends at byte 9, .*\(record 0\): expected ','", 0),
        ('[{"v": 1}, {"v": 2},', CUT, r"byte 20, .*\(record 1\): expected ','", 1),
        ('[{"v": 1}, {"v": "', CUT, r"\(record 1\): expected the end of a value", 1),
        ('[{"v": 1},]', WRONG, r"record 0, at byte 10 .*']', .* comma", 0),
        ('[{"v": 1} {"v": 2}]', WRONG, r"record 0, at byte 10 .*',' or ']'", 0),
        ('[{"v": 1}] [', WRONG, r"record 1, at byte 11 .*nothing after", 1),
        ('[{"v": 1}, {"v": [2}]', WRONG, r"record 1, at byte 19 .*']' first", 1),
        ('[{"v": 1}, 2]', WRONG, r"record 1: .*expected a JSON object: 2", 1),
        ('[{"v": 1}, {"v": tru}]', WRONG, r"record 1: expected ident", 1),
        ("\x89PNG\r\n\x1a\n", WRONG, "a PNG image, expected a JSON array", 0),
    ],
)
def test_invalid_array_is_an_error(tmp_path, text, code, message, num_read):
    path = written(tmp_path, text.encode("latin-1"))
    with pytest.raises(code, match=f"{re.escape(str(path))}: .*{message}"):
        list(hr.json_array(path, {"v": int}))
    batches = iter(hr.json_array(path, {"v": int}))
    for _ in range(num_read):
        next(batches)
    with pytest.raises(code, match=message):
        next(batches)
    with pytest.raises(code, match=message):
        list(hr.json_array(path, {"v": int}).resume(batches.state()))


def test_errors_of_json_lines_and_json_array_refer_to_each_other(tmp_path):
    for text in ('[{"v": 1}, {"v": 2}]', '[\n{"v": 1},\n{"v": 2}\n]'):
        path = written(tmp_path, text)
        with pytest.raises(errors.InvalidArgumentError, match=r"line 1: .*headrace\.json_array"):
            list(hr.json_lines(path, {"v": int}))
    with pytest.raises(errors.InvalidArgumentError, match=r"line 1: .*headrace\.json_array"):
        _ = hr.json_lines(written(tmp_path, '[{"v": 1}, {"v": 2}]')).spec


def test_keys_are_inferred(tmp_path):
    written(tmp_path, "[]", "0.json")
    text = '[\n {"a": 1, "b": [0.5]},\n {"b": [], "a": -2, "c": {"d": null}}\n]'
    written(tmp_path, text, "1.json")
    pipe = hr.json_array(tmp_path)
    assert {name: spec.dtype for name, spec in pipe.spec.items()} == {
        "a": np.int64, "b": np.float32, "c": hr.Json,
    }  # fmt: skip
    rows = list(pipe)
    assert [row["a"] for row in rows] == [1, -2]
    assert [row["c"] for row in rows] == [None, {"d": None}]


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Two files of several blocks, with an element that is larger than one."""
    directory = tmp_path_factory.mktemp("large")
    rows = [{"v": v, "pad": "x]}" * (200_000 if v == 500 else v % 700)} for v in range(3000)]
    (directory / "0.json").write_text(json.dumps(rows[:2000]))
    (directory / "1.json").write_text(json.dumps(rows[2000:], indent=8))
    return directory


def test_large_files_are_read_in_blocks_with_arbitrary_boundaries(large):
    pipe = hr.json_array(large, {"v": int}).with_origin()
    rows = list(pipe)
    assert [row["v"] for row in rows] == list(range(3000))
    assert [row["record_number"] for row in rows] == [*range(2000), *range(1000)]
    for order in (pipe, pipe.shuffle(seed=1), pipe.shuffle(window=100, seed=2, block_bytes=9000)):
        every = [int(row["v"]) for row in order]
        assert sorted(every) == list(range(3000))
        batches = iter(order)
        for _ in range(777):
            next(batches)
        rest = [int(row["v"]) for row in order.resume(batches.state())]
        assert rest == every[777:]
        shards = [[int(row["v"]) for row in order.shard(rank, 3)] for rank in range(3)]
        assert sorted(itertools.chain(*shards)) == list(range(3000))


def test_large_elements_fit_into_a_small_memory_budget(large):
    pipe = hr.json_array(large, {"v": int}).options(memory_bytes=8 << 20)
    assert sum(values_of(pipe)) == sum(range(3000))


def test_compressed_arrays_are_read(tmp_path):
    rows = [{"v": v} for v in range(100)]
    path = written(tmp_path, gzip.compress(json.dumps(rows).encode()), "a.json.gz")
    assert values_of(hr.json_array(path)) == list(range(100))
    cut = written(tmp_path, path.read_bytes()[:-20], "b.json.gz")
    with pytest.raises(errors.DataLossError, match=r"b\.json\.gz"):
        list(hr.json_array(cut))


def test_mismatched_objects_can_be_skipped(tmp_path):
    path = written(tmp_path, '[{"v": 1}, {"v": "x"}, 7, {"v": 4}]')
    batches = iter(hr.json_array(path, {"v": int}).skip_errors(5))
    assert values_of(batches) == [1, 4]
    assert [skipped.record_number for skipped in batches.skipped] == [1, 2]
    assert [skipped.offset_bytes for skipped in batches.skipped] == [11, 23]
