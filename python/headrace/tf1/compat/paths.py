"""The modules of headrace that have the names of TensorFlow's internal modules.

Programs import names from `tensorflow.python.*` and `tensorflow.contrib.*` that also are public.
So each of those paths has a list of public modules, in which its names are looked up in order.
"""

from typing import Final

__all__ = ["PATHS"]

_FRAMEWORK: Final = {
    "common_shapes": ["headrace.core.shapes"],
    "constant_op": [""],
    "device": ["headrace.graph", ""],
    "dtypes": ["", "headrace.core.dtypes"],
    "errors": ["errors"],
    "errors_impl": ["errors"],
    "function": [""],
    "graph_io": ["train"],
    "importer": [""],
    "indexed_slices": ["", "headrace.tf1.indexed_slices"],
    "graph_util": [""],
    "meta_graph": ["train"],
    "op_def_library": [""],
    "ops": ["", "headrace.graph", "headrace.tf1.indexed_slices"],
    "random_seed": [""],
    "sparse_tensor": ["", "sparse"],
    "tensor_shape": ["", "headrace.core.shapes"],
    "tensor_spec": [""],
    "tensor_util": ["", "headrace.ops.framework.folding"],
    "versions": ["version", ""],
}
_OPS: Final = {
    "array_ops": ["", "nn"],
    "audio_ops": ["audio", "headrace.tf1.ops.records.spectrum"],
    "bitwise_ops": ["bitwise"],
    "gen_audio_ops": ["audio", "headrace.tf1.ops.records.spectrum"],
    "check_ops": [""],
    "clip_ops": [""],
    "confusion_matrix": [""],
    "metrics": ["metrics"],
    "metrics_impl": ["metrics"],
    "losses.losses": ["losses"],
    "losses.losses_impl": ["losses"],
    "control_flow_ops": ["", "train", "headrace.tf1.ops.control.switch"],
    "data_flow_ops": [
        "",
        "queue",
        "contrib.staging",
        "headrace.tf1.ops.queues.barrier",
        "headrace.tf1.ops.readers.record_input",
    ],
    "functional_ops": [""],
    "gen_array_ops": [""],
    "gen_control_flow_ops": ["", "headrace.tf1.ops.control.switch"],
    "gen_image_ops": ["image", ""],
    "gen_io_ops": ["io", ""],
    "gen_parsing_ops": ["io", ""],
    "image_ops": ["image", "io"],
    "image_ops_impl": ["image", "io"],
    "init_ops": ["", "initializers"],
    "io_ops": ["io", ""],
    "logging_ops": ["", "compat.before_1_0"],
    "lookup_ops": ["contrib.lookup", ""],
    "map_fn": [""],
    "math_ops": ["math", ""],
    "nn": ["nn", ""],
    "nn_ops": ["nn", ""],
    "numerics": [""],
    "parsing_ops": ["io", ""],
    "partitioned_variables": [""],
    "random_ops": ["", "random"],
    "resources": [""],
    "script_ops": [""],
    "sparse_ops": ["", "sparse"],
    "special_math_ops": ["math", ""],
    "state_ops": [""],
    "string_ops": ["strings", ""],
    "summary_ops": ["summary"],
    "tensor_array_ops": [""],
    "variable_scope": [""],
    "variables": [""],
}
_TRAINING: Final = [
    *("basic_loops", "basic_session_run_hooks", "checkpoint_management", "checkpoint_utils"),
    *("coordinator", "device_setter", "input", "monitored_session", "queue_runner"),
    *("queue_runner_impl", "saver", "server_lib", "session_manager", "session_run_hook"),
    *("summary_io", "supervisor", "training", "training_util"),
]
_SLIM: Final = [
    *("data_provider", "dataset", "dataset_data_provider", "parallel_reader", "prefetch_queue"),
    "tfexample_decoder",
]
_CONTRIB_TRAINING: Final = ["bucket_ops", "hparam", "sampling_ops", "sequence_queueing_state_saver"]
_OTHERS: Final = {
    "contrib.deprecated": ["compat.before_1_0"],
    "contrib.framework.python.ops.audio_ops": ["audio", "headrace.tf1.ops.records.spectrum"],
    "contrib.lookup.lookup_ops": ["contrib.lookup"],
    "contrib.losses.python.losses.loss_ops": ["contrib.losses"],
    "contrib.metrics.python.ops.metric_ops": ["contrib.metrics"],
    "core.framework.tensor_pb2": ["headrace.protos"],
    "core.example.example_pb2": ["train"],
    "core.example.feature_pb2": ["train"],
    "core.framework.graph_pb2": [""],
    "core.framework.summary_pb2": [""],
    "core.protobuf.config_pb2": ["", "headrace.tf1.session.options"],
    "core.util.event_pb2": [""],
    "core.framework.cost_graph_pb2": ["headrace.tf1.protos"],
    "core.framework.step_stats_pb2": ["headrace.tf1.protos"],
    "core.protobuf.meta_graph_pb2": ["headrace.tf1.protos"],
    "core.protobuf.queue_runner_pb2": ["headrace.tf1.protos"],
    "core.protobuf.saver_pb2": ["headrace.tf1.protos"],
    "python.client.device_lib": ["headrace.tf1.compat.device_lib"],
    "python.client.session": ["", "headrace.graph.lowering.composites"],
    "python.client.timeline": ["headrace.tf1.session.traces.timeline"],
    "python.estimator.inputs.numpy_io": ["estimator.inputs"],
    "python.estimator.inputs.pandas_io": ["estimator.inputs"],
    "python.estimator.inputs.inputs": ["estimator.inputs"],
    "python.estimator.inputs.queues.feeding_functions": ["estimator.inputs"],
    "python.lib.io.file_io": ["headrace.tf1.compat.file_io", "gfile"],
    "python.lib.io.python_io": ["python_io"],
    "python.lib.io.tf_record": ["python_io"],
    "python.platform.app": ["app"],
    "python.platform.flags": ["flags"],
    "python.platform.gfile": ["gfile"],
    "python.platform.resource_loader": ["resource_loader"],
    "python.platform.tf_logging": ["logging"],
    "python.pywrap_tensorflow": ["train"],
    "python.summary.summary": ["summary"],
    "python.summary.summary_iterator": ["train"],
    "python.summary.writer.writer": ["summary"],
    "python.summary.writer.writer_cache": ["summary"],
    "python.util.compat": ["compat"],
    "python.util.nest": ["contrib.framework.nest"],
}

# For each path after "tensorflow." the modules to look in: those of `headrace.tf1` by their names
# after `tf.`, "" for `tf` itself, and others by their full names.
PATHS: Final[dict[str, list[str]]] = {
    "compat.v1": [""],
    "python": ["", "train"],
    **{f"python.framework.{name}": spaces for name, spaces in _FRAMEWORK.items()},
    **{f"python.ops.{name}": spaces for name, spaces in _OPS.items()},
    **{f"python.training.{name}": ["train"] for name in _TRAINING},
    **{f"contrib.slim.python.slim.data.{name}": [f"contrib.slim.{name}"] for name in _SLIM},
    **{
        f"contrib.training.python.training.{name}": ["contrib.training"]
        for name in _CONTRIB_TRAINING
    },
    **_OTHERS,
}
