"""Native functions: their operations, their results, and their errors."""

import io
import pickle
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from tests.pipeline.conftest import NUM_EXAMPLES, WAYS, same

import headrace as hr
from headrace import pipeline as hp
from headrace.core import errors

THIS_FILE = re.escape(__file__)


@hr.native
def scaled(example):
    pixels = hr.ops.cast(hr.ops.decode_raw(example["image"], "uint8"), "float32")
    return {"image": pixels / 255.0 - 0.5, "label": example["label"]}


@hr.native
def is_odd(example):
    return example["number"] % 2 == 1


@hr.native
def repeated(example):
    return {"number": hr.ops.stack([example["number"], -example["number"]])}


def images(count=300, size=784):
    raw = np.random.default_rng(3).integers(0, 256, (count, size), np.uint8)
    strings = np.empty(count, object)
    strings[:] = [row.tobytes() for row in raw]
    return raw, hr.arrays({"image": strings, "label": np.arange(count)})


@pytest.fixture
def numbers(records):
    return hr.tfrecords(records).parse({"number": int, "text": bytes, "list": hr.Ragged(int)})


def test_native_function_maps_examples(items_of):
    raw, pipeline = images()
    batches = items_of(pipeline.map(scaled).batch(128))
    pixels = np.concatenate([batch["image"] for batch in batches])
    assert np.array_equal(pixels, raw.astype(np.float32) / np.float32(255) - np.float32(0.5))
    assert [len(batch["label"]) for batch in batches] == [128, 128, 44]


def test_native_function_spec_is_available_before_it_runs():
    _, pipeline = images()
    output = pipeline.map(scaled)
    assert output.spec == {
        "image": hr.Spec(np.dtype("float32"), (None,)),
        "label": hr.Spec(np.dtype("int64"), ()),
    }
    assert "component 'image'" in output.describe()
    assert output.batch(4).spec["label"] == hr.Spec(np.dtype("int64"), (None,))


def test_passed_through_component_keeps_its_kind(numbers, items_of):
    @hr.native
    def chosen(example):
        return {"list": example["list"], "text": example["text"], "other": example["number"] + 1}

    pipeline = numbers.map(chosen)
    assert pipeline.spec["list"].is_ragged
    batch = items_of(pipeline.padded_batch(5))[0]
    assert batch["list"].tolist() == [[0, 0, 0], [0, 0, 0], [0, 1, 0], [0, 1, 2], [0, 0, 0]]
    assert batch["text"][3] == b"text 3"
    assert batch["other"].tolist() == [1, 2, 3, 4, 5]
    only = hr.native(lambda example: {"b": example["text"], "a": example["number"]})
    assert list(next(iter(numbers.map(only)))) == ["b", "a"]


def test_native_function_keeps_text(items_of):
    pipeline = hr.arrays({"name": np.array(["ä", "b"]), "n": np.arange(2)})
    kept = hr.native(lambda example: {"name": example["name"], "n": example["n"] * 2})
    assert [example["name"] for example in items_of(pipeline.map(kept))] == ["ä", "b"]


def test_rows_can_have_different_shapes(items_of):
    texts = np.array([b"abc", b"", b"de", b"fgh"], object)
    output = hr.native(lambda example: {"bytes": hr.ops.decode_raw(example["text"], "uint8") + 1})
    rows = [
        example["bytes"].tolist() for example in items_of(hr.arrays({"text": texts}).map(output))
    ]
    assert rows == [[98, 99, 100], [], [101, 102], [103, 104, 105]]


def test_native_function_maps_batches(items_of):
    pipeline = hr.arrays({"x": np.arange(10.0)}).batch(4)
    output = pipeline.map(hr.native(lambda batch: {"x": batch["x"] * 2, "first": batch["x"][0]}))
    batches = items_of(output)
    assert [batch["x"].tolist() for batch in batches] == [[0, 2, 4, 6], [8, 10, 12, 14], [16, 18]]
    assert [float(batch["first"]) for batch in batches] == [0, 4, 8]
    assert output.spec["x"] == hr.Spec(np.dtype("float64"), (None,))


