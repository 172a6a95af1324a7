"""Users' exceptions whose classes allow no notes, no attributes, or no text."""

import dataclasses

import numpy as np
import pytest

import headrace as hr

pytestmark = pytest.mark.timeout(60)


@dataclasses.dataclass(frozen=True)
class FrozenError(Exception):
    number: int


class NotelessError(Exception):
    add_note = None


class NotelessKeyError(KeyError):
    add_note = None


class UnreadableError(Exception):
    def __str__(self):
        raise ValueError("no text")

    def __setattr__(self, name, value):
        raise ValueError("no attributes are set")

    def __getattribute__(self, name):
        raise ValueError("no attributes are read")


CLASSES = (FrozenError, NotelessError, NotelessKeyError, UnreadableError)


@dataclasses.dataclass
class Failing:
    """A function that fails at a row."""

    kind: type
    row: int
    result: str

    def __call__(self, example):
        if example["n"] == self.row:
            raise self.kind(7)
        return {"map": example, "filter": True, "flat_map": [example]}[self.result]


@dataclasses.dataclass
class FailingSource:
    """A factory whose iterators fail at an item."""

    kind: type
    item: int

    def __call__(self):
        for n in range(5):
            if n == self.item:
                raise self.kind(7)
            yield {"n": n}


def notes(error):
    return BaseException.__getattribute__(error, "__notes__")


def check_raises(pipeline, kind, note):
    error = None
    try:
        list(pipeline)
    except BaseException as raised:  # pytest.raises reads attributes of the exception.
        error = raised
    # The class may have been loaded twice.
    assert type(error).__name__ == kind.__name__
    assert any(text.startswith(note) for text in notes(error))


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("num_processes", [0, 1])
@pytest.mark.parametrize("row", [0, 3])
@pytest.mark.parametrize("stage", ["map", "filter", "flat_map"])
def test_function_exception_is_raised_with_a_note(stage, row, num_processes, kind):
    pipeline = hr.arrays({"n": np.arange(6)})
    failing = getattr(pipeline, stage)(Failing(kind, row, stage), num_processes=num_processes)
    check_raises(failing, kind, f"in {stage}(Failing), at arrays: row {row}")
    assert len(list(failing.skip_errors(1))) == 5
    check_raises(failing.skip_errors(0), kind, "skip_errors: 0 examples were skipped before")


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("num_processes", [0, 1])
@pytest.mark.parametrize("item", [0, 3])
def test_iterator_exception_is_raised_with_a_note(item, num_processes, kind):
    failing = hr.iterable(FailingSource(kind, item), num_processes)
    check_raises(failing, kind, f"in iterable(FailingSource), at item {item}")


def test_unreadable_function_name_falls_back_to_class_name():
    class Nameless:
        def __call__(self, example):
            return example

        def __getattr__(self, name):
            if name == "__qualname__":
                raise RuntimeError("no name")
            raise AttributeError(name)

    assert len(list(hr.arrays({"n": np.arange(3)}).map(Nameless()))) == 3
