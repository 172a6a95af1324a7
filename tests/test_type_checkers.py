"""The view of type checkers: real types for right names, errors for wrong ones."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import headrace as hr
import headrace.tf1 as tf
from headrace.tf1 import ops

TOP = Path(__file__).parents[1]
# As NumPy is that of this Python, and so its types.
VERSION = f"--python-version={sys.version_info.major}.{sys.version_info.minor}"
WRONG = ("hr.bogus", "ops.bogus", "tf.bogus", "tf.train.bogus", "tf.image.bogus")
RIGHT = (
    *(f"hr.{name}" for name in hr.__all__),
    *(f"ops.{name}" for name in ops.__all__),
    *(f"hr.ops.{name}" for name in hr.ops.__all__),
    *(f"tf.{name}" for name in tf.__all__),
    *(f"tf.train.{name}" for name in tf.train.__all__),
    *(f"tf.image.{name}" for name in tf.image.__all__),
)
IMPORTS = "import headrace as hr\nimport headrace.tf1 as tf\nfrom headrace.tf1 import ops\n"

PREPARATION = """
from pathlib import Path
from typing import NamedTuple

import numpy as np

from headrace.queues import FIFOQueue, PaddingFIFOQueue

class Pair(NamedTuple):
    x: tf.Tensor
    y: tf.Tensor

x = tf.placeholder(tf.float32, [None, 3])
y = tf.placeholder(tf.int32, [])
v = tf.Variable(1.0)
sparse = tf.SparseTensor([[0]], [1.0], [2])
graph = tf.get_default_graph()
session = tf.Session()
coord = tf.train.Coordinator()
queue = tf.FIFOQueue(3, tf.float32)
writer = tf.summary.FileWriter("logs", graph)
native = FIFOQueue(9, ["int64", np.float32], [[], (3,)])
"""
RIGHT_CALLS = (
    "x[1:, ..., None], x[y], x[0, x.shape[1]], x[np.int64(1)], x[x > 0]",
    "x.shape.merge_with([2, None]), x.shape[0] * 2 + y.shape.num_elements()",
    "tf.device('/cpu:0'), tf.device(lambda op: '/cpu:0'), tf.device(None), tf.colocate_with(v)",
    "tf.control_dependencies([x, x.op, v, 'name']), tf.name_scope('a', values=[x, v])",
    "tf.add_to_collection(('any', 'key'), object())",
    "session.run(x, feed_dict={x: np.zeros((2, 3)), 'y:0': 1}).shape",
    "session.run([x, [v, y.op], {'a': x}])[0].shape, session.run('x:0', {x: [[1, 2, 3]]})",
    "session.run(Pair(x, y)).y, x.eval({x: 1}, session); x.op.run(session=session)",
    "tf.ConfigProto(log_device_placement=True).gpu_options.allow_growth",
    "native.enqueue([1, np.zeros(3)]); native.enqueue_many(([1, 2], np.zeros((2, 3))))",
    "native.enqueue(Path('a')); native.enqueue({'a': 1, 'b': 'c'})",
    "PaddingFIFOQueue(9, ['int64', 'bool'], [[None, 2], [None]], names=['a', 'b'])",
    "tf.train.QueueRunner(queue, [queue.enqueue(1.0)]).create_threads(session, coord=coord)",
    "tf.train.start_queue_runners(sess=session, coord=coord)",
    "tf.train.batch([x, y], batch_size=y, shapes=[[2, 3], []])",
    "tf.train.shuffle_batch({'x': x}, 2, capacity=9, min_after_dequeue=3)",
    "tf.train.batch_join([[x, y] for _ in range(3)], 2)",
    "tf.train.string_input_producer([Path('a'), 'b']), tf.train.slice_input_producer([x, [1]])",
    "tf.train.Saver([v]).save(session, Path('model'), global_step=v)",
    "tf.train.Saver({'v': v}, max_to_keep=None).save(session, 'model', np.int64(1))",
    "writer.add_graph(graph.as_graph_def()); writer.add_graph(graph)",
    "tf.python_io.TFRecordWriter('a', tf.python_io.TFRecordCompressionType.GZIP)",
    "tf.reduce_sum(x, [0], keep_dims=True), tf.squeeze(x, [1]), tf.concat(0, [x, x])",
    "tf.py_func(len, [x], tf.int64).shape, len(tf.py_func(divmod, [x, x], [tf.float32] * 2))",
    "tf.image.resize_images(x, [3, 4], method=tf.image.ResizeMethod.AREA)",
    "hr.arrays({'n': np.zeros(3)}).map(hr.native(dict)).filter(hr.native(len)).batch(2)",
    "tf.Print(x, [x, 'text']), tf.to_float(sparse); tf.flags.DEFINE_list('a', 'b,c', 'Names.')",
)
WRONG_CALLS = (
    "x['a']",
    "x.shape.merge_with('abc')",
    "tf.device(3)",
    "tf.control_dependencies([3])",
    "graph.get_tensor_by_name(x)",
    "session.run(3)",
    "session.run(x, feed_dict=[1])",
    "session.run(sparse).nonsense",
    "x.eval(session=graph)",
    "native.enqueue({1, 2})",
    "FIFOQueue(1, 'int64', ['a'])",
    "tf.train.QueueRunner('name', [])",
    "tf.train.start_queue_runners(coord='coord')",
    "tf.train.batch(x, 2)",
    "tf.train.range_input_producer(object())",
    "tf.train.Saver([x])",
    "tf.train.Saver(saver_def='file')",
    "writer.add_graph('file')",
    "tf.python_io.TFRecordWriter('a', [1])",
    "tf.squeeze(x, 'a')",
    "tf.cond(True, x, x)",
    "tf.Print(x, 3)",
)


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> dict[str, str]:
    """Returns mypy's report of each expression."""
    expressions = [*WRONG, *RIGHT]
    lines = [f"reveal_type({expression})" for expression in expressions]
    return said_of(tmp_path_factory.mktemp("types"), IMPORTS, lines, expressions)