def test_native_predicate_filters_examples(numbers, items_of):
    kept = [int(example["number"]) for example in items_of(numbers.filter(is_odd))]
    assert kept == list(range(1, NUM_EXAMPLES, 2))
    batches = items_of(numbers.select("number").filter(is_odd).batch(300))
    assert [len(batch["number"]) for batch in batches] == [300, 200]
    short = hr.native(lambda batch: hr.ops.size(batch["number"]) < 300)
    assert len(items_of(numbers.select("number").batch(300).filter(short))) == 1
    flag = hr.arrays({"x": np.array([True, False, True])})
    assert len(items_of(flag.filter(hr.native(lambda example: example["x"])))) == 2
    assert items_of(flag.filter(hr.native(lambda example: False))) == []


def test_native_flat_map_splits_rows(numbers, items_of):
    output = numbers.select("number").flat_map(repeated)
    assert output.spec == {"number": hr.Spec(np.dtype("int64"), ())}
    results = [int(example["number"]) for example in items_of(output)]
    assert results == [sign * number for number in range(NUM_EXAMPLES) for sign in (1, -1)]


def test_native_function_is_traced_once(numbers):
    calls = []

    @hr.native
    def counted(example):
        calls.append(example)
        return {"x": example["number"] + 1}

    pipeline = numbers.map(counted)
    assert len(calls) == 1
    assert sum(1 for _ in pipeline.batch(100).epochs(2)) == 20
    assert len(calls) == 1


def test_native_function_can_follow_python_functions(numbers, items_of):
    pipeline = numbers.map(lambda example: {"x": np.arange(int(example["number"]) % 3)})
    output = pipeline.map(hr.native(lambda example: {"y": example["x"] * 2})).take(4)
    assert [example["y"].tolist() for example in items_of(output)] == [[], [0], [0, 2], []]


def test_native_functions_can_call_each_other(items_of):
    inner = hr.native(lambda example: {"x": example["x"] + 1})
    outer = hr.native(lambda example: {"x": inner(example)["x"] * 10})
    results = [int(e["x"]) for e in items_of(hr.arrays({"x": np.arange(3)}).map(outer))]
    assert results == [10, 20, 30]


def test_native_function_can_be_called_with_values():
    raw, _ = images(1)
    result = scaled({"image": raw[0].tobytes(), "label": 4})
    assert result["image"].dtype == np.float32
    assert (result["image"].shape, int(result["label"])) == ((784,), 4)
    assert is_odd({"number": 3})


def test_native_function_is_displayed_and_pickled_by_name():
    assert repr(scaled) == "<native function scaled>"
    assert str(images()[1].map(scaled)).endswith("map(scaled))")
    assert pickle.loads(pickle.dumps(scaled)) is scaled


USES = {
    "float": lambda example: {"y": float(example["x"])},
    "int": lambda example: {"y": int(example["x"])},
    "printed": lambda example: print(example["x"]),
    "print": lambda example: {"y": f"{example['x']}"},
    "`if`, `while`": lambda example: {"y": 1 if example["x"] > 3 else 2},
    "NumPy": lambda example: {"y": np.asarray(example["x"])},
    "iterate": lambda example: {"y": sum(example["x"])},
}


@pytest.mark.parametrize("word", USES)
def test_using_a_value_while_tracing_raises_an_error_with_the_line(word):
    pipeline = hr.arrays({"x": np.arange(3)})
    line = USES[word].__code__.co_firstlineno
    with pytest.raises(TypeError, match=f"^{THIS_FILE}:{line}: this tensor has no value.*{word}"):
        pipeline.map(hr.native(USES[word]))


def test_invalid_results_are_rejected():
    pipeline = hr.arrays({"x": np.arange(3)})
    with pytest.raises(
        TypeError, match=r"map\(.*\): the function returned Tensor, expected a dict"
    ):
        pipeline.map(hr.native(lambda example: example["x"]))
    with pytest.raises(TypeError, match="returned no components, expected at least one"):
        pipeline.map(hr.native(lambda example: {}))
    with pytest.raises(TypeError, match=r"returned int64 of shape .*, expected one bool"):
        pipeline.filter(hr.native(lambda example: example["x"]))
    with pytest.raises(TypeError, match="'y' is a scalar, expected a leading axis"):
        pipeline.flat_map(hr.native(lambda example: {"y": example["x"]}))
    with pytest.raises(TypeError, match="native: got 3, expected a function"):
        hr.native(3)
    with pytest.raises(TypeError, match="is already native"):
        hr.native(scaled)


