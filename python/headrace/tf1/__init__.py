"""The names of TensorFlow 1.15: `import headrace.tf1 as tf`.

Names, argument orders, defaults, return structures and error classes are TensorFlow's. What is not
here does not exist in headrace either.
"""

# ruff: noqa: F403

from importlib import import_module as _import_module
from typing import TYPE_CHECKING
from typing import Any as _Any

from headrace import (
    errors as errors,
)
from headrace import (
    gfile as gfile,
)
from headrace.compression import *
from headrace.dtypes import *
from headrace.errors import OpError as OpError
from headrace.graph import (
    DeviceSpec as DeviceSpec,
)
from headrace.graph import (
    Graph as Graph,
)
from headrace.graph import (
    GraphKeys as GraphKeys,
)
from headrace.graph import (
    Operation as Operation,
)
from headrace.graph import (
    Tensor as Tensor,
)
from headrace.graph import (
    add_to_collection as add_to_collection,
)
from headrace.graph import (
    add_to_collections as add_to_collections,
)
from headrace.graph import (
    colocate_with as colocate_with,
)
from headrace.graph import (
    container as container,
)
from headrace.graph import (
    device as device,
)
from headrace.graph import (
    get_all_collection_keys as get_all_collection_keys,
)
from headrace.graph import (
    get_collection as get_collection,
)
from headrace.graph import (
    get_collection_ref as get_collection_ref,
)
from headrace.graph import (
    get_default_graph as get_default_graph,
)
from headrace.graph import (
    get_default_session as get_default_session,
)
from headrace.graph import (
    get_seed as get_seed,
)
from headrace.graph import (
    name_scope as name_scope,
)
from headrace.graph import (
    reset_default_graph as reset_default_graph,
)
from headrace.graph import (
    set_random_seed as set_random_seed,
)
from headrace.ops.arithmetic import *
from headrace.ops.assertions import *
from headrace.ops.assignment import (
    assign as assign,
)
from headrace.ops.assignment import (
    assign_add as assign_add,
)
from headrace.ops.assignment import (
    assign_sub as assign_sub,
)
from headrace.ops.assignment import (
    count_up_to as count_up_to,
)
from headrace.ops.assignment import (
    is_variable_initialized as is_variable_initialized,
)
from headrace.ops.broadcasting import *
from headrace.ops.casting import *
from headrace.ops.comparison import *
from headrace.ops.conditional import *
from headrace.ops.control_flow import *
from headrace.ops.conversion import (
    constant as constant,
)
from headrace.ops.conversion import (
    convert_to_tensor as convert_to_tensor,
)
from headrace.ops.conversion import (
    is_tensor as is_tensor,
)
from headrace.ops.conversion import (
    register_tensor_conversion_function as register_tensor_conversion_function,
)
from headrace.ops.cumulative import *
from headrace.ops.decode_csv import *
from headrace.ops.decoding import *
from headrace.ops.decompression import *
from headrace.ops.features import (
    FixedLenFeature as FixedLenFeature,
)
from headrace.ops.features import (
    FixedLenSequenceFeature as FixedLenSequenceFeature,
)
from headrace.ops.features import (
    SparseFeature as SparseFeature,
)
from headrace.ops.features import (
    VarLenFeature as VarLenFeature,
)
from headrace.ops.files import *
from headrace.ops.filling import *
from headrace.ops.finiteness import *
from headrace.ops.grids import *
from headrace.ops.hashing import *
from headrace.ops.image.random import (
    random_crop as random_crop,
)
from headrace.ops.indexing import (
    newaxis as newaxis,
)
from headrace.ops.indexing import (
    slice as slice,
)
from headrace.ops.indexing import (
    strided_slice as strided_slice,
)
from headrace.ops.initialization import *
from headrace.ops.initializers import *
from headrace.ops.joining import *
from headrace.ops.matrix import *
from headrace.ops.measures import *
from headrace.ops.parsing import *
from headrace.ops.partitioning import *
from headrace.ops.placeholders import *
from headrace.ops.printing import *
from headrace.ops.queues import (
    FIFOQueue as FIFOQueue,
)
from headrace.ops.queues import (
    PaddingFIFOQueue as PaddingFIFOQueue,
)
from headrace.ops.queues import (
    PriorityQueue as PriorityQueue,
)
from headrace.ops.queues import (
    QueueBase as QueueBase,
)
from headrace.ops.queues import (
    RandomShuffleQueue as RandomShuffleQueue,
)
from headrace.ops.random import *
from headrace.ops.readers import *
from headrace.ops.reductions import *
from headrace.ops.regex import (
    regex_replace as regex_replace,
)
from headrace.ops.repeating import *
from headrace.ops.saturation import *
from headrace.ops.script import *
from headrace.ops.selection import *
from headrace.ops.sequence_parsing import *
from headrace.ops.sequences import *
from headrace.ops.shaping import *
from headrace.ops.sparse import (
    SparseTensor as SparseTensor,
)
from headrace.ops.sparse import (
    SparseTensorValue as SparseTensorValue,
)
from headrace.ops.sparse import (
    convert_to_tensor_or_sparse_tensor as convert_to_tensor_or_sparse_tensor,
)
from headrace.ops.sparse_dense import *
from headrace.ops.static_assertions import *
from headrace.ops.string_split import (
    string_split as string_split,
)
from headrace.ops.strings import *
from headrace.ops.tensor_protos import *
from headrace.ops.text import (
    reduce_join as reduce_join,
)
from headrace.ops.text import (
    string_strip as string_strip,
)
from headrace.ops.text import (
    substr as substr,
)
from headrace.ops.trigonometry import *
from headrace.ops.uniqueness import *
from headrace.ops.variable_scope import *
from headrace.ops.variables import *
from headrace.session import (
    ConfigProto as ConfigProto,
)
from headrace.session import (
    GPUOptions as GPUOptions,
)
from headrace.session import (
    GraphOptions as GraphOptions,
)
from headrace.session import (
    InteractiveSession as InteractiveSession,
)
from headrace.session import (
    OptimizerOptions as OptimizerOptions,
)
from headrace.session import (
    RunMetadata as RunMetadata,
)
from headrace.session import (
    RunOptions as RunOptions,
)
from headrace.session import (
    Session as Session,
)
from headrace.shapes import (
    Dimension as Dimension,
)
from headrace.shapes import (
    TensorShape as TensorShape,
)
from headrace.tf1 import (
    app as app,
)
from headrace.tf1 import (
    compat as compat,
)
from headrace.tf1 import (
    debugging as debugging,
)
from headrace.tf1 import (
    dtypes as dtypes,
)
from headrace.tf1 import (
    flags as flags,
)
from headrace.tf1 import (
    image as image,
)
from headrace.tf1 import (
    initializers as initializers,
)
from headrace.tf1 import (
    io as io,
)
from headrace.tf1 import (
    logging as logging,
)
from headrace.tf1 import (
    math as math,
)
from headrace.tf1 import (
    nn as nn,
)
from headrace.tf1 import (
    python_io as python_io,
)
from headrace.tf1 import (
    queue as queue,
)
from headrace.tf1 import (
    random as random,
)
from headrace.tf1 import (
    sparse as sparse,
)
from headrace.tf1 import (
    strings as strings,
)
from headrace.tf1 import (
    summary as summary,
)
from headrace.tf1 import (
    train as train,
)
from headrace.tf1.behaviour import *

if TYPE_CHECKING:
    from headrace.ops.json_example import (
        decode_json_example as decode_json_example,
    )
    from headrace.protos import (
        AttrValue as AttrValue,
    )
    from headrace.protos import (
        Event as Event,
    )
    from headrace.protos import (
        GraphDef as GraphDef,
    )
    from headrace.protos import (
        HistogramProto as HistogramProto,
    )
    from headrace.protos import (
        NodeDef as NodeDef,
    )
    from headrace.protos import (
        SessionLog as SessionLog,
    )
    from headrace.protos import (
        Summary as Summary,
    )

# The version whose programs run here: some ask which one they run on.
VERSION = __version__ = "1.15.0"

# What needs protocol buffers is loaded when it is first used.
_LATE = {
    "decode_json_example": "headrace.ops.json_example",
    **dict.fromkeys(
        (
            *("AttrValue", "Event", "GraphDef", "HistogramProto", "NodeDef", "SessionLog"),
            "Summary",
        ),
        "headrace.protos",
    ),
}


def __getattr__(name: str) -> _Any:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_import_module(_LATE[name]), name)
