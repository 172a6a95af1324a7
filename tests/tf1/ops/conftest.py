from collections.abc import Callable, Iterator
from typing import Any

import pytest

import headrace.tf1 as tf


@pytest.fixture
def run() -> Iterator[Callable[..., Any]]:
    """Runs fetches of the default graph in a session that ends with the test."""
    with tf.Session() as session:
        yield session.run


@pytest.fixture
def hidden() -> Callable[[Any], Any]:
    """Returns a tensor whose value and shape are unknown in the graph."""
    return lambda value, dtype=None: tf.placeholder_with_default(
        tf.constant(value, dtype=dtype), None
    )
