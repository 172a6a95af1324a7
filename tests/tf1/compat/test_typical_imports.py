"""The import lines of public TensorFlow 1 programs: slim, object detection, tensor2tensor, …"""

import subprocess
import sys

import pytest

LINES = """
import tensorflow as tf
import tensorflow
import tensorflow.contrib.slim as slim
from tensorflow.contrib import slim
from tensorflow.contrib.slim import nets
from tensorflow.contrib.slim.nets import resnet_v1, resnet_v2, vgg, inception
from tensorflow.contrib.slim.python.slim.nets import resnet_utils
from tensorflow.contrib.slim.python.slim.nets.vgg import vgg_16, vgg_arg_scope
from tensorflow.contrib.slim.python.slim import evaluation
from tensorflow.contrib.slim.python.slim.learning import train_step
from tensorflow.contrib.slim.python.slim.data import dataset, dataset_data_provider
from tensorflow.contrib.slim.python.slim.data import tfexample_decoder
import tensorflow.contrib.layers as layers
from tensorflow.contrib import layers
from tensorflow.contrib.layers import xavier_initializer, l2_regularizer
from tensorflow.contrib.layers import batch_norm, conv2d, fully_connected, flatten
from tensorflow.contrib.layers.python.layers import layers as layers_lib
from tensorflow.contrib.layers.python.layers import initializers, regularizers, utils
from tensorflow.contrib.layers.python.layers.initializers import variance_scaling_initializer
from tensorflow.contrib.layers.python.layers.layers import _model_variable_getter
from tensorflow.contrib.framework import add_arg_scope, arg_scope
from tensorflow.contrib.framework import nest
from tensorflow.contrib.framework.python.ops import add_arg_scope, arg_scope, variables
from tensorflow.contrib.framework.python.ops.variables import get_or_create_global_step
from tensorflow.contrib.framework.python.framework import checkpoint_utils
from tensorflow.contrib.framework import deprecated, deprecated_args
from tensorflow.contrib import rnn
from tensorflow.contrib.rnn import BasicLSTMCell, DropoutWrapper, GRUCell, MultiRNNCell
from tensorflow.contrib.rnn import LayerNormBasicLSTMCell, LSTMStateTuple, RNNCell
from tensorflow.contrib.rnn.python.ops import core_rnn_cell
from tensorflow.contrib.rnn.python.ops.core_rnn_cell import _Linear
from tensorflow.contrib.rnn.python.ops.core_rnn_cell_impl import _linear
from tensorflow.contrib.rnn.python.ops import rnn_cell
from tensorflow.contrib import seq2seq
from tensorflow.contrib.seq2seq import AttentionWrapper, BahdanauAttention, BeamSearchDecoder
from tensorflow.contrib.seq2seq.python.ops import attention_wrapper, beam_search_ops
from tensorflow.contrib.legacy_seq2seq.python.ops import seq2seq
from tensorflow.contrib import legacy_seq2seq
from tensorflow.contrib import crf
from tensorflow.contrib.crf import crf_log_likelihood, viterbi_decode
from tensorflow.contrib import learn
from tensorflow.contrib.learn import ModeKeys, RunConfig
from tensorflow.contrib.learn.python.learn import learn_runner, metric_spec
from tensorflow.contrib.learn.python.learn.datasets import base, mnist
from tensorflow.contrib.learn.python.learn.datasets.mnist import read_data_sets
from tensorflow.contrib.learn.python.learn.estimators import run_config
from tensorflow.contrib.learn.python.learn.learn_io import graph_io
from tensorflow.contrib.training import HParams
from tensorflow.contrib.training.python.training import hparam, evaluation
from tensorflow.contrib.training.python.training import device_setter
from tensorflow.contrib import metrics
from tensorflow.contrib.metrics.python.ops import metric_ops
from tensorflow.contrib import lookup
from tensorflow.contrib import predictor
from tensorflow.contrib import tpu
from tensorflow.contrib.tpu.python.tpu import tpu_config, tpu_estimator, tpu_optimizer
from tensorflow.contrib.tpu.python.tpu import async_checkpoint
from tensorflow.contrib.cluster_resolver import TPUClusterResolver
from tensorflow.contrib import cluster_resolver as contrib_cluster_resolver
from tensorflow.contrib import distribute
from tensorflow.contrib import opt
from tensorflow.contrib.opt import AdamWOptimizer, NadamOptimizer
from tensorflow.contrib.opt.python.training import weight_decay_optimizers
from tensorflow.contrib import quantize as contrib_quantize
from tensorflow.contrib import tensor_forest
from tensorflow.contrib import factorization
from tensorflow.contrib import ffmpeg
from tensorflow.contrib import nccl
from tensorflow.contrib.nccl.python.ops import nccl_ops
from tensorflow.contrib.all_reduce.python import all_reduce
from tensorflow.contrib import staging
from tensorflow.contrib.staging import StagingArea
from tensorflow.contrib.image.python.ops import image_ops
from tensorflow.contrib import cudnn_rnn
from tensorflow.contrib.cudnn_rnn.python.ops import cudnn_rnn_ops
from tensorflow.contrib.eager.python import tfe
import tensorflow.contrib.eager as tfe
from tensorflow.contrib import summary as contrib_summary
from tensorflow.contrib.tensorboard.plugins import projector
from tensorflow.contrib import distributions as tfd
import tensorflow.contrib.distributions as ds
from tensorflow.contrib.data import Dataset, batch_and_drop_remainder
from tensorflow.contrib import autograph
from tensorflow.contrib.keras.python.keras import backend
from tensorflow.contrib.keras import layers as contrib_keras_layers
import tensorflow.contrib.graph_editor as ge
from tensorflow.contrib.mixed_precision import LossScaleOptimizer
from tensorflow.contrib.model_pruning.python import pruning
import tensorflow.contrib.tensorrt as trt
from tensorflow import keras
from tensorflow.keras import backend as K
from tensorflow.keras import layers, models, optimizers, regularizers
from tensorflow.keras.layers import Conv2D, Dense, Dropout, Flatten, MaxPooling2D
from tensorflow.keras.layers import *
from tensorflow.keras.models import Model, Sequential, load_model
from tensorflow.keras.callbacks import ModelCheckpoint, TensorBoard
from tensorflow.keras.preprocessing.image import ImageDataGenerator
from tensorflow.keras.utils import to_categorical
from tensorflow.keras.applications.resnet50 import ResNet50, preprocess_input
from tensorflow.keras.datasets import cifar10, mnist
from tensorflow.python import keras
from tensorflow.python.keras import backend as K
from tensorflow.python.keras.layers import Dense, Embedding, LSTM
from tensorflow.python.keras.engine import base_layer
from tensorflow.python.keras.utils import conv_utils, tf_utils
from tensorflow.python.layers import base, core, convolutional, normalization, utils
from tensorflow.python.layers.core import Dense
from tensorflow.python.ops import array_ops, control_flow_ops, math_ops, nn_ops
from tensorflow.python.ops import control_flow_ops
from tensorflow.python.ops import rnn, rnn_cell, rnn_cell_impl, variable_scope as vs
from tensorflow.python.ops.rnn_cell_impl import _Linear, LSTMStateTuple
from tensorflow.python.ops.rnn import _transpose_batch_time
from tensorflow.python.ops import ctc_ops, embedding_ops, gen_nn_ops, nn_impl, standard_ops
from tensorflow.python.ops import init_ops, partitioned_variables, resource_variable_ops
from tensorflow.python.ops import data_flow_ops, io_ops, parsing_ops, state_ops, string_ops
from tensorflow.python.ops import gradients, gradients_impl, clip_ops
from tensorflow.python.ops.losses import losses, losses_impl, util as losses_util
from tensorflow.python.ops.metrics_impl import _streaming_confusion_matrix
from tensorflow.python.ops.distributions import categorical, normal
from tensorflow.python.ops import summary_ops_v2 as contrib_summary
from tensorflow.python.ops import image_ops, lookup_ops, script_ops, sparse_ops, tensor_array_ops
from tensorflow.python.framework import constant_op, dtypes, ops, tensor_shape, tensor_util
from tensorflow.python.framework import function, graph_util, importer, random_seed, test_util
from tensorflow.python.framework.graph_util import convert_variables_to_constants
from tensorflow.python.training import adam, gradient_descent, momentum, optimizer
from tensorflow.python.training import moving_averages, learning_rate_decay, slot_creator
from tensorflow.python.training.optimizer import Optimizer
from tensorflow.python.training import basic_session_run_hooks, session_run_hook, training_util
from tensorflow.python.training import checkpoint_utils, saver as tf_saver, queue_runner_impl
from tensorflow.python.client import device_lib, session, timeline
from tensorflow.python.platform import app, flags, gfile, tf_logging as logging, resource_loader
from tensorflow.python.platform import googletest, test
from tensorflow.python.util import compat, deprecation, nest, tf_inspect
from tensorflow.python.util.tf_export import estimator_export, keras_export, tf_export
from tensorflow.python.util.deprecation import deprecated, deprecated_args
from tensorflow.python.saved_model import builder, signature_constants, tag_constants
from tensorflow.python.tools import freeze_graph, inspect_checkpoint, optimize_for_inference_lib
from tensorflow.python.tools.inspect_checkpoint import print_tensors_in_checkpoint_file
from tensorflow.python import debug as tf_debug, pywrap_tensorflow
from tensorflow.python.debug.cli import tensor_format
from tensorflow.python.estimator import estimator, model_fn as model_fn_lib, run_config
from tensorflow.python.estimator.inputs.queues import feeding_functions
from tensorflow.python.feature_column import feature_column as fc
from tensorflow.python.eager import context, tape
from tensorflow.python.data.ops import dataset_ops, iterator_ops
from tensorflow.python.lib.io import file_io, tf_record
from tensorflow.python.distribute import distribution_strategy_context
from tensorflow.core.framework import graph_pb2, node_def_pb2, summary_pb2, types_pb2
from tensorflow.core.protobuf import config_pb2, rewriter_config_pb2, saver_pb2
from tensorflow.core.example import example_pb2, feature_pb2
from tensorflow.examples.tutorials.mnist import input_data, mnist
import tensorflow.compat.v1 as tf
from tensorflow.compat.v1 import keras, layers
import tensorflow.compat.v2 as tf2
""".strip().split("\n")


