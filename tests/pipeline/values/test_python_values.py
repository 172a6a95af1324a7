"""Python and NumPy values as components: the same rules apply to all sources and functions."""

import numpy as np
import pytest

import headrace as hr
from headrace import pipeline as hp

# Python values, and the expected batch of two.
_RULE = [
    (True, np.bool_),
    (3, np.int64),
    (0.1, np.float64),
    (1_700_000_001.25, np.float64),
    (2j, np.complex128),
    ([1, 2], np.int64),
    ([0.1, 1_700_000_001.25], np.float64),
    ([[True], [False]], np.bool_),
    (np.float32(0.1), np.float32),
    (np.array([1, 2], np.uint8), np.uint8),
]


WAYS = {
    "map": lambda value: hp.arrays({"n": np.arange(2)}).map(lambda e: {"x": value}),
    "flat_map": lambda value: hp.arrays({"n": np.arange(2)}).flat_map(lambda e: [{"x": value}]),
    "iterable": lambda value: hp.iterable(lambda: [{"x": value}] * 2),
    "arrays": lambda value: hp.arrays({"x": [value, value]}),
    "native": lambda value: hp.arrays({"n": np.arange(2)}).map(hr.native(lambda e: {"x": value})),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("value", "dtype"), _RULE)
def test_value_has_the_same_type_from_all_sources_and_functions(way, value, dtype):
    pipeline = WAYS[way](value).batch(2)
    (batch,) = pipeline
    assert batch["x"].dtype == dtype == pipeline.spec["x"].dtype
    assert np.array_equal(batch["x"], [value, value])


@pytest.mark.parametrize("kind", [str, bytes])
@pytest.mark.parametrize("callers", [{}, {"num_threads": 2}, {"num_processes": 1}])
def test_empty_list_of_strings_keeps_its_kind_after_further_functions(kind, callers):
    texts = [[], ["é"], [], ["a", "b"]]
    inputs = [[text if kind is str else text.encode() for text in row] for row in texts]
    pipeline = hp.iterable([{"x": row} for row in inputs]).map(dict, **callers).map(dict, **callers)
    assert pipeline.spec["x"].dtype is kind
    assert [example["x"].tolist() for example in pipeline] == inputs


def test_empty_string_array_keeps_its_numpy_kind():
    pipeline = hp.iterable([{"x": np.zeros(0, "U3"), "y": np.zeros(0, "S3")}])
    assert pipeline.spec["x"].dtype is str
    assert pipeline.spec["y"].dtype is bytes
    (example,) = pipeline
    assert example["x"].dtype == example["y"].dtype == object


def test_empty_object_array_among_numbers_is_rejected():
    items = [{"x": [1]}, {"x": np.zeros(0, object)}]
    with pytest.raises(
        TypeError, match="'x' has the types bytes, int64, but its type must be the same"
    ):
        list(hp.iterable(items))


@pytest.mark.parametrize("way", ["map", "flat_map", "iterable"])
def test_empty_list_adopts_the_type_of_its_component(way):
    lists = [[], [], [1, 2], [], [3]]
    rows = hp.arrays({"n": np.arange(5)})
    output = {
        "map": rows.map(lambda e: {"x": lists[e["n"]], "s": ["a"] * (e["n"] % 2)}),
        "flat_map": rows.flat_map(lambda e: [{"x": lists[e["n"]], "s": ["a"] * (e["n"] % 2)}]),
        "iterable": hp.iterable(
            lambda: [{"x": x, "s": ["a"] * (i % 2)} for i, x in enumerate(lists)]
        ),
    }[way]
    (batch,) = output.padded_batch(5)
    assert batch["x"].dtype == np.int64
    assert batch["x"].tolist() == [[0, 0], [0, 0], [1, 2], [0, 0], [3, 0]]
    assert batch["s"].tolist() == [[""], ["a"], [""], ["a"], [""]]


def test_empty_range_adopts_the_component_type_but_an_empty_array_does_not():
    (batch,) = hp.iterable(lambda: ({"x": range(n)} for n in (0, 2))).padded_batch(2)
    assert (batch["x"].dtype, batch["x"].tolist()) == (np.int64, [[0, 0], [0, 1]])
    with pytest.raises(TypeError, match="'x' has the types float64, int64"):
        list(hp.iterable(lambda: ({"x": x} for x in (np.array([]), [1]))))


