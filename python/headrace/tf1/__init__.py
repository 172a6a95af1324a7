"""The names of TensorFlow 1.15: `import headrace.tf1 as tf`.

Names, argument orders, defaults, return structures and error classes are TensorFlow's. What is not
here does not exist in headrace either.
"""

from headrace import errors
from headrace.compression import *  # noqa: F403
from headrace.dtypes import *  # noqa: F403
from headrace.graph import (
    Graph,
    GraphDef,
    GraphKeys,
    NodeDef,
    Operation,
    Tensor,
    add_to_collection,
    add_to_collections,
    colocate_with,
    container,
    device,
    get_collection,
    get_collection_ref,
    get_default_graph,
    get_default_session,
    get_seed,
    name_scope,
    reset_default_graph,
    set_random_seed,
)
from headrace.ops.arithmetic import *  # noqa: F403
from headrace.ops.casting import *  # noqa: F403
from headrace.ops.comparison import *  # noqa: F403
from headrace.ops.control_flow import *  # noqa: F403
from headrace.ops.conversion import (
    constant,
    convert_to_tensor,
    is_tensor,
    register_tensor_conversion_function,
)
from headrace.ops.decoding import *  # noqa: F403
from headrace.ops.filling import *  # noqa: F403
from headrace.ops.indexing import newaxis, slice, strided_slice
from headrace.ops.joining import *  # noqa: F403
from headrace.ops.matrix import *  # noqa: F403
from headrace.ops.measures import *  # noqa: F403
from headrace.ops.parsing import *  # noqa: F403
from headrace.ops.placeholders import *  # noqa: F403
from headrace.ops.queues import (
    FIFOQueue,
    PaddingFIFOQueue,
    PriorityQueue,
    QueueBase,
    RandomShuffleQueue,
)
from headrace.ops.random import *  # noqa: F403
from headrace.ops.readers import *  # noqa: F403
from headrace.ops.reductions import *  # noqa: F403
from headrace.ops.repeating import *  # noqa: F403
from headrace.ops.script import *  # noqa: F403
from headrace.ops.selection import *  # noqa: F403
from headrace.ops.sequences import *  # noqa: F403
from headrace.ops.shaping import *  # noqa: F403
from headrace.ops.sparse import SparseTensor, SparseTensorValue
from headrace.ops.sparse_dense import *  # noqa: F403
from headrace.ops.strings import *  # noqa: F403
from headrace.ops.variables import *  # noqa: F403
from headrace.session import (
    ConfigProto,
    GPUOptions,
    InteractiveSession,
    RunMetadata,
    RunOptions,
    Session,
)
from headrace.shapes import Dimension, TensorShape
from headrace.tf1 import io, python_io, queue, train