def test_tracing_errors_keep_their_type_and_get_a_note():
    pipeline = hr.arrays({"x": np.arange(3)})
    with pytest.raises(ValueError, match="Cannot reshape a tensor with 1 elements") as failed:
        pipeline.map(hr.native(lambda example: {"y": hr.ops.reshape(example["x"], [3])}))
    assert re.search(rf"in map\(.*\), traced at {THIS_FILE}:\d+ with", failed.value.__notes__[0])
    with pytest.raises(KeyError):
        pipeline.map(hr.native(lambda example: {"y": example["z"]}))


def test_row_error_names_the_operation_the_line_and_the_record(tmp_path, items_of):
    path = tmp_path / "numbers.txt"
    path.write_bytes(b"1\n2\nthree\n4\n")

    @hr.native
    def number(example):
        return {"n": hr.ops.string_to_number(example["text"], "int64")}

    line = number.__wrapped__.__code__.co_firstlineno + 2
    pipeline = hr.text_lines(path).map(number)
    message = (
        rf"map\(.*number\): StringToNumber at {THIS_FILE}:{line}: .*three"
        rf".*\[while reading {re.escape(str(path))}: line 3\]"
    )
    for way in WAYS:
        examples = iter(pipeline.options(**way))
        assert [int(next(examples)["n"]) for _ in range(2)] == [1, 2]
        with pytest.raises(errors.InvalidArgumentError, match=message):
            next(examples)


def test_error_names_the_damaged_image(tmp_path):
    (tmp_path / "a.jpg").write_bytes(b"no photograph")
    decode = hr.native(lambda example: {"image": hr.ops.decode_jpeg(example["data"])})
    with pytest.raises(errors.InvalidArgumentError, match=r"DecodeJpeg at .*a\.jpg"):
        list(hr.files(tmp_path).map(decode).batch(2))


def operations():
    """Strategies for steps of a native function over a float vector of three elements."""
    return st.sampled_from(
        [
            lambda x: x * 2.0 + 1.0,
            lambda x: hr.ops.reshape(hr.ops.stack([x, -x]), [6])[1:4],
            lambda x: hr.ops.maximum(x, x[0]),
            lambda x: hr.ops.cast(hr.ops.cast(x, "uint8"), "float32"),
            lambda x: hr.ops.resize(hr.ops.reshape(x, [3, 1, 1]), [3, 1])[:, 0, 0],
            lambda x: hr.ops.concat([x[2:], x[:2]], 0),
        ]
    )


@given(steps=st.lists(operations(), min_size=1, max_size=5), size=st.integers(1, 90))
def test_block_execution_matches_single_calls_for_any_steps(records, steps, size):
    """Operations over blocks and in loops, in any order, against a call for each example."""

    @hr.native
    def function(example):
        x = example["floats"]
        for step in steps:
            x = step(x)
        return {"x": x, "number": example["number"] % 7}

    pipeline = hr.tfrecords(records).parse({"number": int, "floats": hr.Feature(float, (3,))})
    expected = [function(example) for example in pipeline.take(200)]
    results = list(pipeline.map(function).take(200))
    assert same(results, expected)
    batched = list(pipeline.map(function).batch(size))
    again = list(pipeline.map(function).batch(size).options(num_threads=1))
    assert same(batched, again)


@hr.native
def noisy(example):
    noise = hr.ops.random_uniform([2]) + hr.ops.random_normal([2])
    return {"number": example["number"], "noise": noise}


def noise_of(pipeline):
    return {int(example["number"]): example["noise"].tolist() for example in pipeline}