def test_bytes_in_lists_keep_trailing_zeros():
    raw = [b"a\0\0", b"\0"]
    (row,) = hp.arrays({"n": [1]}).map(lambda e: {"x": raw, "t": ["a\0"]})
    assert (row["x"].tolist(), row["t"].tolist()) == (raw, ["a\0"])
    assert [row["x"] for row in hp.arrays({"x": raw})] == raw


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        ([1, "a"], TypeError, r"'x' contains objects \(int, str\), expected numbers, bytes or str"),
        ([b"a", "a"], TypeError, "'x' contains bytes, str, expected only str or only bytes"),
        ([1, None], TypeError, r"'x' contains objects \(NoneType, int\)"),
        ([[1], [2, 3]], ValueError, "'x' is a list whose items have different lengths. Pad"),
        (
            2**63,
            ValueError,
            "'x' has an int that cannot be represented exactly as int64 .*. Return a NumPy",
        ),
        ([2**63], ValueError, "'x' has an int that cannot be represented"),
        ([2**53 + 1, 0.5], ValueError, "'x' has an int that cannot be represented"),
        (
            np.ma.array([1, 2], mask=[0, 1]),
            ValueError,
            "'x' has 1 masked values, which are not supported",
        ),
    ],
)
@pytest.mark.parametrize("way", ["map", "flat_map", "iterable"])
def test_lossy_conversions_are_rejected(way, value, error, message):
    with pytest.raises(error, match=message):
        list(WAYS[way](value))


@pytest.mark.parametrize(
    "masked",
    [
        lambda: hr.arrays({"x": np.ma.array([1, 2], mask=[0, 1])}),
        lambda: hr.arrays(np.ma.array([1, 2], mask=[0, 1])),
        lambda: hr.indexed({"x": np.ma.array([1, 2], mask=[0, 1])}),
        lambda: hr.arrays({"n": [0, 1]}).map(
            lambda example: {"x": np.ma.array([1], mask=[example["n"] == 1])}
        ),
    ],
)
def test_masked_values_are_rejected(masked):
    with pytest.raises(
        ValueError, match=r"'x' has 1 masked values, which are not supported\. Fill them in"
    ):
        list(masked())


@pytest.mark.parametrize("way", ["map", "flat_map", "iterable"])
def test_component_names_must_be_strings(way):
    make = {
        "map": lambda array: hr.arrays({"n": [0, 1]}).map(lambda example: array),
        "flat_map": lambda array: hr.arrays({"n": [0, 1]}).flat_map(lambda example: [array]),
        "iterable": lambda array: hr.iterable([array]),
    }[way]
    with pytest.raises(TypeError, match="a dict with the key 1, but keys are the names"):
        list(make({1: 2}))


def test_mixing_bytes_and_str_in_a_component_is_rejected():
    rows = hp.arrays({"n": np.arange(2)}).map(lambda e: {"x": b"a" if e["n"] else "a"})
    with pytest.raises(
        TypeError, match="'x' has the types bytes, str, but its type must be the same"
    ):
        list(rows)


BIG = np.array([[1, 258], [3, -4]], ">i4")


@pytest.mark.parametrize(
    "pipeline",
    [
        hp.arrays({"x": BIG}),
        hp.iterable(lambda: ({"x": row} for row in BIG)),
        hp.arrays({"n": np.arange(2)}).map(lambda e: {"x": BIG[e["n"]]}),
        hp.arrays({"n": np.arange(2)}).flat_map(lambda e: [{"x": BIG[e["n"]]}]),
        hp.arrays({"b": [row.tobytes() for row in BIG]}).map(
            hr.native(lambda e: {"x": hr.ops.decode_raw(e["b"], BIG.dtype)})
        ),
    ],
)
def test_big_endian_numbers_are_converted_to_native(pipeline):
    (batch,) = pipeline.batch(2)
    assert batch["x"].tolist() == BIG.tolist()
    assert batch["x"].dtype == np.int32
    assert batch["x"].dtype.isnative


def test_big_endian_column_type_is_accepted(tmp_path):
    (tmp_path / "a.csv").write_text("x\n258\n")
    (row,) = hp.csv(tmp_path / "a.csv", columns={"x": np.dtype(">i4")})
    assert (row["x"], row["x"].dtype) == (258, np.dtype("int32"))


