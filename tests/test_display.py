"""`repr` says headrace in a program of the core, and tf in one of TensorFlow 1."""

import subprocess
import sys

PROGRAM = """
from headrace import ops
from headrace.graph import Graph
def show():
    with Graph().as_default():
        x = ops.placeholder(dtype, [2], name="x")
        print([repr(x), repr(x.op), repr(x.dtype), repr(ops.Variable(x, name="v"))])
from headrace.dtypes import float32 as dtype
show()
import headrace.tf1
show()
"""


def test_only_a_program_for_tensorflow_1_reads_tf_in_repr():
    output = subprocess.run(
        [sys.executable, "-c", PROGRAM], timeout=60, check=True, capture_output=True, text=True
    ).stdout
    assert output.splitlines() == [
        str(
            [
                "<headrace.Tensor 'x:0' shape=(2,) dtype=float32>",
                "<headrace.Operation 'x' type=Placeholder>",
                "headrace.dtypes.float32",
                "<headrace.ops.Variable 'v:0' shape=(2,) dtype=float32_ref>",
            ]
        ),
        str(
            [
                "<tf.Tensor 'x:0' shape=(2,) dtype=float32>",
                "<tf.Operation 'x' type=Placeholder>",
                "tf.float32",
                "<tf.Variable 'v:0' shape=(2,) dtype=float32_ref>",
            ]
        ),
    ]
