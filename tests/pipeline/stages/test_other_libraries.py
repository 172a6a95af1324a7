"""Calls that other libraries would accept raise an error that suggests a replacement."""

import builtins
import inspect
import re
import traceback

import numpy as np
import pytest

import headrace as hr
from headrace.pipeline.stages import other_libraries

PIPE = hr.arrays({"x": np.arange(10)})


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: PIPE.batch(batch_size=4), "batch: .*'batch_size'.*named `size`"),
        (lambda: PIPE.batch(4, drop_last=True), 'batch: .*`remainder="drop"`'),
        (lambda: PIPE.shuffle(buffer_size=9), r"shuffle: .*`shuffle\(window=10_000\)`"),
        (lambda: PIPE.map(dict, num_workers=4), r"map: .*num_threads=8.*num_processes=8"),
        (lambda: hr.csv("a.csv", sep=";"), "csv: .*'sep'.*`delimiter=`"),
        (lambda: hr.concat(PIPE, PIPE), r"concat: got 2 positional.*Use concat\(\[a, b\]\)"),
        (lambda: PIPE.batch(4, remaindr="drop"), "batch: .*Did you mean `remainder`"),
        (PIPE.batch, r"batch: missing 'size', expected batch\(size, "),
        (lambda: PIPE.batch(4, size=4), "batch: got two values for 'size'"),
        (lambda: PIPE.take(1, 2), "take: got 2 positional arguments"),
        (lambda: PIPE.split(0.5, 0.5, test_size=1), r"split: .*`split\(0.9, 0.1\)`"),
        (lambda: next(PIPE), r"next: a pipeline is not an iterator.*iter\(pipe\)"),
    ],
)
def test_error_for_a_call_from_another_library_suggests_a_replacement(call, text):
    with pytest.raises(TypeError, match=text) as raised:
        call()
    assert not re.search("Methods|self", str(raised.value))


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (lambda: PIPE.repeat, r"no attribute 'repeat'. Use `epochs\(3\)`"),
        (lambda: PIPE.to_pytorch, r"Use `to_torch\(\)`"),
        (lambda: PIPE.to_pandas, r"Use `pipe.to_arrow\(\).read_pandas\(\)`"),
        (lambda: PIPE.reduce, r"Use a loop, such as `for batch in pipe.batch\(1000\)`"),
        (lambda: PIPE.save, r"Use `write\('out.parquet'\)`, or `batches.state\(\)`"),
        (lambda: PIPE.shuffel, "Did you mean `shuffle`"),
        (lambda: PIPE.nonsense, r"help\(headrace.Pipeline\)"),
        (lambda: PIPE.classes, "arrays has no classes"),
        (lambda: hr.tfrecord, r"Use `hr.tfrecords\(paths\)`"),
        (lambda: hr.dataset, r"Use a source, such as `hr.arrays"),
        (lambda: hr.parquets, "Did you mean `parquet`"),
        (lambda: hr.nonsense, r"`dir\(headrace\)`"),
    ],
)
def test_error_for_a_missing_attribute_suggests_a_replacement(read, text):
    with pytest.raises(AttributeError, match=text):
        read()


def test_table_lists_real_functions_and_no_real_arguments():
    for name, keywords in other_libraries._KEYWORDS.items():
        function = getattr(hr.Pipeline, name, None) or getattr(hr, name)
        assert not set(keywords) & set(inspect.signature(function).parameters), name
    assert not set(other_libraries._METHODS) & set(dir(hr.Pipeline))
    assert not set(other_libraries._FUNCTIONS) & set(hr.__all__)


@pytest.mark.parametrize("table", ["_METHODS", "_FUNCTIONS"])
def test_every_suggested_function_and_stage_exists(table):
    for name, advice in getattr(other_libraries, table).items():
        for suggested in re.findall(r"\bhr\.(\w+)\(", advice):
            assert suggested in hr.__all__, name
        for suggested in re.findall(r"`(\w+)\(|\bpipe\.(\w+)\(", advice):
            stage = "".join(suggested)
            assert hasattr(hr.Pipeline, stage) or hasattr(builtins, stage), name


def test_every_suggested_argument_exists():
    for name, keywords in other_libraries._KEYWORDS.items():
        function = getattr(hr.Pipeline, name, None) or getattr(hr, name)
        for advice in keywords.values():
            for suggested in re.findall(r"^Write `(\w+)=", advice):
                assert suggested in inspect.signature(function).parameters, (name, suggested)


def test_error_from_within_a_call_is_unchanged():
    with pytest.raises(TypeError, match="rename: 1 is not the name"):
        PIPE.rename(x=1)


def test_pipeline_passed_to_iterable_is_iterated():
    assert [int(e["x"]) for e in hr.iterable(PIPE)] == list(range(10))


def test_dir_lists_only_public_names():
    assert not {"known", "chosen_options", "replayed"} & set(dir(hr.Pipeline))


def test_function_error_is_shown_without_package_frames():
    def misspelt(example):
        return {"y": example["z"]}

    with pytest.raises(KeyError) as raised:
        list(PIPE.map(misspelt).batch(4))
    names = [frame.name for frame in traceback.extract_tb(raised.value.__traceback__)]
    assert names[-1] == "misspelt"
    assert len(names) <= 3


def test_batches_cannot_be_shuffled_fully():
    with pytest.raises(ValueError, match=r"cannot come after batch.*Move shuffle before batch"):
        PIPE.batch(2).shuffle(seed=1)


@pytest.mark.parametrize("result", ["abc", {"x": 1}, ["abc"], 3])
def test_flat_map_error_describes_the_expected_result(result):
    with pytest.raises(TypeError, match=r"expected an iterable of dicts. Return \[example\]"):
        list(PIPE.flat_map(lambda example: result))
