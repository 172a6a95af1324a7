"""TensorFlow 1.15's names: `import headrace.tf1 as tf`.

Names, argument orders, defaults, return structures and error classes are TensorFlow's. Other
TensorFlow names raise an AttributeError that suggests a replacement.

Names are imported from the modules that define them: with `*` if TensorFlow has all names of a
module, otherwise one by one. Each name is loaded on first use. `homes.py` lists the module of each
name.
"""

from typing import TYPE_CHECKING

from headrace.core import repr_prefix as _repr_prefix
from headrace.tf1 import homes as _homes
from headrace.tf1 import namespace as _namespace
from headrace.tf1.version import VERSION as VERSION

if TYPE_CHECKING:
    from headrace.core import errors as errors
    from headrace.core.dtypes import DType as DType
    from headrace.core.dtypes import as_dtype as as_dtype
    from headrace.core.dtypes import bool as bool
    from headrace.core.dtypes import complex64 as complex64
    from headrace.core.dtypes import complex128 as complex128
    from headrace.core.dtypes import double as double
    from headrace.core.dtypes import float16 as float16
    from headrace.core.dtypes import float32 as float32
    from headrace.core.dtypes import float64 as float64
    from headrace.core.dtypes import half as half
    from headrace.core.dtypes import int8 as int8
    from headrace.core.dtypes import int16 as int16
    from headrace.core.dtypes import int32 as int32
    from headrace.core.dtypes import int64 as int64
    from headrace.core.dtypes import resource as resource
    from headrace.core.dtypes import string as string
    from headrace.core.dtypes import uint8 as uint8
    from headrace.core.dtypes import uint16 as uint16
    from headrace.core.dtypes import uint32 as uint32
    from headrace.core.dtypes import uint64 as uint64
    from headrace.core.errors import OpError as OpError
    from headrace.core.shapes import Dimension as Dimension
    from headrace.core.shapes import TensorShape as TensorShape
    from headrace.graph import DeviceSpec as DeviceSpec
    from headrace.graph import Graph as Graph
    from headrace.graph import GraphKeys as GraphKeys
    from headrace.graph import Operation as Operation
    from headrace.graph import Tensor as Tensor
    from headrace.graph import add_to_collection as add_to_collection
    from headrace.graph import add_to_collections as add_to_collections
    from headrace.graph import colocate_with as colocate_with
    from headrace.graph import container as container
    from headrace.graph import device as device
    from headrace.graph import get_all_collection_keys as get_all_collection_keys
    from headrace.graph import get_collection as get_collection
    from headrace.graph import get_collection_ref as get_collection_ref
    from headrace.graph import get_default_graph as get_default_graph
    from headrace.graph import get_default_session as get_default_session
    from headrace.graph import get_seed as get_seed
    from headrace.graph import name_scope as name_scope
    from headrace.graph import reset_default_graph as reset_default_graph
    from headrace.graph import set_random_seed as set_random_seed
    from headrace.io.compression import TFRecordCompressionType as TFRecordCompressionType
    from headrace.io.compression import TFRecordOptions as TFRecordOptions
    from headrace.ops.array.broadcast import *
    from headrace.ops.array.eye import *
    from headrace.ops.array.fill import fill as fill
    from headrace.ops.array.fill import ones as ones
    from headrace.ops.array.fill import zeros as zeros
    from headrace.ops.array.join import split as split
    from headrace.ops.array.join import stack as stack
    from headrace.ops.array.join import unstack as unstack
    from headrace.ops.array.meshgrid import *
    from headrace.ops.array.one_hot import *
    from headrace.ops.array.placeholder import *
    from headrace.ops.array.range import *
    from headrace.ops.array.repeat import *
    from headrace.ops.array.reshape import ensure_shape as ensure_shape
    from headrace.ops.array.reshape import reshape as reshape
    from headrace.ops.array.reverse import *
    from headrace.ops.array.scatter import *
    from headrace.ops.array.sequence_mask import *
    from headrace.ops.array.shape import rank as rank
    from headrace.ops.array.slice import newaxis as newaxis
    from headrace.ops.array.sort import *
    from headrace.ops.array.tile import *
    from headrace.ops.array.where import *
    from headrace.ops.control.assertions import *
    from headrace.ops.control.control_flow import Assert as Assert
    from headrace.ops.control.control_flow import control_dependencies as control_dependencies
    from headrace.ops.control.control_flow import group as group
    from headrace.ops.control.control_flow import no_op as no_op
    from headrace.ops.control.control_flow import with_dependencies as with_dependencies
    from headrace.ops.control.static_assertions import assert_integer as assert_integer
    from headrace.ops.control.static_assertions import (
        assert_proper_iterable as assert_proper_iterable,
    )
    from headrace.ops.control.static_assertions import assert_rank as assert_rank
    from headrace.ops.control.static_assertions import assert_rank_at_least as assert_rank_at_least
    from headrace.ops.control.static_assertions import assert_rank_in as assert_rank_in
    from headrace.ops.control.static_assertions import (
        assert_same_float_dtype as assert_same_float_dtype,
    )
    from headrace.ops.control.static_assertions import is_non_decreasing as is_non_decreasing
    from headrace.ops.control.static_assertions import is_numeric_tensor as is_numeric_tensor
    from headrace.ops.control.static_assertions import (
        is_strictly_increasing as is_strictly_increasing,
    )
    from headrace.ops.framework import conversion as _conversion
    from headrace.ops.framework.conversion import is_tensor as is_tensor
    from headrace.ops.framework.conversion import (
        register_tensor_conversion_function as register_tensor_conversion_function,
    )
    from headrace.ops.image.random import random_crop as random_crop
    from headrace.ops.math.activations import log_sigmoid as log_sigmoid
    from headrace.ops.math.arithmetic import *
    from headrace.ops.math.cast import *
    from headrace.ops.math.compare import *
    from headrace.ops.math.cumsum import *
    from headrace.ops.math.histogram import bincount as bincount
    from headrace.ops.math.histogram import histogram_fixed_width as histogram_fixed_width
    from headrace.ops.math.histogram import histogram_fixed_width_bins as histogram_fixed_width_bins
    from headrace.ops.math.norm import clip_by_average_norm as clip_by_average_norm
    from headrace.ops.math.norm import clip_by_global_norm as clip_by_global_norm
    from headrace.ops.math.norm import clip_by_norm as clip_by_norm
    from headrace.ops.math.norm import global_norm as global_norm
    from headrace.ops.math.saturate_cast import *
    from headrace.ops.math.trigonometry import *
    from headrace.ops.random.numbers import *
    from headrace.ops.random.shuffle import *
    from headrace.ops.records.decode_compressed import *
    from headrace.ops.records.features import *
    from headrace.ops.records.tensor_proto import *
    from headrace.ops.sparse.tensor import *
    from headrace.ops.strings.base64 import *
    from headrace.ops.strings.case import string_strip as string_strip
    from headrace.ops.strings.convert import as_string as as_string
    from headrace.ops.strings.hash_bucket import (
        string_to_hash_bucket_fast as string_to_hash_bucket_fast,
    )
    from headrace.ops.strings.hash_bucket import (
        string_to_hash_bucket_strong as string_to_hash_bucket_strong,
    )
    from headrace.ops.strings.join import *
    from headrace.ops.strings.regex import regex_replace as regex_replace
    from headrace.protos import AttrValue as AttrValue
    from headrace.protos import GraphDef as GraphDef
    from headrace.protos import NodeDef as NodeDef
    from headrace.tf1 import app as app
    from headrace.tf1 import audio as audio
    from headrace.tf1 import bitwise as bitwise
    from headrace.tf1 import compat as compat
    from headrace.tf1 import config as config
    from headrace.tf1 import contrib as contrib
    from headrace.tf1 import debugging as debugging
    from headrace.tf1 import dtypes as dtypes
    from headrace.tf1 import estimator as estimator
    from headrace.tf1 import flags as flags
    from headrace.tf1 import gfile as gfile
    from headrace.tf1 import image as image
    from headrace.tf1 import initializers as initializers
    from headrace.tf1 import io as io
    from headrace.tf1 import logging as logging
    from headrace.tf1 import lookup as lookup
    from headrace.tf1 import losses as losses
    from headrace.tf1 import math as math
    from headrace.tf1 import metrics as metrics
    from headrace.tf1 import nn as nn
    from headrace.tf1 import python_io as python_io
    from headrace.tf1 import queue as queue
    from headrace.tf1 import random as random
    from headrace.tf1 import resource_loader as resource_loader
    from headrace.tf1 import sparse as sparse
    from headrace.tf1 import strings as strings
    from headrace.tf1 import summary as summary
    from headrace.tf1 import test as test
    from headrace.tf1 import train as train
    from headrace.tf1 import version as version
    from headrace.tf1.adapters import printing as _printing
    from headrace.tf1.adapters.array import *
    from headrace.tf1.adapters.control import *
    from headrace.tf1.adapters.image import extract_image_patches as extract_image_patches
    from headrace.tf1.adapters.math import arg_max as arg_max
    from headrace.tf1.adapters.math import arg_min as arg_min
    from headrace.tf1.adapters.math import argmax as argmax
    from headrace.tf1.adapters.math import argmin as argmin
    from headrace.tf1.adapters.math import count_nonzero as count_nonzero
    from headrace.tf1.adapters.math import div as div
    from headrace.tf1.adapters.math import floor_div as floor_div
    from headrace.tf1.adapters.math import matmul as matmul
    from headrace.tf1.adapters.math import multinomial as multinomial
    from headrace.tf1.adapters.math import reduce_all as reduce_all
    from headrace.tf1.adapters.math import reduce_any as reduce_any
    from headrace.tf1.adapters.math import reduce_max as reduce_max
    from headrace.tf1.adapters.math import reduce_mean as reduce_mean
    from headrace.tf1.adapters.math import reduce_min as reduce_min
    from headrace.tf1.adapters.math import reduce_prod as reduce_prod
    from headrace.tf1.adapters.math import reduce_sum as reduce_sum
    from headrace.tf1.adapters.math import sparse_matmul as sparse_matmul
    from headrace.tf1.adapters.math import to_complex64 as to_complex64
    from headrace.tf1.adapters.math import to_complex128 as to_complex128
    from headrace.tf1.adapters.math import to_double as to_double
    from headrace.tf1.adapters.math import to_float as to_float
    from headrace.tf1.adapters.math import to_int32 as to_int32
    from headrace.tf1.adapters.math import to_int64 as to_int64
    from headrace.tf1.adapters.math import verify_tensor_all_finite as verify_tensor_all_finite
    from headrace.tf1.adapters.matrices import *
    from headrace.tf1.adapters.records import *
    from headrace.tf1.adapters.sparse import *
    from headrace.tf1.adapters.strings import reduce_join as reduce_join
    from headrace.tf1.adapters.strings import string_split as string_split
    from headrace.tf1.adapters.strings import string_to_hash_bucket as string_to_hash_bucket
    from headrace.tf1.adapters.strings import string_to_number as string_to_number
    from headrace.tf1.adapters.strings import substr as substr
    from headrace.tf1.adapters.tensor_protos import make_ndarray as make_ndarray
    from headrace.tf1.adapters.tensor_protos import make_tensor_proto as make_tensor_proto
    from headrace.tf1.adapters.variables import Variable as Variable
    from headrace.tf1.adapters.variables import all_variables as all_variables
    from headrace.tf1.adapters.variables import get_local_variable as get_local_variable
    from headrace.tf1.adapters.variables import get_variable as get_variable
    from headrace.tf1.adapters.variables import initialize_all_variables as initialize_all_variables
    from headrace.tf1.adapters.variables import (
        initialize_local_variables as initialize_local_variables,
    )
    from headrace.tf1.adapters.variables import initialize_variables as initialize_variables
    from headrace.tf1.adapters.variables import op_scope as op_scope
    from headrace.tf1.adapters.variables import variable_op_scope as variable_op_scope
    from headrace.tf1.adapters.variables import variable_scope as variable_scope
    from headrace.tf1.compat.behaviour import *
    from headrace.tf1.graph_import import import_graph_def as import_graph_def
    from headrace.tf1.indexed_slices import *
    from headrace.tf1.ops.array.diag import diag as diag
    from headrace.tf1.ops.array.diag import diag_part as diag_part
    from headrace.tf1.ops.array.diag import matrix_band_part as matrix_band_part
    from headrace.tf1.ops.array.partition import *
    from headrace.tf1.ops.array.tensor_array import *
    from headrace.tf1.ops.array.unique import *
    from headrace.tf1.ops.array.unravel_index import *
    from headrace.tf1.ops.control.case import *
    from headrace.tf1.ops.control.functional import *
    from headrace.tf1.ops.control.timestamp import *
    from headrace.tf1.ops.lookup import initialize_all_tables as initialize_all_tables
    from headrace.tf1.ops.lookup import tables_initializer as tables_initializer
    from headrace.tf1.ops.math.check_numerics import check_numerics as check_numerics
    from headrace.tf1.ops.math.products import *
    from headrace.tf1.ops.math.segment import *
    from headrace.tf1.ops.math.truncate import *
    from headrace.tf1.ops.queues import FIFOQueue as FIFOQueue
    from headrace.tf1.ops.queues import PaddingFIFOQueue as PaddingFIFOQueue
    from headrace.tf1.ops.queues import PriorityQueue as PriorityQueue
    from headrace.tf1.ops.queues import QueueBase as QueueBase
    from headrace.tf1.ops.queues import RandomShuffleQueue as RandomShuffleQueue
    from headrace.tf1.ops.readers.files import *
    from headrace.tf1.ops.readers.reader import *
    from headrace.tf1.ops.records.decode_json_example import (
        decode_json_example as decode_json_example,
    )
    from headrace.tf1.ops.records.parse_sequence_example import (
        parse_single_sequence_example as parse_single_sequence_example,
    )
    from headrace.tf1.ops.sparse.edit_distance import *
    from headrace.tf1.ops.sparse.elements import sparse_retain as sparse_retain
    from headrace.tf1.ops.sparse.elementwise import sparse_maximum as sparse_maximum
    from headrace.tf1.ops.sparse.elementwise import sparse_minimum as sparse_minimum
    from headrace.tf1.ops.sparse.fill_empty_rows import *
    from headrace.tf1.ops.sparse.ids import sparse_to_indicator as sparse_to_indicator
    from headrace.tf1.ops.sparse.layout import sparse_reset_shape as sparse_reset_shape
    from headrace.tf1.ops.sparse.layout import sparse_transpose as sparse_transpose
    from headrace.tf1.ops.sparse.matmul import *
    from headrace.tf1.ops.sparse.placeholder import *
    from headrace.tf1.ops.sparse.ragged import *
    from headrace.tf1.ops.sparse.reorder import *
    from headrace.tf1.ops.sparse.reshape import *
    from headrace.tf1.ops.sparse.serialize import deserialize_many_sparse as deserialize_many_sparse
    from headrace.tf1.ops.sparse.slice import sparse_slice as sparse_slice
    from headrace.tf1.ops.sparse.softmax import *
    from headrace.tf1.ops.sparse.to_dense import *
    from headrace.tf1.ops.variables.assign import *
    from headrace.tf1.ops.variables.initialization import *
    from headrace.tf1.ops.variables.initializers import *
    from headrace.tf1.ops.variables.partitioners import *
    from headrace.tf1.ops.variables.scatter import *
    from headrace.tf1.ops.variables.scope import AUTO_REUSE as AUTO_REUSE
    from headrace.tf1.ops.variables.scope import VariableScope as VariableScope
    from headrace.tf1.ops.variables.scope import get_variable_scope as get_variable_scope
    from headrace.tf1.ops.variables.scope import no_regularizer as no_regularizer
    from headrace.tf1.options import *
    from headrace.tf1.protos import Event as Event
    from headrace.tf1.protos import HistogramProto as HistogramProto
    from headrace.tf1.protos import MetaGraphDef as MetaGraphDef
    from headrace.tf1.protos import RunMetadata as RunMetadata
    from headrace.tf1.protos import SessionLog as SessionLog
    from headrace.tf1.protos import Summary as Summary
    from headrace.tf1.session import GraphOptions as GraphOptions
    from headrace.tf1.session import InteractiveSession as InteractiveSession
    from headrace.tf1.session import OptimizerOptions as OptimizerOptions
    from headrace.tf1.session import RunOptions as RunOptions
    from headrace.tf1.session import Session as Session
    from headrace.tf1.tensor_spec import *
    from headrace.tf1.version import COMPILER_VERSION as COMPILER_VERSION
    from headrace.tf1.version import GIT_VERSION as GIT_VERSION
    from headrace.tf1.version import GRAPH_DEF_VERSION as GRAPH_DEF_VERSION
    from headrace.tf1.version import (
        GRAPH_DEF_VERSION_MIN_CONSUMER as GRAPH_DEF_VERSION_MIN_CONSUMER,
    )
    from headrace.tf1.version import (
        GRAPH_DEF_VERSION_MIN_PRODUCER as GRAPH_DEF_VERSION_MIN_PRODUCER,
    )
    from headrace.tf1.version import VERSION as VERSION

    get_static_value = _conversion.constant_value
    print = _printing.print_v2
    tensor_scatter_nd_update = tensor_scatter_update
    tensor_scatter_nd_add = tensor_scatter_add
    tensor_scatter_nd_sub = tensor_scatter_sub

# The TensorFlow version that programs see if they check it.
__version__ = VERSION

_repr_prefix.set_displayed_package("tf")

if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __all__ = sorted(_homes.HOMES)
    __getattr__, __dir__ = _namespace.namespace(__name__, __all__, _homes.HOMES)
    # Modules of headrace that programs use by their full path.
    _namespace.hide_submodules(__name__, {*_homes.MODULES, "checkpoint", "protos", "queues"})
    del TYPE_CHECKING
