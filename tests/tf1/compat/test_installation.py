"""Unchanged programs that import TensorFlow by name."""

import subprocess
import sys
import textwrap

import pytest

import headrace.tf1 as tf
from headrace.tf1.compat.paths import PATHS


def run(program, **arguments):
    """Runs a program in another process, after `install`."""
    call = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    head = f"import headrace.tf1\nheadrace.tf1.compat.install({call})\n"
    done = subprocess.run(
        [sys.executable, "-c", head + textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1]


def test_program_runs_unchanged():
    program = """
        import tensorflow as tf
        from tensorflow.python.framework import dtypes, errors, ops
        from tensorflow.python.ops import array_ops, data_flow_ops
        from tensorflow.python.training import coordinator, queue_runner

        queue = data_flow_ops.FIFOQueue(3, [dtypes.int32], shapes=[()])
        enqueue = queue.enqueue(array_ops.identity(ops.convert_to_tensor(7)))
        queue_runner.add_queue_runner(queue_runner.QueueRunner(queue, [enqueue]))
        taken = queue.dequeue()
        with tf.Session() as sess:
            coord = coordinator.Coordinator()
            threads = queue_runner.start_queue_runners(sess, coord)
            print(sess.run(taken), errors.OutOfRangeError is tf.errors.OutOfRangeError)
            coord.request_stop()
            coord.join(threads)
        print(tf.__name__, tf.__version__)
    """
    assert run(program) == ["7 True", "tensorflow 1.15.0"]


def test_every_path_of_the_table_is_importable_and_lists_its_names():
    lines = [f"import tensorflow.{path}" for path in PATHS]
    names = [f"print(len(dir(sys.modules['tensorflow.{path}'])) > 0)" for path in PATHS]
    assert run("\n".join(["import sys", *lines, *names])) == ["True"] * len(PATHS)


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("from tensorflow.python.platform import gfile", "gfile.FastGFile"),
        ("from tensorflow.python.platform import tf_logging as log", "log.info"),
        ("from tensorflow.python.framework import tensor_shape", "tensor_shape.TensorShape"),
        ("from tensorflow.python.framework import tensor_util", "tensor_util.constant_value"),
        ("from tensorflow.python import pywrap_tensorflow as p", "p.NewCheckpointReader"),
        ("from tensorflow.python.lib.io import file_io", "file_io.read_file_to_string"),
        ("from tensorflow.python.lib.io.tf_record import *", "TFRecordWriter"),
        ("from tensorflow.core.example import example_pb2", "example_pb2.Example"),
        ("from tensorflow.python.training import saver", "saver.latest_checkpoint"),
        ("import tensorflow.python.ops.control_flow_ops as ops", "ops.with_dependencies"),
        ("import tensorflow.compat.v1 as tf", "tf.compat.v1.train.batch"),
        ("import tensorflow.train as train", "train.shuffle_batch"),
        ("import tensorflow as tf", "tf.python.ops.image_ops.decode_jpeg"),
    ],
)
def test_names_can_be_imported_from_their_usual_paths(statement, expected):
    assert run(f"{statement}\nprint(callable({expected}))") == ["True"]


def test_rare_names_can_be_imported_from_their_usual_paths():
    program = """
        from tensorflow.core.framework.cost_graph_pb2 import CostGraphDef
        from tensorflow.core.protobuf.config_pb2 import CallableOptions, ThreadPoolOptionProto
        from tensorflow.core.protobuf.saver_pb2 import SaverDef
        from tensorflow.python.client.session import register_session_run_conversion_functions
        from tensorflow.python.framework import versions
        from tensorflow.python.framework.indexed_slices import IndexedSlicesValue
        from tensorflow.python.framework.ops import IndexedSlices
        from tensorflow.python.ops.control_flow_ops import merge, switch
        from tensorflow.python.ops.data_flow_ops import Barrier
        from tensorflow.python.ops.gen_control_flow_ops import merge as generated
        from tensorflow.python.ops.partitioned_variables import fixed_size_partitioner
        print(versions.GRAPH_DEF_VERSION, generated is merge, fixed_size_partitioner(2)([3]))
    """
    assert run(program) == ["134 True [2]"]