@pytest.fixture(scope="module")
def complaints(tmp_path_factory) -> dict[str, str]:
    """Returns mypy's report of each call of a program."""
    calls = [*WRONG_CALLS, *RIGHT_CALLS]
    return said_of(tmp_path_factory.mktemp("calls"), IMPORTS + PREPARATION, calls, calls)


def said_of(folder: Path, start: str, lines: list[str], names: list[str]) -> dict[str, str]:
    """Returns mypy's report of the lines of a program, by their names."""
    program = folder / "program.py"
    program.write_text(start + "\n".join(lines))
    result = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-pretty", VERSION, str(program)],
        cwd=TOP,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert result.stderr == ""
    said: dict[str, str] = {}
    for number, text in re.findall(r"program\.py:(\d+): (.*)", result.stdout):
        name = names[int(number) - start.count("\n") - 1]
        said[name] = f"{said.get(name, '')}{text}\n"
    return said


@pytest.mark.timeout(300)
def test_a_wrong_name_is_an_error(report):
    for expression in WRONG:
        assert "error: Module has no attribute" in report[expression], expression


@pytest.mark.timeout(300)
def test_a_right_name_has_a_type(report):
    assert [name for name in RIGHT if "error:" in report[name]] == []
    assert [name for name in RIGHT if 'Revealed type is "Any"' in report[name]] == []


@pytest.mark.timeout(300)
def test_lazily_loaded_names_have_the_types_of_their_definitions(report):
    assert "headrace.graph.graph.Graph" in report["tf.Graph"]
    assert "-> headrace.tf1.session.session.Session" in report["tf.Session"]
    assert "headrace.pipeline.describe.pipeline.Pipeline" in report["hr.Pipeline"]
    assert "-> headrace.graph.nodes.Tensor" in report["ops.concat"]
    assert "-> headrace.tf1.coordinator.Coordinator" in report["tf.train.Coordinator"]


@pytest.mark.timeout(300)
def test_a_right_call_is_not_an_error(complaints):
    assert {call: complaints[call] for call in RIGHT_CALLS if call in complaints} == {}


@pytest.mark.timeout(300)
def test_a_wrong_call_is_an_error(complaints):
    assert [call for call in WRONG_CALLS if "error:" not in complaints.get(call, "")] == []