def test_draws_depend_on_example_and_epoch(numbers, items_of):
    pipeline = numbers.map(noisy, seed=7)
    plain = {int(e["number"]): e["noise"].tolist() for e in items_of(pipeline)}
    assert len({tuple(noise) for noise in plain.values()}) == NUM_EXAMPLES
    assert noise_of(numbers.shuffle(window=100, seed=1).map(noisy, seed=7)) == plain
    assert noise_of(pipeline.batch(33).unbatch()) == plain
    later = {number: noise for number, noise in plain.items() if number >= 20}
    assert noise_of(numbers.skip(20).map(noisy, seed=7)) == later
    assert noise_of(numbers.map(noisy, seed=8)) != plain
    epochs = [noise_of(pipeline.epoch(number)) for number in (0, 1)]
    assert epochs[0] == plain
    assert not any(plain[number] == epochs[1][number] for number in plain)


def test_draws_of_a_batch_depend_on_its_number(items_of):
    batches = hr.arrays({"number": np.arange(100)}).batch(10)
    drawn = hr.native(lambda batch: {"noise": hr.ops.random_uniform([3])})
    results = [batch["noise"].tolist() for batch in items_of(batches.map(drawn, seed=7))]
    assert len({tuple(noise) for noise in results}) == 10
    again = items_of(batches.skip(2).map(drawn, seed=7))
    assert [batch["noise"].tolist() for batch in again] == results[2:]


def test_native_draws_are_uniform_over_examples():
    drawn = hr.native(lambda example: {"x": hr.ops.random_uniform([])})
    pipeline = hr.arrays({"number": np.arange(20_000)}).map(drawn, seed=3).batch(20_000)
    counts = np.histogram(next(iter(pipeline))["x"], 20, (0.0, 1.0))[0]
    # The 0.9999 quantile of chi-square for 19 degrees is 50.8.
    assert ((counts - 1000) ** 2 / 1000).sum() < 50.8


def test_native_function_draws_require_the_seed_of_map(numbers):
    with pytest.raises(ValueError, match="has its own seed"):
        numbers.map(hr.native(lambda e: {"x": hr.ops.random_uniform([], seed=3)}), seed=7)
    with pytest.raises(ValueError, match="so map needs a seed"):
        numbers.filter(hr.native(lambda e: hr.ops.random_uniform([]) < 0.5))


def _encoded(kind, shape=(4, 5, 3)):
    pixels = np.random.default_rng(3).integers(0, 256, shape, np.uint8)
    data = io.BytesIO()
    Image.fromarray(pixels).save(data, kind)
    return data.getvalue()


def test_output_of_decode_image_can_be_resized():
    data = [_encoded(kind) for kind in ("PNG", "JPEG", "BMP")]
    images = hp.arrays({"data": data})

    @hr.native
    def resized(example):
        image = hr.ops.decode_image(example["data"])
        return {"image": hr.ops.resize(image, (2, 3)), "near": hr.ops.resize_images(image, (8, 9))}

    @hr.native
    def resized_to_known_rank(example):
        image = hr.ops.decode_image(example["data"], channels=3, expand_animations=False)
        return {"image": hr.ops.resize(image, (2, 3)), "near": hr.ops.resize_images(image, (8, 9))}

    assert images.map(resized).spec["image"].shape is None
    assert images.map(resized_to_known_rank).spec["image"].shape == (2, 3, 3)
    (one,), (other,) = images.map(resized).batch(3), images.map(resized_to_known_rank).batch(3)
    assert one["image"].shape == (3, 2, 3, 3)
    for name in ("image", "near"):
        assert np.array_equal(one[name], other[name])
    (gif,) = hp.arrays({"data": [_encoded("GIF", (4, 5))]}).map(resized)
    assert (gif["image"].shape, gif["near"].shape) == ((1, 2, 3, 3), (1, 8, 9, 3))


REFUSED = {
    "RandomUniform draws random numbers, so map needs a seed": lambda example: {
        "y": hr.ops.random_uniform([])
    },
    "Add does not run in the engine for complex64": lambda example: {"y": example["c"] + 1j},
}


@pytest.mark.parametrize("text", REFUSED)
def test_operations_that_cannot_run_per_row_are_rejected_with_the_line(text):
    components = {"x": np.arange(3), "c": np.zeros(3, np.complex64)}
    with pytest.raises(ValueError, match=rf"^map\(.*\): {THIS_FILE}:\d+: the operation .*{text}"):
        hr.arrays(components).map(hr.native(REFUSED[text]))