def test_input_names_can_be_imported_from_their_usual_paths():
    program = """
        import tensorflow as tf
        from tensorflow.contrib.framework.python.framework import tensor_util
        from tensorflow.contrib.framework.python.ops.variables import get_or_create_global_step
        from tensorflow.contrib.learn.python.learn.learn_io.graph_io import queue_parsed_features
        from tensorflow.contrib.slim.python.slim.data.data_decoder import DataDecoder
        from tensorflow.contrib.slim.python.slim.queues import QueueRunners
        from tensorflow.contrib.training.python.training.resample import weighted_resample
        from tensorflow.io import gfile
        from tensorflow.python.ops.gen_nn_ops import relu
        from tensorflow.python.training.learning_rate_decay import exponential_decay
        from tensorflow.python.training.moving_averages import assign_moving_average
        from tensorflow.python.util.deprecation import deprecated
        from tensorflow.python.util.function_utils import fn_args
        from tensorflow.python.framework.tensor_spec import TensorSpec
        print(gfile.exists is tf.io.gfile.exists is tf.compat.v1.io.gfile.exists)
        print(fn_args(relu), tensor_util.is_tensor(TensorSpec([])), tf.MetaGraphDef().ByteSize())
    """
    assert run(program) == ["True", "('features', 'name') False 0"]


def test_missing_name_imports_and_raises_with_a_remedy_on_use():
    program = """
        import tensorflow as tf
        import tensorflow.python.keras.layers
        from tensorflow.python.ops.data_flow_ops import FIFOQueue, MapStagingArea
        from tensorflow.train import AdamOptimizer

        class Net(tf.keras.Model):
            pass

        for use in (AdamOptimizer, Net, tf.python.keras.layers.Dense, MapStagingArea,
                    tf.python.ops.data_flow_ops.ConditionalAccumulator,
                    lambda: bool(tf.nn.conv2d), lambda: tf.CXX11_ABI_FLAG == 0):
            try:
                use()
            except NotImplementedError as error:
                print(error)
    """
    adam, net, dense, staging, accumulator, truth, flag = run(program)
    assert adam.startswith("tensorflow.train.AdamOptimizer: headrace does not have it, because")
    assert net.startswith("tensorflow.keras.Model: ")
    assert dense.startswith("tensorflow.python.keras.layers.Dense: ")
    for message in (adam, net, dense, truth):
        assert "headrace does not train models" in message
    assert staging.endswith("which collects components by key.")
    assert accumulator.endswith("Add up the results of `sess.run` in NumPy.")
    assert flag.startswith("tensorflow.CXX11_ABI_FLAG: ")


def test_tensorflow_decorators_return_the_function_itself():
    program = """
        import tensorflow as tf
        from tensorflow.python.util.tf_export import tf_export

        def function():
            return 7

        for decorator in (tf_export("a.b"), tf.contrib.framework.add_arg_scope,
                          tf.RegisterGradient("Own")):
            print(decorator(function) is function)
        try:
            tf.custom_gradient(function)()
        except NotImplementedError as error:
            print(str(error)[:26])
    """
    assert run(program) == ["True"] * 3 + ["tensorflow.custom_gradient"]


def test_names_from_before_1_0_override_current_ones():
    program = """
        import tensorflow as tf
        one, two = tf.constant([[1, 2]]), tf.constant([[3, 4]])
        fetches = [
            tf.pack([1, 2]), tf.unpack(tf.constant([5, 6])), tf.concat(1, [one, two]),
            tf.concat([one, two], 0), tf.split(1, 2, one), tf.mul(2, 3), tf.sub(2, 3), tf.neg(1),
            tf.select([True, False], [1, 2], [3, 4]), tf.reverse(one, [False, True]),
            tf.batch_matmul([[[1.0]]], [[[2.0]]]), tf.listdiff([1, 2], [1])[0], tf.inv(2.0),
        ]
        tf.scalar_summary("loss", 1.0)
        tf.scalar_summary(["a", "b"], [1.0, 2.0])
        tf.histogram_summary("h", [1.0])
        tf.image_summary("images", tf.zeros([2, 1, 1, 3]), max_images=1)
        merged = tf.merge_all_summaries()
        image = tf.zeros([4, 4, 3])
        sizes = [tf.image.resize_images(image, 2, 3), tf.image.resize_images(image, [2, 3]),
                 tf.image.resize_images(image, new_height=2, new_width=3)]
        print([size.shape.as_list() for size in sizes], tf.image.per_image_whitening(image).shape)
        with tf.Session() as sess:
            sess.run(tf.initialize_all_variables())
            for value in sess.run(fetches):
                print([part.tolist() for part in value] if type(value) is list else value.tolist())
            summary = tf.Summary.FromString(sess.run(merged))
            print(sorted(value.tag for value in summary.value))
        print(tf.train.SummaryWriter is tf.summary.FileWriter, tf.train.batch.__name__)
    """
    assert run(program, before_1_0=True) == [
        "[[2, 3, 3], [2, 3, 3], [2, 3, 3]] (4, 4, 3)",
        *("[1, 2]", "[5, 6]", "[[1, 2, 3, 4]]", "[[1, 2], [3, 4]]", "[[[1]], [[2]]]"),
        *("6", "-1", "-1", "[1, 4]", "[[2, 1]]", "[[[2.0]]]", "[2]", "0.5"),
        "['a', 'b', 'h', 'images/image', 'loss']",
        "True batch",
    ]


