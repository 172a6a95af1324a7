"""Python functions: their arguments, results, order and errors."""

import threading

import numpy as np
import pytest

from headrace import ops
from headrace import pipeline as hp
from headrace.graph import get_default_graph


@pytest.fixture
def rows():
    return hp.arrays(
        {"x": np.arange(2000, dtype=np.float32).reshape(1000, 2), "n": np.arange(1000)}
    )


def test_function_receives_read_only_numpy_values(rows):
    seen = []

    def look(example):
        seen.append(example)
        return {"n": example["n"]}

    list(rows.take(3).map(look))
    assert type(seen[-1]["n"]) is np.int64
    assert (seen[-1]["x"].dtype, seen[-1]["x"].shape) == (np.float32, (2,))
    with pytest.raises(ValueError, match="read-only"):
        seen[-1]["x"][0] = 3


def test_returned_values_are_copied_and_typed(rows):
    buffer = np.zeros(3)

    def fill(example):
        buffer[:] = example["n"]
        return {"a": buffer, "i": 3, "f": 0.5, "b": True, "s": "é", "raw": b"\xff"}

    pipeline = rows.map(fill)
    [batch, *_] = pipeline.batch(10)
    assert batch["a"].tolist() == [[n] * 3 for n in range(10)]
    kinds = {name: batch[name].dtype for name in ("a", "i", "f", "b")}
    assert kinds == {"a": np.float64, "i": np.int64, "f": np.float64, "b": np.bool_}
    assert (batch["s"][0], batch["raw"][0]) == ("é", b"\xff")
    assert {name: spec.dtype for name, spec in pipeline.spec.items()}["s"] is str


def test_function_is_called_in_order_in_one_thread(rows):
    calls, threads = [], set()

    def note(example):
        calls.append(int(example["n"]))
        threads.add(threading.get_ident())
        return example

    pipeline = rows.map(note).options(num_threads=8)
    assert list(pipeline.spec) == ["x", "n"]
    calls.clear()
    threads.clear()
    assert [int(example["n"]) for example in pipeline] == list(range(1000))
    assert calls == list(range(1000))
    assert len(threads) == 1
    assert threading.get_ident() not in threads


def test_function_after_batch_receives_batches(rows):
    pipeline = rows.batch(300).map(lambda batch: {"sum": batch["x"].sum(axis=1)})
    batches = list(pipeline)
    assert [len(batch["sum"]) for batch in batches] == [300, 300, 300, 100]
    assert batches[-1]["sum"][-1] == 1998 + 1999
    kept = rows.batch(300).filter(lambda batch: len(batch["n"]) == 300)
    assert len(list(kept)) == 3


def test_rows_of_different_shapes_cannot_be_batched(rows):
    ragged = rows.map(lambda example: {"a": np.zeros(int(example["n"]) % 3)})
    assert [len(example["a"]) for example in ragged.take(4)] == [0, 1, 2, 0]
    with pytest.raises(Exception, match="component 'a': one example has double of shape") as caught:
        list(ragged.batch(4))
    assert "padded_batch" in str(caught.value)


class Mistake(Exception):
    pass


def fail_at(number):
    def fail(example):
        if example["n"] == number:
            raise Mistake(f"at {number}")
        return example

    return fail


def test_exception_is_raised_unchanged_after_the_preceding_batches(rows):
    taken = []
    with pytest.raises(Mistake, match="at 555") as caught:
        taken.extend(rows.map(fail_at(555)).batch(100))
    assert len(taken) == 5
    assert caught.value.__notes__ == ["in map(fail_at.<locals>.fail), at arrays: row 555"]


def test_error_names_the_record(tmp_path):
    (tmp_path / "a").write_text("one\ntwo\n")

    def fail(example):
        if example["text"] == b"two":
            raise KeyError("x")
        return example

    with pytest.raises(KeyError) as caught:
        list(hp.text_lines(tmp_path / "a").map(fail))
    assert caught.value.__notes__[0].endswith(f", at {tmp_path / 'a'}: line 2")


