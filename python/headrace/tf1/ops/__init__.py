"""Operations: each function adds operations to the graph of its inputs, and returns their outputs.

An operation is added to the graph of its inputs, or to the default graph if it has no inputs.
`name` is the name of the operation. Prefer to pass optional arguments by name. `import headrace.tf1
as tf` has the same functions with the names and arguments of TensorFlow 1. The documentation site
lists them by family.

Names are imported from the modules that define them: with `*` if all names of a module are public,
otherwise one by one. Each name is loaded on first use. `homes.py` lists the module of each name.
"""

from typing import TYPE_CHECKING

from headrace.core import exports as _exports
from headrace.ops import operators as _operators  # noqa: F401  (adds operators to tensors)
from headrace.tf1.ops import homes as _homes

if TYPE_CHECKING:
    from headrace.ops.array.broadcast import *
    from headrace.ops.array.eye import *
    from headrace.ops.array.fill import *
    from headrace.ops.array.gather import *
    from headrace.ops.array.join import *
    from headrace.ops.array.meshgrid import *
    from headrace.ops.array.one_hot import *
    from headrace.ops.array.pad import *
    from headrace.ops.array.placeholder import *
    from headrace.ops.array.range import *
    from headrace.ops.array.repeat import *
    from headrace.ops.array.reshape import *
    from headrace.ops.array.reverse import *
    from headrace.ops.array.scatter import *
    from headrace.ops.array.sequence_mask import *
    from headrace.ops.array.shape import *
    from headrace.ops.array.slice import *
    from headrace.ops.array.sort import *
    from headrace.ops.array.tile import *
    from headrace.ops.array.transpose import *
    from headrace.ops.array.where import *
    from headrace.ops.control import control_flow as _control_flow
    from headrace.ops.control.assertions import *
    from headrace.ops.control.cond import *
    from headrace.ops.control.control_flow import control_dependencies as control_dependencies
    from headrace.ops.control.control_flow import group as group
    from headrace.ops.control.control_flow import no_op as no_op
    from headrace.ops.control.control_flow import tuple as tuple
    from headrace.ops.control.control_flow import with_dependencies as with_dependencies
    from headrace.ops.control.static_assertions import *
    from headrace.ops.framework.conversion import constant as constant
    from headrace.ops.framework.conversion import constant_value as constant_value
    from headrace.ops.framework.conversion import convert_to_tensor as convert_to_tensor
    from headrace.ops.framework.conversion import is_tensor as is_tensor
    from headrace.ops.framework.conversion import (
        register_tensor_conversion_function as register_tensor_conversion_function,
    )
    from headrace.ops.image import transform as _transform
    from headrace.ops.image.colour import *
    from headrace.ops.image.crop import *
    from headrace.ops.image.crop_and_resize import *
    from headrace.ops.image.decode import decode_and_crop_jpeg as decode_and_crop_jpeg
    from headrace.ops.image.decode import decode_bmp as decode_bmp
    from headrace.ops.image.decode import decode_gif as decode_gif
    from headrace.ops.image.decode import decode_image as decode_image
    from headrace.ops.image.decode import decode_jpeg as decode_jpeg
    from headrace.ops.image.decode import decode_png as decode_png
    from headrace.ops.image.decode import extract_jpeg_shape as extract_jpeg_shape
    from headrace.ops.image.decode import is_jpeg as is_jpeg
    from headrace.ops.image.differences import *
    from headrace.ops.image.draw import *
    from headrace.ops.image.encode import *
    from headrace.ops.image.flip import *
    from headrace.ops.image.jpeg_quality import *
    from headrace.ops.image.random import *
    from headrace.ops.image.resize import *
    from headrace.ops.image.transform import (
        angles_to_projective_transforms as angles_to_projective_transforms,
    )
    from headrace.ops.image.transform import (
        translations_to_projective_transforms as translations_to_projective_transforms,
    )
    from headrace.ops.math.activations import *
    from headrace.ops.math.arithmetic import *
    from headrace.ops.math.cast import *
    from headrace.ops.math.compare import *
    from headrace.ops.math.cross_entropy import *
    from headrace.ops.math.cumsum import *
    from headrace.ops.math.histogram import *
    from headrace.ops.math.matmul import *
    from headrace.ops.math.nn import *
    from headrace.ops.math.norm import *
    from headrace.ops.math.reduce import *
    from headrace.ops.math.saturate_cast import *
    from headrace.ops.math.spread import *
    from headrace.ops.math.top_k import *
    from headrace.ops.math.trigonometry import *
    from headrace.ops.random.bounding_box import *
    from headrace.ops.random.numbers import *
    from headrace.ops.random.shuffle import *
    from headrace.ops.records.decode_compressed import *
    from headrace.ops.records.decode_csv import *
    from headrace.ops.records.decode_raw import *
    from headrace.ops.records.features import *
    from headrace.ops.records.parse_example import *
    from headrace.ops.records.tensor_proto import *
    from headrace.ops.sparse.tensor import *
    from headrace.ops.strings.base64 import *
    from headrace.ops.strings.case import *
    from headrace.ops.strings.convert import *
    from headrace.ops.strings.hash_bucket import *
    from headrace.ops.strings.join import *
    from headrace.ops.strings.regex import *
    from headrace.ops.strings.split import *
    from headrace.ops.strings.substr import *
    from headrace.tf1.ops.array.blocks import *
    from headrace.tf1.ops.array.diag import *
    from headrace.tf1.ops.array.partition import *
    from headrace.tf1.ops.array.reverse_sequence import *
    from headrace.tf1.ops.array.tensor_array import *
    from headrace.tf1.ops.array.unique import *
    from headrace.tf1.ops.array.unravel_index import *
    from headrace.tf1.ops.control.case import *
    from headrace.tf1.ops.control.functional import *
    from headrace.tf1.ops.control.print import *
    from headrace.tf1.ops.control.py_func import *
    from headrace.tf1.ops.control.timestamp import *
    from headrace.tf1.ops.control.while_loop import *
    from headrace.tf1.ops.image.patches import *
    from headrace.tf1.ops.image.similarity import *
    from headrace.tf1.ops.image.suppression import *
    from headrace.tf1.ops.lookup import tables_initializer as tables_initializer
    from headrace.tf1.ops.math.bitwise import *
    from headrace.tf1.ops.math.check_numerics import *
    from headrace.tf1.ops.math.decays import *
    from headrace.tf1.ops.math.products import *
    from headrace.tf1.ops.math.segment import *
    from headrace.tf1.ops.math.sparse_segment import *
    from headrace.tf1.ops.math.truncate import *
    from headrace.tf1.ops.queues.barrier import Barrier as Barrier
    from headrace.tf1.ops.queues.kinds import *
    from headrace.tf1.ops.queues.queue import *
    from headrace.tf1.ops.queues.staging import *
    from headrace.tf1.ops.random.categorical import *
    from headrace.tf1.ops.readers.files import *
    from headrace.tf1.ops.readers.reader import *
    from headrace.tf1.ops.readers.record_input import *
    from headrace.tf1.ops.records.decode_json_example import (
        decode_json_example as decode_json_example,
    )
    from headrace.tf1.ops.records.decode_padded_raw import *
    from headrace.tf1.ops.records.parse_sequence_example import *
    from headrace.tf1.ops.records.spectrum import *
    from headrace.tf1.ops.records.wav import *
    from headrace.tf1.ops.sparse.cross import *
    from headrace.tf1.ops.sparse.edit_distance import *
    from headrace.tf1.ops.sparse.elements import *
    from headrace.tf1.ops.sparse.elementwise import *
    from headrace.tf1.ops.sparse.eye import *
    from headrace.tf1.ops.sparse.fill_empty_rows import *
    from headrace.tf1.ops.sparse.ids import *
    from headrace.tf1.ops.sparse.join import *
    from headrace.tf1.ops.sparse.layout import *
    from headrace.tf1.ops.sparse.matmul import *
    from headrace.tf1.ops.sparse.placeholder import *
    from headrace.tf1.ops.sparse.ragged import *
    from headrace.tf1.ops.sparse.reduce import *
    from headrace.tf1.ops.sparse.reorder import *
    from headrace.tf1.ops.sparse.reshape import *
    from headrace.tf1.ops.sparse.serialize import *
    from headrace.tf1.ops.sparse.slice import *
    from headrace.tf1.ops.sparse.softmax import *
    from headrace.tf1.ops.sparse.to_dense import *
    from headrace.tf1.ops.strings.format import *
    from headrace.tf1.ops.strings.reduce_join import *
    from headrace.tf1.ops.strings.unicode import *
    from headrace.tf1.ops.summary import histogram as _histogram
    from headrace.tf1.ops.summary import image as _image
    from headrace.tf1.ops.summary import merge as _merge
    from headrace.tf1.ops.summary import scalar as _scalar
    from headrace.tf1.ops.variables.assign import *
    from headrace.tf1.ops.variables.global_step import *
    from headrace.tf1.ops.variables.initialization import *
    from headrace.tf1.ops.variables.initializers import *
    from headrace.tf1.ops.variables.moving_averages import *
    from headrace.tf1.ops.variables.partitioners import *
    from headrace.tf1.ops.variables.scatter import *
    from headrace.tf1.ops.variables.scope import AUTO_REUSE as AUTO_REUSE
    from headrace.tf1.ops.variables.scope import VariableScope as VariableScope
    from headrace.tf1.ops.variables.scope import get_local_variable as get_local_variable
    from headrace.tf1.ops.variables.scope import get_variable as get_variable
    from headrace.tf1.ops.variables.scope import get_variable_scope as get_variable_scope
    from headrace.tf1.ops.variables.scope import variable_scope as variable_scope
    from headrace.tf1.ops.variables.variable import *

    # These names are longer here than in their modules.
    assert_true = _control_flow.Assert
    rotate_images = _transform.rotate
    transform_images = _transform.transform
    translate_images = _transform.translate
    histogram_summary = _histogram.histogram
    image_summary = _image.image
    merge_summaries = _merge.merge
    merge_all_summaries = _merge.merge_all
    scalar_summary = _scalar.scalar

_ROOMS = (
    *("array", "control", "image", "lookup", "math", "queues", "random", "readers", "records"),
    *("sparse", "strings", "summary", "variables"),
)

if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __all__ = sorted(_homes.HOMES)

    def _missing(name: str) -> AttributeError:
        return AttributeError(
            f"module {__name__!r} has no attribute {name!r}. dir(headrace.tf1.ops) lists the "
            "operations. Some names of TensorFlow 1 are only in headrace.tf1."
        )

    _packages = {name: f"{__name__}.{name}:" for name in _ROOMS}
    __getattr__ = _exports.late_names(globals(), {**_homes.HOMES, **_packages}, _missing)

    def __dir__() -> list[str]:
        return sorted([*__all__, *_ROOMS])
