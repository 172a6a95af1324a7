"""The examples in the docstrings of public names print the documented output."""

import doctest
import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import headrace as hr

# These read data that is not made in two lines, or need another library.
WITHOUT_EXAMPLE = {
    "arrow",
    "audio_folder",
    "classes",
    "lerobot",
    "stored_stats",
    "tfds",
    "to_grain",
    "to_jax",
    "to_mlx",
    "to_ray_dataset",
    "to_torch",
}


def public_objects() -> Iterator[tuple[str, Any]]:
    """Yields public objects with their names, and the members of classes."""
    modules = (hr, hr.pipeline, hr.ops, hr.records, hr.testing, hr.errors)
    for module in modules:
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.ismodule(value) or isinstance(value, str):
                continue
            yield f"{module.__name__}.{name}", value
            for member in dir(value) if inspect.isclass(value) else ():
                if not member.startswith("_"):
                    yield f"{module.__name__}.{name}.{member}", getattr(value, member)


EXAMPLES = {
    text: name
    for name, value in public_objects()
    if isinstance(text := getattr(value, "__doc__", None), str) and ">>>" in text
}


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.0.0", reason="prints differ")
@pytest.mark.parametrize("text", [pytest.param(text, id=name) for text, name in EXAMPLES.items()])
def test_docstring_examples_print_their_output(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    test = doctest.DocTestParser().get_doctest(
        inspect.cleandoc(text), {"hr": hr, "np": np}, EXAMPLES[text], None, 0
    )
    printed: list[str] = []
    result = doctest.DocTestRunner(verbose=False).run(test, out=printed.append)
    test.globs.clear()
    assert result.failed == 0, "".join(printed)


def test_every_stage_and_source_has_an_example():
    methods = {name for name in dir(hr.Pipeline) if not name.startswith("_")}
    sources = {name for name in hr.__all__ if inspect.isfunction(getattr(hr, name))}
    with_example = {name.rsplit(".", 1)[1] for name in EXAMPLES.values()}
    assert (methods | sources) - with_example == WITHOUT_EXAMPLE | {"torch_generator"}
