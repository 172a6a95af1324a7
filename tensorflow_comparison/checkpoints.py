"""Checkpoints that Hypothesis generates and headrace writes."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import headrace.tf1 as tf

_TYPES = ("float32", "float64", "int32", "int64", "uint8", "bool", "complex64")
_NAMES = ("a", "b/w", "b/x/y", "c_1", "d.e-f", "Z")


@st.composite
def checkpoints(draw: st.DrawFn) -> Any:
    """The values of some variables by name, and the files of their checkpoint."""
    values = draw(st.dictionaries(st.sampled_from(_NAMES), _values(), min_size=1))
    return values, _files_of(values)


def _values() -> st.SearchStrategy[Any]:
    shapes = arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
    numbers = st.sampled_from(_TYPES).flatmap(lambda name: arrays.arrays(np.dtype(name), shapes))
    texts = st.lists(st.binary(max_size=5), max_size=3).map(lambda items: np.array(items, object))
    return numbers | texts


def _files_of(values: dict[str, Any]) -> dict[str, bytes]:
    with TemporaryDirectory() as directory, tf.Graph().as_default(), tf.Session() as session:
        for name, value in values.items():
            tf.Variable(value, name=name)
        session.run(tf.global_variables_initializer())
        prefix = f"{directory}/given"
        tf.train.Saver().save(session, prefix, write_state=False, write_meta_graph=False)
        return {path.name: path.read_bytes() for path in Path(directory).iterdir()}
