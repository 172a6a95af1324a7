"""The time of a run.

Source: `tf.timestamp` in TensorFlow 1.15.
"""

import time

import numpy as np

from headrace.core.dtypes import float64
from headrace.core.shapes import TensorShape
from headrace.graph import Tensor, define
from headrace.ops.framework.arguments import apply_op
from headrace.ops.framework.kernel import Array

__all__ = ["timestamp"]


def timestamp(name: str | None = None) -> Tensor:
    """Returns the time of the run, in seconds since 1970: a scalar float64."""

    def kernel() -> Array:
        return np.array(time.time())

    outputs = [(float64, TensorShape([]))]
    return apply_op("Timestamp", [], lambda: outputs, name=name, kernel=kernel).outputs[0]


define("Timestamp", is_stateful=True)
