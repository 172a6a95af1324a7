"""The library runs without its extras. Errors of functions that need one name the package."""

from tests.core.hidden_packages import run, run_without_protobuf

INSTALL_TF1 = (
    "headrace.protos: google.protobuf is required for messages such as Example, but not "
    "installed. Install it: pip install protobuf"
)


def test_tensorflow_1_program_runs_without_protobuf():
    result = run_without_protobuf(
        "import headrace.tf1 as tf\n"
        "numbers = tf.train.range_input_producer(3, num_epochs=1, shuffle=False).dequeue()\n"
        "with tf.Session() as session:\n"
        "    session.run(tf.local_variables_initializer())\n"
        "    coord = tf.train.Coordinator()\n"
        "    threads = tf.train.start_queue_runners(session, coord)\n"
        "    print(*(session.run(numbers) for _ in range(3)))\n"
        "    coord.request_stop()\n"
        "    coord.join(threads)\n"
    )
    assert (result.stderr, result.stdout) == ("", "0 1 2\n")


EXPRESSIONS = [
    "tf.train.Example",
    "tf.train.Saver",
    "tf.train.import_meta_graph",
    "tf.train.MonitoredTrainingSession",
    "tf.summary.FileWriter",
    "tf.constant(1).op.node_def",
    "tf.get_default_graph().as_graph_def()",
    "tf.make_tensor_proto(1)",
    "tf.decode_json_example",
]


def test_errors_without_protobuf_name_the_package():
    result = run_without_protobuf(
        "import headrace.tf1 as tf\n"
        f"for expression in {EXPRESSIONS}:\n"
        "    try:\n"
        "        eval(expression)\n"
        "    except ModuleNotFoundError as error:\n"
        "        print(expression, error, sep=': ')\n"
    )
    assert result.stdout == "".join(f"{name}: {INSTALL_TF1}\n" for name in EXPRESSIONS)


def test_tensorflow_1_program_needs_absl_only_for_flags():
    result = run(
        "sys.modules.update(absl=None)\n"
        "import headrace.tf1 as tf\n"
        "print(tf.Session().run(tf.constant(3)))\n"
        "tf.app.flags.DEFINE_string('a', None, '')"
    )
    assert result.stdout == "3\n"
    assert result.stderr.endswith(
        "ModuleNotFoundError: tf.flags: absl is required for command-line flags, but not "
        "installed. Install it: pip install absl-py\n"
    )