@pytest.fixture(scope="module")
def errors():
    """Returns the error of each line. The lines run one after the other in one process."""
    program = (
        "import headrace.tf1, sys\n"
        "headrace.tf1.compat.install()\n"
        "for line in sys.stdin.read().split('\\n'):\n"
        "    try:\n"
        "        exec(line, {})\n"
        "    except Exception as error:\n"
        "        print(type(error).__name__, str(error).split('. ')[0])\n"
        "    else:\n"
        "        print('')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        input="\n".join(LINES),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return dict(zip(LINES, done.stdout.split("\n")[:-1], strict=True))


@pytest.mark.parametrize("line", LINES)
def test_typical_import_line_works(errors, line):
    assert errors[line] == ""


def test_enough_import_lines_are_tested():
    assert len(set(LINES)) == len(LINES) >= 140


def test_names_missing_from_1_15_cannot_be_imported():
    program = """
import headrace.tf1
headrace.tf1.compat.install()
import tensorflow as tf
for line in (
    "from tensorflow.models.rnn import rnn_cell",
    "from tensorflow.python.ops import nowhere",
    "from tensorflow.contrib import nowhere",
    "import tensorflow.nowhere.else_",
    "from tensorflow.keras.layers import Nothing",
    "from tensorflow.train import AdamOptimizer, Nothing",
    "from tensorflow.tensorboard import main",
):
    try:
        exec(line)
    except ImportError as error:
        print(type(error).__name__)
probes = [(tf, "contrib"), (tf, "keras"), (tf.nn, "swish"), (tf.train, "AdamOptimizer")]
newer = [(tf, "mlir"), (tf.nn, "silu"), (tf.random, "Generator"), (tf.keras, "Nothing")]
print([hasattr(module, name) for module, name in probes + newer])
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    lines = done.stdout.split("\n")
    assert lines[:7] == ["ModuleNotFoundError"] * 7
    assert lines[7] == "[True, True, True, True, False, False, False, False]"