def test_initialize_all_variables_initializes_the_epoch_counter_before_1_0():
    program = """
        import tensorflow as tf
        number = tf.train.slice_input_producer([[1, 2]], num_epochs=2, shuffle=False)[0]
        with tf.Session() as sess:
            sess.run(tf.initialize_all_variables())
            coord = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(sess=sess, coord=coord)
            try:
                while not coord.should_stop():
                    print(sess.run(number))
            except tf.errors.OutOfRangeError:
                print("end")
            coord.request_stop()
            coord.join(threads)
    """
    assert run(program, before_1_0=True) == ["1", "2", "1", "2", "end"]


def test_names_from_before_1_0_are_absent_by_default():
    program = "import tensorflow as tf\nprint(hasattr(tf, 'pack'), hasattr(tf.train, 'x'))"
    assert run(program) == ["False False"]


def test_module_can_be_installed_under_another_name():
    assert run("import tf1\nprint(tf1.range(3).shape)", name="tf1") == ["(3,)"]


class TestRefusals:
    def test_name_of_a_loaded_module_is_rejected(self):
        with pytest.raises(RuntimeError, match=r"'pytest' is already loaded from .*__init__\.py"):
            tf.compat.install("pytest")

    def test_invalid_module_name_is_rejected(self):
        with pytest.raises(ValueError, match=r"got 'a\.b', expected a name"):
            tf.compat.install("a.b")

    def test_second_install_with_different_options_is_rejected(self):
        program = """
            import tensorflow as tf
            from headrace.tf1.compat import install
            print(install() is tf)
            try:
                install(before_1_0=True)
            except RuntimeError as error:
                print(error)
        """
        first, second = run(program)
        assert first == "True"
        assert (
            "is already installed with before_1_0=False, training='refuse', got before_1_0=True"
            in second
        )


def test_names_from_before_1_0_and_changed_arguments_work():
    program = """
        import tensorflow as tf

        def body(coord):
            print(coord.should_stop())

        thread = tf.train.threading.Thread(target=body, args=(tf.train.Coordinator(),))
        thread.start()
        thread.join()
        words = tf.SparseTensor(indices=[[0, 1]], values=["a"], shape=[2, 3])
        print([isinstance(t, tf.SparseTensor) for t in (words, tf.string_split(["b"]))])
        print(len(tf.sparse_split(1, 3, tf.sparse_concat(0, [words, words]))))
        number = tf.train.Feature(int64_list=tf.train.Int64List(value=[3, 4]))
        features = tf.train.Features(feature={"n": number, "ids": number})
        record = tf.train.Example(features=features).SerializeToString()
        one = tf.parse_single_example(
            record, sparse_keys=["ids"], sparse_types=[tf.int64], dense_keys=["n", "d"],
            dense_types=[tf.int64, tf.float32], dense_shapes=[[2], []], dense_defaults={"d": 0.5})
        many = tf.parse_example([record], features={"n": tf.FixedLenFeature([2], tf.int64)})
        with tf.Session() as sess:
            found = sess.run([one["n"], one["ids"].values, one["d"], many["n"]])
        print([part.tolist() for part in found])
        tf.app.flags.DEFINE_integer("steps", 7, "How many.")
        tf.app.flags.FLAGS._parse_flags()
        flipped = tf.reverse(tf.constant([[1, 2], [3, 4]]), tf.less([1.0, 0.2], 0.5))
        with tf.Session() as sess:
            print(sess.run(flipped).tolist())
        from tensorflow.python.client import device_lib
        devices = device_lib.list_local_devices()
        print([d.name for d in devices if d.device_type == "GPU"], len(devices))
        print([f"{name}={value}" for name, value in tf.app.flags.FLAGS.__flags.items()])
    """
    assert run(program, before_1_0=True) == [
        "False",
        "[True, True]",
        "3",
        "[[3, 4], [3, 4], 0.5, [[3, 4]]]",
        "[[2, 1], [4, 3]]",
        "[] 1",
        "['steps=7']",
    ]


def test_image_preprocessing_with_switch_and_merge_works():
    program = """
        import tensorflow as tf
        from tensorflow.python.ops import control_flow_ops

        choice = tf.placeholder(tf.int32, [])
        image = tf.ones([2, 2, 3])
        ways = [lambda x: x * 2.0, tf.image.flip_left_right, lambda x: x + 5.0]
        chosen = control_flow_ops.merge([
            way(control_flow_ops.switch(image, tf.equal(choice, number))[1])
            for number, way in enumerate(ways)])[0]
        with tf.Session() as sess:
            print([float(sess.run(chosen, {choice: n}).max()) for n in range(3)])
        print(chosen.shape)
    """
    assert run(program) == ["[2.0, 1.0, 6.0]", "(2, 2, 3)"]