class TestBfloat16:
    @pytest.fixture
    def values(self):
        ml_dtypes = pytest.importorskip("ml_dtypes")
        return np.array([[1.5, -2], [0.25, 1e38], [0, 7]], ml_dtypes.bfloat16)

    def test_bfloat16_passes_through_all_stages(self, values):
        rows = hp.arrays({"x": values, "n": np.arange(3)})
        assert repr(rows.spec["x"]) == "Spec(bfloat16, (2,))"
        doubled = rows.map(lambda e: {**e, "twice": e["x"] * 2, "one": e["x"][0]})
        (batch,) = doubled.shuffle(seed=3).batch(4, remainder="pad")
        order = batch["n"][:3]
        assert batch["x"].dtype == batch["twice"].dtype == batch["one"].dtype == values.dtype
        assert np.array_equal(batch["x"][:3], values[order])
        assert np.array_equal(batch["twice"][:3], values[order] * 2)
        assert np.array_equal(batch["one"][:3], values[order, 0])
        yielded = hp.iterable(lambda: ({"x": row} for row in values)).batch(3)
        assert np.array_equal(next(iter(yielded))["x"], values)

    def test_lists_of_bfloat16_are_padded(self, values):
        rows = hp.arrays({"n": np.arange(3)}).map(lambda e: {"x": values[0, : e["n"]]})
        (batch,) = rows.padded_batch(3, values=1.5)
        assert batch["x"].dtype == values.dtype
        assert batch["x"].astype(float).tolist() == [[1.5, 1.5], [1.5, 1.5], [1.5, -2]]

    def test_native_functions_pass_bfloat16_through_but_cannot_compute_with_it(self, values):
        rows = hp.arrays({"x": values, "n": np.arange(3)})
        (batch,) = rows.map(hr.native(lambda e: {"x": e["x"], "n": e["n"] + 1})).batch(3)
        assert np.array_equal(batch["x"], values)
        for compute in (lambda x: x + 1, lambda x: hr.ops.expand_dims(x, 0)):
            with pytest.raises(TypeError, match=r"(?s)bfloat16.*Convert them in a Python"):
                rows.map(hr.native(lambda e, compute=compute: {"x": compute(e["x"])}))

    def test_arrow_and_csv_reject_bfloat16(self, values, tmp_path):
        pytest.importorskip("pyarrow")
        with pytest.raises(
            TypeError,
            match=r"'x' is Spec.bfloat16, .*which Arrow does not "
            r"support",
        ):
            hp.arrays({"x": values}).to_arrow()
        with pytest.raises(TypeError, match="is not a valid type"):
            hp.csv(tmp_path / "a.csv", columns={"x": values.dtype})

    def test_to_torch_returns_torch_bfloat16(self, values):
        torch = pytest.importorskip("torch")
        (batch,) = hp.arrays({"x": values}).batch(3).to_torch()
        assert batch["x"].dtype == torch.bfloat16
        assert batch["x"].float().tolist() == values.astype(np.float32).tolist()

    def test_lists_of_torch_bfloat16_tensors_are_stacked(self):
        torch = pytest.importorskip("torch")
        pytest.importorskip("ml_dtypes")
        row = torch.tensor([1.5, -2], dtype=torch.bfloat16)
        nested, mixed = [[row[0]], (row[1],)], [row, row.float()]
        pipeline = hr.arrays({"rows": [row, row + 1], "nested": nested, "mixed": mixed})
        types = [spec.dtype.name for spec in pipeline.spec.values()]
        assert types == ["bfloat16", "bfloat16", "float32"]
        (batch,) = pipeline.batch(2)
        assert batch["rows"].astype(float).tolist() == [[1.5, -2], [2.5, -1]]
        assert batch["nested"].astype(float).tolist() == [[1.5], [-2]]
        assert batch["mixed"].tolist() == [[1.5, -2], [1.5, -2]]
        with pytest.raises(ValueError, match="'x' is a list whose items have different lengths"):
            hr.arrays({"x": [row, row[:1]]})
        mapped = hr.arrays({"n": [1, 2]}).map(lambda e: {"x": [row, row]})
        assert next(iter(mapped))["x"].dtype.name == "bfloat16"

    def test_to_jax_returns_jax_bfloat16(self, values):
        jax = pytest.importorskip("jax")
        (batch,) = hp.arrays({"x": values}).batch(3).to_jax()
        assert batch["x"].dtype == jax.numpy.bfloat16
        assert np.array_equal(np.asarray(batch["x"]), values)


class TensorLike:
    """An object that converts to an array but cannot be copied, like tensors of PyTorch."""

    def __init__(self):
        self.array = np.zeros(3, np.float32)

    def __array__(self, dtype=None):
        return self.array if dtype is None else self.array.astype(dtype)


def test_function_can_return_tensors_and_modify_them_in_the_next_call():
    tensor = TensorLike()

    def counted(example):
        tensor.array += 1
        return {"x": tensor}

    rows = hp.arrays({"n": np.arange(3)}).map(counted)
    assert rows.spec["x"].dtype == np.float32
    first = tensor.array.copy()
    actual = np.array([example["x"] for example in rows])
    assert actual.dtype == np.float32
    assert (np.diff(actual, axis=0) == 1).all()
    assert actual[0, 0] in (first[0], first[0] + 1)


def test_error_for_mixed_types_in_native_functions_suggests_a_cast():
    rows = hp.arrays({"n": np.arange(3), "x": np.arange(3.0)})
    for mixed in (
        lambda e: e["n"] + 0.5,
        lambda e: 0.5 * e["n"],
        lambda e: e["n"] + e["x"],
        lambda e: hr.ops.maximum(e["n"], 0.5),
        lambda e: e["n"] + np.array(1.5),  # TensorFlow 1 truncates it to 1.
        lambda e: hr.ops.stack([e["n"], e["x"]]),
    ):
        with pytest.raises(TypeError, match=r"headrace\.ops\.cast\(value, 'float32'\)"):
            rows.map(hr.native(lambda e, mixed=mixed: {"y": mixed(e)}))
    (batch,) = rows.map(hr.native(lambda e: {"y": hr.ops.cast(e["n"], "float32") + 0.5})).batch(3)
    assert batch["y"].tolist() == [0.5, 1.5, 2.5]
