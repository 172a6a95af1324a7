"""Kinds of readers, running readers, and their files."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.tf1.ops.readers.reading import KINDS, Kind, Reading


@pytest.fixture(params=KINDS, ids=lambda kind: kind.name)
def kind(request: pytest.FixtureRequest) -> Kind:
    return request.param


@pytest.fixture
def reading() -> Iterator[Callable[..., Reading]]:
    """Creates running readers whose sessions end with the test."""
    outputs = []

    def make(*args: Any, **kwargs: Any) -> Reading:
        outputs.append(Reading(*args, **kwargs))
        return outputs[-1]

    yield make
    for one in outputs:
        one.end()


@pytest.fixture
def make_file(tmp_path: Path) -> Callable[[str, bytes], Path]:
    """Writes a file."""

    def make(name: str, contents: bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(contents)
        return path

    return make