@pytest.mark.parametrize("workers", [{}, {"num_threads": 2}, {"num_processes": 1}])
def test_note_of_a_key_error_lists_the_components(workers):
    pipe = hp.arrays({"image": np.arange(9), "label": np.arange(9)}).map(label_of, **workers)
    with pytest.raises(KeyError, match="labels") as caught:
        list(pipe)
    assert caught.value.__notes__[-2:] == [
        "in map(label_of), at arrays: row 0",
        "the example has the components 'image', 'label'",
    ]


def label_of(example):
    return {"label": example["labels"]}


def test_stop_iteration_in_a_function_is_an_error(rows):
    def stop(example):
        if example["n"] == 10:
            raise StopIteration
        return example

    with pytest.raises(RuntimeError, match="raised StopIteration"):
        list(rows.map(stop))


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (lambda example: 3, TypeError, "the function returned int, expected a dict"),
        (
            lambda example: {"n": 1} if example["n"] < 5 else {"m": 1},
            ValueError,
            r"returned the components \['m'\], expected \['n'\]",
        ),
        (lambda example: {"n": object()}, TypeError, "the component 'n' contains objects"),
        (
            lambda example: {"n": 1 if example["n"] < 5 else 0.5},
            TypeError,
            "types float64, int64, but its type must be the same",
        ),
    ],
)
def test_unsupported_values_are_rejected(rows, function, error, message):
    with pytest.raises(error, match=message):
        list(rows.map(function))


def test_preceding_examples_come_before_a_type_mismatch_error(rows):
    mixed = rows.map(lambda example: {"n": 1 if example["n"] < 500 else 0.5})
    for options in ({}, {"num_threads": 1, "memory_bytes": 1}):
        with iter(mixed.options(**options)) as examples:
            assert sum(int(next(examples)["n"]) for _ in range(500)) == 500
            with pytest.raises(
                TypeError, match="types float64, int64, but its type must be the same"
            ):
                next(examples)


def test_flat_map_can_return_any_number_of_examples(rows):
    pipeline = rows.take(5).flat_map(lambda e: ({"m": e["n"]} for _ in range(int(e["n"]))))
    assert [int(e["m"]) for e in pipeline] == [1, 2, 2, 3, 3, 3, 4, 4, 4, 4]


@pytest.mark.parametrize("workers", [{}, {"num_threads": 2}, {"num_processes": 1}])
@pytest.mark.parametrize("kind", ["map", "filter", "flat_map"])
def test_operation_in_a_python_function_is_an_error(kind, workers):
    pipe = getattr(hp.arrays({"n": np.arange(9)}), kind)(with_an_operation, **workers)
    with pytest.raises(TypeError, match="Mark the function with @native") as caught:
        list(pipe)
    assert f"in {kind}(with_an_operation), at arrays: row 0" in caught.value.__notes__
    assert not get_default_graph().get_operations()


def with_an_operation(example):
    return {"n": ops.cast(example["n"], np.float32)}


@pytest.mark.parametrize("ways", [{}, {"num_threads": 2}, {"num_processes": 2}])
@pytest.mark.parametrize("learns_first", [False, True])
def test_yielded_examples_in_a_reused_buffer_are_copied(rows, ways, learns_first):
    def twins(example):
        # Each call has its own buffer, since several threads may call it.
        buffer, names = np.zeros(2), np.empty(1, object)
        for number in (2 * example["n"], 2 * example["n"] + 1):
            buffer[:], names[:] = number, f"row {number}"
            yield {"a": buffer, "s": names}

    pipe = rows.take(4).flat_map(twins, **ways)
    if learns_first:
        assert set(pipe.spec) == {"a", "s"}
    examples = list(pipe)
    assert [example["a"].tolist() for example in examples] == [[n, n] for n in range(8)]
    assert [example["s"].tolist() for example in examples] == [[f"row {n}"] for n in range(8)]
