"""`repr` begins with headrace in programs with pipelines, and with tf in TensorFlow 1 programs."""

import subprocess
import sys

PROGRAM = """
from headrace.graph import Graph
def show():
    with Graph().as_default():
        x = placeholder(dtype, [2], name="x")
        print([repr(x), repr(x.op), repr(x.dtype)])
from headrace.core.dtypes import float32 as dtype
from headrace.ops.array.placeholder import placeholder
show()
import headrace.tf1
show()
"""


def test_repr_mentions_tf_only_in_tensorflow_1_programs():
    output = subprocess.run(
        [sys.executable, "-c", PROGRAM], timeout=60, check=True, capture_output=True, text=True
    ).stdout
    assert output.splitlines() == [
        str(
            [
                "<headrace.Tensor 'x:0' shape=(2,) dtype=float32>",
                "<headrace.Operation 'x' type=Placeholder>",
                "headrace.core.dtypes.float32",
            ]
        ),
        str(
            [
                "<tf.Tensor 'x:0' shape=(2,) dtype=float32>",
                "<tf.Operation 'x' type=Placeholder>",
                "tf.float32",
            ]
        ),
    ]
