"""Python functions of a pipeline that build graphs."""

import numpy as np
import pytest

from headrace import ops
from headrace import pipeline as hp
from headrace import tf1 as tf


@pytest.mark.parametrize("workers", [{}, {"num_processes": 1}])
def test_python_function_can_build_its_own_graph(workers):
    pipe = hp.arrays({"n": np.arange(3)}).map(with_a_graph, **workers)
    assert [example["n"] for example in pipe] == [0, 2, 4]


def with_a_graph(example):
    with tf.Graph().as_default(), tf.Session() as session:
        return {"n": session.run(ops.add(example["n"], example["n"]))}
