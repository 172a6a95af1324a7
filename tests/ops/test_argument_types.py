"""Types of calls of operations: right arguments pass a type checker, wrong ones are refused."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
# As NumPy is that of this Python, and so its types.
VERSION = f"--python-version={sys.version_info.major}.{sys.version_info.minor}"
PREPARATION = """\
from pathlib import Path
import numpy as np
import headrace.tf1 as tf
from headrace.tf1 import ops
image = tf.placeholder(tf.float32, [4, 4, 3])
variable = ops.Variable(1.0)
queue = ops.FIFOQueue(10, [tf.float32, tf.string], shapes=[[4, 4, 3], []])
features = {"a": tf.FixedLenFeature([], tf.int64), "b": tf.VarLenFeature("string")}
element = {"image": image, "label": 1}
"""
RIGHT = (
    "ops.reshape(image, [-1, 3])",
    "ops.reshape([1, 2, 3, 4], (ops.size(image), 1))",
    "ops.zeros([2, image.shape[0]])",
    "ops.constant(np.zeros(4), tf.float32, shape=image.shape)",
    "ops.concat([image, variable * 2, image[::-1]], axis=0)",
    "image[0, ..., tf.newaxis, 1 : ops.size(image)]",
    "variable + 1 - image / variable",
    "ops.stack([image.shape[0], 1, ops.shape(image)[0]])",
    "ops.squeeze(image, [0])",
    "ops.reduce_sum(image, axis=(0, 1))",
    "ops.cast(image, 'int32')",
    "ops.crop_to_bounding_box(image, 0, np.int64(0), image.shape[0], tf.constant(2))",
    "ops.read_file(Path('a'))",
    "queue.enqueue((image, 'name'))",
    "queue.enqueue(element)",
    "ops.FIFOQueue(10, tf.float32, shapes=[2, 3])",
    "ops.TFRecordReader().read(queue)",
    "ops.parse_single_example('', features)['a'] + 1",
    "ops.decode_csv('1,a', [[0], ['']])",
    "ops.get_variable('a', [2], initializer=ops.zeros_initializer)",
    "ops.get_variable('b', [2], tf.int32, initializer=ops.ones_initializer())",
    "ops.get_variable('c', initializer=3)",
    "ops.Variable(lambda: ops.zeros([2]), collections=['mine'])",
    "kept: tf.Variable = tf.get_variable('a', [2], None, tf.zeros_initializer())",
    "step: tf.Variable = tf.train.create_global_step()",
    "ops.group(image, image.op, [variable], {'a': queue.close()})",
    "ops.py_func(np.sin, [image], tf.float32) + 1",
)
WRONG = (
    "ops.reshape(image, object())",
    "ops.reshape(image.op, [-1])",
    "ops.add(queue, 1)",
    "image + queue",
    "variable + queue",
    "variable['name']",
    "ops.zeros([2], dtype=[1])",
    "ops.placeholder(tf.float32, shape='name')",
    "ops.squeeze(image, 'name')",
    "ops.crop_to_bounding_box(image, 'top', 0, 2, 2)",
    "ops.reduce_sum(image, keepdims='yes')",
    "ops.read_file(queue)",
    "ops.FIFOQueue('ten', tf.float32)",
    "ops.TFRecordReader().read('name')",
    "ops.parse_single_example('', {'a': tf.int64})",
    "ops.get_variable('a', [2], custom_getter=print)",
    "ops.group('name', 1)",
    "ops.py_func(3, [image], tf.float32)",
)


@pytest.fixture(scope="module")
def errors(tmp_path_factory) -> dict[str, str]:
    """Returns the lines that mypy refuses, with its reasons."""
    calls = [*RIGHT, *WRONG]
    program = tmp_path_factory.mktemp("types") / "program.py"
    program.write_text(PREPARATION + "\n".join(calls))
    result = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-pretty", VERSION, str(program)],
        cwd=TOP,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert result.stderr == ""
    first = PREPARATION.count("\n") + 1
    found = re.findall(r"program\.py:(\d+): error: (.*)", result.stdout)
    return {calls[int(line) - first]: text for line, text in found}


@pytest.mark.timeout(300)
def test_right_arguments_pass(errors):
    assert [(call, errors[call]) for call in RIGHT if call in errors] == []


@pytest.mark.timeout(300)
def test_wrong_arguments_are_refused(errors):
    assert [call for call in WRONG if call not in errors] == []
