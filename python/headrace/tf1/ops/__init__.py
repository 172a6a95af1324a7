"""Operations: each function adds operations to the graph of its inputs, and returns their outputs.

A graph is where the inputs are; without inputs that have one it is the default graph. `name` names
the operation. Optional arguments are best given by name. `import headrace.tf1 as tf` has the same
functions under the names and with the arguments of TensorFlow 1.

Constants and conversion to tensors:

    `constant`, `constant_value`, `convert_to_tensor`, `is_tensor`,
    `register_tensor_conversion_function`.

Shapes and places of elements (`headrace.ops.array`):

    `argsort`, `boolean_mask`, `broadcast_dynamic_shape`, `broadcast_static_shape`,
    `broadcast_to`, `concat`, `depth_to_space`, `diag`, `diag_part`, `dynamic_partition`,
    `dynamic_stitch`, `ensure_shape`, `expand_dims`, `eye`, `fill`, `gather`, `gather_nd`,
    `identity`, `identity_n`, `invert_permutation`, `linspace`, `matrix_band_part`, `matrix_diag`,
    `matrix_diag_part`, `matrix_set_diag`, `meshgrid`, `newaxis`, `one_hot`, `ones`, `ones_like`,
    `pad`, `placeholder`, `placeholder_with_default`, `range`, `rank`, `repeat`, `reshape`,
    `reverse`, `reverse_sequence`, `roll`, `scatter_nd`, `searchsorted`, `sequence_mask`,
    `setdiff1d`, `shape`, `size`, `slice`, `sort`, `space_to_depth`, `split`, `squeeze`, `stack`,
    `stop_gradient`, `strided_slice`, `tensor_scatter_add`, `tensor_scatter_sub`,
    `tensor_scatter_update`, `TensorArray`, `tile`, `transpose`, `unique`, `unique_with_counts`,
    `unravel_index`, `unstack`, `where`, `zeros`, `zeros_like`.

Arithmetic, comparisons, conversions of type, reductions (`headrace.ops.math`):

    `abs`, `acos`, `add`, `add_n`, `argmax`, `argmin`, `asin`, `assert_all_finite`, `atan`, `atan2`,
    `bincount`, `bitcast`, `bitwise_and`, `bitwise_or`, `bitwise_xor`, `cast`, `ceil`,
    `check_numerics`, `clip_by_average_norm`, `clip_by_global_norm`, `clip_by_norm`,
    `clip_by_value`, `confusion_matrix`, `cos`, `cosh`, `count_nonzero`, `cross`, `cumprod`,
    `cumsum`, `div_no_nan`, `divide`, `elu`, `equal`, `exp`, `expm1`, `floor`, `floordiv`,
    `floormod`, `global_norm`, `greater`, `greater_equal`, `histogram_fixed_width`,
    `histogram_fixed_width_bins`, `in_top_k`, `invert`, `is_finite`, `is_inf`, `is_nan`, `l2_loss`,
    `l2_normalize`, `leaky_relu`, `left_shift`, `less`, `less_equal`, `log`, `log1p`,
    `log_poisson_loss`, `log_sigmoid`, `log_softmax`, `logical_and`, `logical_not`, `logical_or`,
    `logical_xor`, `matmul`, `maximum`, `minimum`, `mod`, `moments`, `multiply`, `negative`, `norm`,
    `not_equal`, `pow`, `realdiv`, `reciprocal`, `reduce_all`, `reduce_any`,
    `reduce_euclidean_norm`, `reduce_logsumexp`, `reduce_max`, `reduce_mean`, `reduce_min`,
    `reduce_prod`, `reduce_std`, `reduce_sum`, `reduce_variance`, `relu`, `relu6`, `right_shift`,
    `rint`, `round`, `rsqrt`, `saturate_cast`, `scalar_mul`, `segment_max`, `segment_mean`,
    `segment_min`, `segment_prod`, `segment_sum`, `selu`, `sigmoid`,
    `sigmoid_cross_entropy_with_logits`, `sign`, `sin`, `sinh`, `softmax`,
    `softmax_cross_entropy_with_logits`, `softplus`, `softsign`, `sparse_segment_mean`,
    `sparse_segment_sqrt_n`, `sparse_segment_sum`, `sparse_softmax_cross_entropy_with_logits`,
    `sqrt`, `square`, `squared_difference`, `subtract`, `tan`, `tanh`, `tensordot`, `top_k`,
    `truediv`, `truncatediv`, `truncatemod`, `unsorted_segment_max`, `unsorted_segment_mean`,
    `unsorted_segment_min`, `unsorted_segment_prod`, `unsorted_segment_sqrt_n`,
    `unsorted_segment_sum`, `weighted_cross_entropy_with_logits`, `zero_fraction`.

Strings (`headrace.ops.strings`):

    `as_string`, `decode_base64`, `encode_base64`, `reduce_join`, `regex_full_match`,
    `regex_replace`, `split_at_bytes`, `string_format`, `string_join`, `string_length`,
    `string_lower`, `string_split`, `string_strip`, `string_to_hash_bucket`,
    `string_to_hash_bucket_fast`, `string_to_hash_bucket_strong`, `string_to_number`,
    `string_upper`, `substr`.

Sparse tensors (`headrace.ops.sparse`):

    `convert_to_tensor_or_sparse_tensor`, `deserialize_many_sparse`, `edit_distance`,
    `serialize_many_sparse`, `serialize_sparse`, `sparse_add`, `sparse_concat`, `sparse_cross`,
    `sparse_cross_hashed`, `sparse_expand_dims`, `sparse_eye`, `sparse_fill_empty_rows`,
    `sparse_from_dense`, `sparse_maximum`, `sparse_merge`, `sparse_minimum`, `sparse_placeholder`,
    `sparse_reduce_max`, `sparse_reduce_max_sparse`, `sparse_reduce_sum`,
    `sparse_reduce_sum_sparse`, `sparse_reorder`, `sparse_reset_shape`, `sparse_reshape`,
    `sparse_retain`, `sparse_slice`, `sparse_softmax`, `sparse_split`, `sparse_tensor_dense_matmul`,
    `sparse_tensor_to_dense`, `sparse_to_dense`, `sparse_to_indicator`, `sparse_transpose`,
    `SparseTensor`, `SparseTensorValue`.

Random numbers (`headrace.ops.random`):

    `categorical`, `multinomial`, `random_normal`, `random_shuffle`, `random_uniform`,
    `sample_distorted_bounding_box`, `truncated_normal`.

Decoding records (`headrace.ops.records`):

    `audio_spectrogram`, `decode_compressed`, `decode_csv`, `decode_json_example`, `decode_raw`,
    `decode_wav`, `encode_wav`, `FixedLenFeature`, `FixedLenSequenceFeature`, `mfcc`,
    `parse_example`, `parse_sequence_example`, `parse_single_example`,
    `parse_single_sequence_example`, `parse_tensor`, `serialize_tensor`, `SparseFeature`,
    `VarLenFeature`.

Images (`headrace.ops.image`):

    `adjust_brightness`, `adjust_contrast`, `adjust_gamma`, `adjust_hue`, `adjust_saturation`,
    `angles_to_projective_transforms`, `central_crop`, `convert_image_dtype`, `crop_and_resize`,
    `crop_to_bounding_box`, `decode_and_crop_jpeg`, `decode_bmp`, `decode_gif`, `decode_image`,
    `decode_jpeg`, `decode_png`, `draw_bounding_boxes`, `encode_jpeg`, `encode_png`,
    `extract_image_patches`, `extract_jpeg_shape`, `flip_left_right`, `flip_up_down`,
    `grayscale_to_rgb`, `hsv_to_rgb`, `image_gradients`, `is_jpeg`, `non_max_suppression`,
    `non_max_suppression_overlaps`, `pad_to_bounding_box`, `per_image_standardization`, `psnr`,
    `random_brightness`, `random_contrast`, `random_crop`, `random_flip_left_right`,
    `random_flip_up_down`, `random_hue`, `random_saturation`, `resize`, `resize_area`,
    `resize_bicubic`, `resize_bilinear`, `resize_image_with_crop_or_pad`, `resize_image_with_pad`,
    `resize_images`, `resize_nearest_neighbor`, `ResizeMethod`, `rgb_to_grayscale`, `rgb_to_hsv`,
    `rgb_to_yiq`, `rgb_to_yuv`, `rot90`, `rotate_images`, `sobel_edges`, `total_variation`,
    `transform_images`, `translate_images`, `translations_to_projective_transforms`,
    `transpose_image`, `yiq_to_rgb`, `yuv_to_rgb`.

Queues in a graph (`headrace.tf1.ops.queues`):

    `Barrier`, `FIFOQueue`, `PaddingFIFOQueue`, `PriorityQueue`, `QueueBase`,
    `RandomShuffleQueue`, `StagingArea`.

Readers and whole files (`headrace.tf1.ops.readers`):

    `FixedLengthRecordReader`, `IdentityReader`, `LMDBReader`, `matching_files`, `read_file`,
    `ReaderBase`, `RecordInput`, `TextLineReader`, `TFRecordReader`, `WholeFileReader`,
    `write_file`.

Conditions, loops, order, checks, printing, Python functions (`headrace.ops.control`):

    `assert_equal`, `assert_greater`, `assert_greater_equal`, `assert_integer`, `assert_less`,
    `assert_less_equal`, `assert_near`, `assert_negative`, `assert_non_negative`,
    `assert_non_positive`, `assert_none_equal`, `assert_positive`, `assert_proper_iterable`,
    `assert_rank`, `assert_rank_at_least`, `assert_rank_in`, `assert_same_float_dtype`,
    `assert_scalar`, `assert_true`, `assert_type`, `case`, `cond`, `control_dependencies`,
    `foldl`, `foldr`, `group`, `is_non_decreasing`, `is_numeric_tensor`, `is_strictly_increasing`,
    `map_fn`, `no_op`, `print_text`, `print_values`, `py_func`, `scan`, `timestamp`, `tuple`,
    `while_loop`, `with_dependencies`.

Variables (`headrace.tf1.ops.variables`):

    `assert_global_step`, `assign`, `assign_add`, `assign_sub`, `AUTO_REUSE`,
    `batch_scatter_update`, `constant_initializer`, `count_up_to`, `create_global_step`,
    `get_global_step`, `get_local_variable`, `get_or_create_global_step`, `get_variable`,
    `get_variable_scope`, `global_step`, `global_variables`, `global_variables_initializer`,
    `glorot_normal_initializer`, `glorot_uniform_initializer`, `is_variable_initialized`,
    `local_variables`, `local_variables_initializer`, `model_variables`,
    `moving_average_variables`, `ones_initializer`, `random_normal_initializer`,
    `random_uniform_initializer`, `report_uninitialized_variables`, `scatter_add`, `scatter_div`,
    `scatter_max`, `scatter_min`, `scatter_mul`, `scatter_nd_add`, `scatter_nd_sub`,
    `scatter_nd_update`, `scatter_sub`, `scatter_update`, `trainable_variables`,
    `truncated_normal_initializer`, `Variable`, `variable_scope`, `variables_initializer`,
    `VariableScope`, `variance_scaling_initializer`, `zeros_initializer`.

Lookup tables (`headrace.tf1.ops.lookup`, where the tables themselves are):

    `tables_initializer`.

Summaries (`headrace.tf1.ops.summary`):

    `histogram_summary`, `image_summary`, `merge_all_summaries`, `merge_summaries`,
    `scalar_summary`.

Importing any module of this package gives tensors their operators (`a + b`, `a[1:]`).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from headrace.ops import operators  # noqa: F401  (gives tensors their operators)
from headrace.ops.array.blocks import depth_to_space, space_to_depth
from headrace.ops.array.broadcast import (
    broadcast_dynamic_shape,
    broadcast_static_shape,
    broadcast_to,
)
from headrace.ops.array.diag import (
    diag,
    diag_part,
    matrix_band_part,
    matrix_diag,
    matrix_diag_part,
    matrix_set_diag,
)
from headrace.ops.array.eye import eye
from headrace.ops.array.fill import fill, ones, ones_like, zeros, zeros_like
from headrace.ops.array.gather import boolean_mask, gather, gather_nd
from headrace.ops.array.join import concat, split, stack, unstack
from headrace.ops.array.meshgrid import meshgrid
from headrace.ops.array.one_hot import one_hot
from headrace.ops.array.pad import pad
from headrace.ops.array.partition import dynamic_partition, dynamic_stitch, invert_permutation
from headrace.ops.array.placeholder import (
    identity,
    identity_n,
    placeholder,
    placeholder_with_default,
    stop_gradient,
)
from headrace.ops.array.range import linspace, range
from headrace.ops.array.repeat import repeat
from headrace.ops.array.reshape import ensure_shape, expand_dims, reshape, squeeze
from headrace.ops.array.reverse import reverse, roll
from headrace.ops.array.reverse_sequence import reverse_sequence
from headrace.ops.array.scatter import (
    scatter_nd,
    tensor_scatter_add,
    tensor_scatter_sub,
    tensor_scatter_update,
)
from headrace.ops.array.sequence_mask import sequence_mask
from headrace.ops.array.shape import rank, shape, size
from headrace.ops.array.slice import newaxis, slice, strided_slice
from headrace.ops.array.sort import argsort, searchsorted, sort
from headrace.ops.array.tensor_array import TensorArray
from headrace.ops.array.tile import tile
from headrace.ops.array.transpose import transpose
from headrace.ops.array.unique import setdiff1d, unique, unique_with_counts
from headrace.ops.array.unravel_index import unravel_index
from headrace.ops.array.where import where
from headrace.ops.control.assertions import (
    assert_equal,
    assert_greater,
    assert_greater_equal,
    assert_less,
    assert_less_equal,
    assert_near,
    assert_negative,
    assert_non_negative,
    assert_non_positive,
    assert_none_equal,
    assert_positive,
)
from headrace.ops.control.case import case
from headrace.ops.control.cond import cond
from headrace.ops.control.control_flow import Assert as assert_true
from headrace.ops.control.control_flow import (
    control_dependencies,
    group,
    no_op,
    tuple,
    with_dependencies,
)
from headrace.ops.control.functional import foldl, foldr, map_fn, scan
from headrace.ops.control.print import print_text, print_values
from headrace.ops.control.py_func import py_func
from headrace.ops.control.static_assertions import (
    assert_integer,
    assert_proper_iterable,
    assert_rank,
    assert_rank_at_least,
    assert_rank_in,
    assert_same_float_dtype,
    assert_scalar,
    assert_type,
    is_non_decreasing,
    is_numeric_tensor,
    is_strictly_increasing,
)
from headrace.ops.control.timestamp import timestamp
from headrace.ops.control.while_loop import while_loop
from headrace.ops.framework.conversion import (
    constant,
    constant_value,
    convert_to_tensor,
    is_tensor,
    register_tensor_conversion_function,
)
from headrace.ops.image.colour import (
    adjust_brightness,
    adjust_contrast,
    adjust_gamma,
    adjust_hue,
    adjust_saturation,
    convert_image_dtype,
    grayscale_to_rgb,
    hsv_to_rgb,
    per_image_standardization,
    rgb_to_grayscale,
    rgb_to_hsv,
    rgb_to_yiq,
    rgb_to_yuv,
    yiq_to_rgb,
    yuv_to_rgb,
)
from headrace.ops.image.crop import (
    central_crop,
    crop_to_bounding_box,
    pad_to_bounding_box,
    resize_image_with_crop_or_pad,
)
from headrace.ops.image.crop_and_resize import crop_and_resize
from headrace.ops.image.decode import (
    decode_and_crop_jpeg,
    decode_bmp,
    decode_gif,
    decode_image,
    decode_jpeg,
    decode_png,
    extract_jpeg_shape,
    is_jpeg,
)
from headrace.ops.image.differences import image_gradients, psnr, sobel_edges, total_variation
from headrace.ops.image.draw import draw_bounding_boxes
from headrace.ops.image.encode import encode_jpeg, encode_png
from headrace.ops.image.flip import flip_left_right, flip_up_down, rot90, transpose_image
from headrace.ops.image.patches import extract_image_patches
from headrace.ops.image.random import (
    random_brightness,
    random_contrast,
    random_crop,
    random_flip_left_right,
    random_flip_up_down,
    random_hue,
    random_saturation,
)
from headrace.ops.image.resize import (
    ResizeMethod,
    resize,
    resize_area,
    resize_bicubic,
    resize_bilinear,
    resize_image_with_pad,
    resize_images,
    resize_nearest_neighbor,
)
from headrace.ops.image.suppression import non_max_suppression, non_max_suppression_overlaps
from headrace.ops.image.transform import (
    angles_to_projective_transforms,
    translations_to_projective_transforms,
)
from headrace.ops.image.transform import rotate as rotate_images
from headrace.ops.image.transform import transform as transform_images
from headrace.ops.image.transform import translate as translate_images
from headrace.ops.math.activations import (
    elu,
    l2_loss,
    leaky_relu,
    log_sigmoid,
    log_softmax,
    relu6,
    selu,
    softplus,
    softsign,
    zero_fraction,
)
from headrace.ops.math.arithmetic import (
    abs,
    add,
    add_n,
    ceil,
    clip_by_value,
    div_no_nan,
    divide,
    exp,
    expm1,
    floor,
    floordiv,
    floormod,
    log,
    log1p,
    maximum,
    minimum,
    mod,
    multiply,
    negative,
    pow,
    realdiv,
    reciprocal,
    rint,
    round,
    rsqrt,
    scalar_mul,
    sigmoid,
    sign,
    sqrt,
    square,
    squared_difference,
    subtract,
    tanh,
    truediv,
)
from headrace.ops.math.bitwise import (
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    invert,
    left_shift,
    right_shift,
)
from headrace.ops.math.cast import bitcast, cast
from headrace.ops.math.check_numerics import assert_all_finite, check_numerics
from headrace.ops.math.compare import (
    equal,
    greater,
    greater_equal,
    is_finite,
    is_inf,
    is_nan,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    not_equal,
)
from headrace.ops.math.cross_entropy import (
    log_poisson_loss,
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
    weighted_cross_entropy_with_logits,
)
from headrace.ops.math.cumsum import cumprod, cumsum
from headrace.ops.math.histogram import (
    bincount,
    confusion_matrix,
    histogram_fixed_width,
    histogram_fixed_width_bins,
)
from headrace.ops.math.matmul import matmul
from headrace.ops.math.nn import l2_normalize, moments, relu, softmax
from headrace.ops.math.norm import (
    clip_by_average_norm,
    clip_by_global_norm,
    clip_by_norm,
    global_norm,
    norm,
)
from headrace.ops.math.products import cross, tensordot
from headrace.ops.math.reduce import (
    argmax,
    argmin,
    count_nonzero,
    reduce_all,
    reduce_any,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_prod,
    reduce_sum,
)
from headrace.ops.math.saturate_cast import saturate_cast
from headrace.ops.math.segment import (
    segment_max,
    segment_mean,
    segment_min,
    segment_prod,
    segment_sum,
    unsorted_segment_max,
    unsorted_segment_mean,
    unsorted_segment_min,
    unsorted_segment_prod,
    unsorted_segment_sqrt_n,
    unsorted_segment_sum,
)
from headrace.ops.math.sparse_segment import (
    sparse_segment_mean,
    sparse_segment_sqrt_n,
    sparse_segment_sum,
)
from headrace.ops.math.spread import (
    reduce_euclidean_norm,
    reduce_logsumexp,
    reduce_std,
    reduce_variance,
)
from headrace.ops.math.top_k import in_top_k, top_k
from headrace.ops.math.trigonometry import acos, asin, atan, atan2, cos, cosh, sin, sinh, tan
from headrace.ops.math.truncate import truncatediv, truncatemod
from headrace.ops.random.bounding_box import sample_distorted_bounding_box
from headrace.ops.random.categorical import categorical, multinomial
from headrace.ops.random.numbers import random_normal, random_uniform, truncated_normal
from headrace.ops.random.shuffle import random_shuffle
from headrace.ops.records.decode_compressed import decode_compressed
from headrace.ops.records.decode_csv import decode_csv
from headrace.ops.records.decode_raw import decode_raw
from headrace.ops.records.features import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    SparseFeature,
    VarLenFeature,
)
from headrace.ops.records.parse_example import parse_example, parse_single_example
from headrace.ops.records.parse_sequence_example import (
    parse_sequence_example,
    parse_single_sequence_example,
)
from headrace.ops.records.spectrum import audio_spectrogram, mfcc
from headrace.ops.records.tensor_proto import parse_tensor, serialize_tensor
from headrace.ops.records.wav import decode_wav, encode_wav
from headrace.ops.sparse.cross import sparse_cross, sparse_cross_hashed
from headrace.ops.sparse.edit_distance import edit_distance
from headrace.ops.sparse.elements import sparse_from_dense, sparse_retain
from headrace.ops.sparse.elementwise import sparse_add, sparse_maximum, sparse_minimum
from headrace.ops.sparse.eye import sparse_eye
from headrace.ops.sparse.fill_empty_rows import sparse_fill_empty_rows
from headrace.ops.sparse.ids import sparse_merge, sparse_to_indicator
from headrace.ops.sparse.join import sparse_concat
from headrace.ops.sparse.layout import (
    sparse_expand_dims,
    sparse_reset_shape,
    sparse_transpose,
)
from headrace.ops.sparse.matmul import sparse_tensor_dense_matmul
from headrace.ops.sparse.placeholder import sparse_placeholder
from headrace.ops.sparse.reduce import (
    sparse_reduce_max,
    sparse_reduce_max_sparse,
    sparse_reduce_sum,
    sparse_reduce_sum_sparse,
)
from headrace.ops.sparse.reorder import sparse_reorder
from headrace.ops.sparse.reshape import sparse_reshape
from headrace.ops.sparse.serialize import (
    deserialize_many_sparse,
    serialize_many_sparse,
    serialize_sparse,
)
from headrace.ops.sparse.slice import sparse_slice, sparse_split
from headrace.ops.sparse.softmax import sparse_softmax
from headrace.ops.sparse.tensor import (
    SparseTensor,
    SparseTensorValue,
    convert_to_tensor_or_sparse_tensor,
)
from headrace.ops.sparse.to_dense import sparse_tensor_to_dense, sparse_to_dense
from headrace.ops.strings.base64 import decode_base64, encode_base64
from headrace.ops.strings.case import string_lower, string_strip, string_upper
from headrace.ops.strings.convert import as_string, string_to_number
from headrace.ops.strings.format import string_format
from headrace.ops.strings.hash_bucket import (
    string_to_hash_bucket,
    string_to_hash_bucket_fast,
    string_to_hash_bucket_strong,
)
from headrace.ops.strings.join import string_join
from headrace.ops.strings.reduce_join import reduce_join
from headrace.ops.strings.regex import regex_full_match, regex_replace
from headrace.ops.strings.split import split_at_bytes, string_split
from headrace.ops.strings.substr import string_length, substr
from headrace.tf1.ops.lookup import tables_initializer
from headrace.tf1.ops.queues.barrier import Barrier
from headrace.tf1.ops.queues.kinds import (
    FIFOQueue,
    PaddingFIFOQueue,
    PriorityQueue,
    RandomShuffleQueue,
)
from headrace.tf1.ops.queues.queue import QueueBase
from headrace.tf1.ops.queues.staging import StagingArea
from headrace.tf1.ops.readers.files import matching_files, read_file, write_file
from headrace.tf1.ops.readers.reader import (
    FixedLengthRecordReader,
    IdentityReader,
    LMDBReader,
    ReaderBase,
    TextLineReader,
    TFRecordReader,
    WholeFileReader,
)
from headrace.tf1.ops.readers.record_input import RecordInput
from headrace.tf1.ops.summary.histogram import histogram as histogram_summary
from headrace.tf1.ops.summary.image import image as image_summary
from headrace.tf1.ops.summary.merge import merge as merge_summaries
from headrace.tf1.ops.summary.merge import merge_all as merge_all_summaries
from headrace.tf1.ops.summary.scalar import scalar as scalar_summary
from headrace.tf1.ops.variables.assign import (
    assign,
    assign_add,
    assign_sub,
    count_up_to,
    is_variable_initialized,
)
from headrace.tf1.ops.variables.global_step import (
    assert_global_step,
    create_global_step,
    get_global_step,
    get_or_create_global_step,
    global_step,
)
from headrace.tf1.ops.variables.initialization import (
    global_variables,
    global_variables_initializer,
    local_variables,
    local_variables_initializer,
    model_variables,
    moving_average_variables,
    report_uninitialized_variables,
    trainable_variables,
    variables_initializer,
)
from headrace.tf1.ops.variables.initializers import (
    constant_initializer,
    glorot_normal_initializer,
    glorot_uniform_initializer,
    ones_initializer,
    random_normal_initializer,
    random_uniform_initializer,
    truncated_normal_initializer,
    variance_scaling_initializer,
    zeros_initializer,
)
from headrace.tf1.ops.variables.scatter import (
    batch_scatter_update,
    scatter_add,
    scatter_div,
    scatter_max,
    scatter_min,
    scatter_mul,
    scatter_nd_add,
    scatter_nd_sub,
    scatter_nd_update,
    scatter_sub,
    scatter_update,
)
from headrace.tf1.ops.variables.scope import (
    AUTO_REUSE,
    VariableScope,
    get_local_variable,
    get_variable,
    get_variable_scope,
    variable_scope,
)
from headrace.tf1.ops.variables.variable import Variable

if TYPE_CHECKING:
    from headrace.ops.records.decode_json_example import decode_json_example

__all__ = [
    "AUTO_REUSE",
    "Barrier",
    "FIFOQueue",
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "FixedLengthRecordReader",
    "IdentityReader",
    "LMDBReader",
    "PaddingFIFOQueue",
    "PriorityQueue",
    "QueueBase",
    "RandomShuffleQueue",
    "ReaderBase",
    "RecordInput",
    "ResizeMethod",
    "SparseFeature",
    "SparseTensor",
    "SparseTensorValue",
    "StagingArea",
    "TFRecordReader",
    "TensorArray",
    "TextLineReader",
    "VarLenFeature",
    "Variable",
    "VariableScope",
    "WholeFileReader",
    "abs",
    "acos",
    "add",
    "add_n",
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_saturation",
    "angles_to_projective_transforms",
    "argmax",
    "argmin",
    "argsort",
    "as_string",
    "asin",
    "assert_all_finite",
    "assert_equal",
    "assert_global_step",
    "assert_greater",
    "assert_greater_equal",
    "assert_integer",
    "assert_less",
    "assert_less_equal",
    "assert_near",
    "assert_negative",
    "assert_non_negative",
    "assert_non_positive",
    "assert_none_equal",
    "assert_positive",
    "assert_proper_iterable",
    "assert_rank",
    "assert_rank_at_least",
    "assert_rank_in",
    "assert_same_float_dtype",
    "assert_scalar",
    "assert_true",
    "assert_type",
    "assign",
    "assign_add",
    "assign_sub",
    "atan",
    "atan2",
    "audio_spectrogram",
    "batch_scatter_update",
    "bincount",
    "bitcast",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "boolean_mask",
    "broadcast_dynamic_shape",
    "broadcast_static_shape",
    "broadcast_to",
    "case",
    "cast",
    "categorical",
    "ceil",
    "central_crop",
    "check_numerics",
    "clip_by_average_norm",
    "clip_by_global_norm",
    "clip_by_norm",
    "clip_by_value",
    "concat",
    "cond",
    "confusion_matrix",
    "constant",
    "constant_initializer",
    "constant_value",
    "control_dependencies",
    "convert_image_dtype",
    "convert_to_tensor",
    "convert_to_tensor_or_sparse_tensor",
    "cos",
    "cosh",
    "count_nonzero",
    "count_up_to",
    "create_global_step",
    "crop_and_resize",
    "crop_to_bounding_box",
    "cross",
    "cumprod",
    "cumsum",
    "decode_and_crop_jpeg",
    "decode_base64",
    "decode_bmp",
    "decode_compressed",
    "decode_csv",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_json_example",
    "decode_png",
    "decode_raw",
    "decode_wav",
    "depth_to_space",
    "deserialize_many_sparse",
    "diag",
    "diag_part",
    "div_no_nan",
    "divide",
    "draw_bounding_boxes",
    "dynamic_partition",
    "dynamic_stitch",
    "edit_distance",
    "elu",
    "encode_base64",
    "encode_jpeg",
    "encode_png",
    "encode_wav",
    "ensure_shape",
    "equal",
    "exp",
    "expand_dims",
    "expm1",
    "extract_image_patches",
    "extract_jpeg_shape",
    "eye",
    "fill",
    "flip_left_right",
    "flip_up_down",
    "floor",
    "floordiv",
    "floormod",
    "foldl",
    "foldr",
    "gather",
    "gather_nd",
    "get_global_step",
    "get_local_variable",
    "get_or_create_global_step",
    "get_variable",
    "get_variable_scope",
    "global_norm",
    "global_step",
    "global_variables",
    "global_variables_initializer",
    "glorot_normal_initializer",
    "glorot_uniform_initializer",
    "grayscale_to_rgb",
    "greater",
    "greater_equal",
    "group",
    "histogram_fixed_width",
    "histogram_fixed_width_bins",
    "histogram_summary",
    "hsv_to_rgb",
    "identity",
    "identity_n",
    "image_gradients",
    "image_summary",
    "in_top_k",
    "invert",
    "invert_permutation",
    "is_finite",
    "is_inf",
    "is_jpeg",
    "is_nan",
    "is_non_decreasing",
    "is_numeric_tensor",
    "is_strictly_increasing",
    "is_tensor",
    "is_variable_initialized",
    "l2_loss",
    "l2_normalize",
    "leaky_relu",
    "left_shift",
    "less",
    "less_equal",
    "linspace",
    "local_variables",
    "local_variables_initializer",
    "log",
    "log1p",
    "log_poisson_loss",
    "log_sigmoid",
    "log_softmax",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "map_fn",
    "matching_files",
    "matmul",
    "matrix_band_part",
    "matrix_diag",
    "matrix_diag_part",
    "matrix_set_diag",
    "maximum",
    "merge_all_summaries",
    "merge_summaries",
    "meshgrid",
    "mfcc",
    "minimum",
    "mod",
    "model_variables",
    "moments",
    "moving_average_variables",
    "multinomial",
    "multiply",
    "negative",
    "newaxis",
    "no_op",
    "non_max_suppression",
    "non_max_suppression_overlaps",
    "norm",
    "not_equal",
    "one_hot",
    "ones",
    "ones_initializer",
    "ones_like",
    "pad",
    "pad_to_bounding_box",
    "parse_example",
    "parse_sequence_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "parse_tensor",
    "per_image_standardization",
    "placeholder",
    "placeholder_with_default",
    "pow",
    "print_text",
    "print_values",
    "psnr",
    "py_func",
    "random_brightness",
    "random_contrast",
    "random_crop",
    "random_flip_left_right",
    "random_flip_up_down",
    "random_hue",
    "random_normal",
    "random_normal_initializer",
    "random_saturation",
    "random_shuffle",
    "random_uniform",
    "random_uniform_initializer",
    "range",
    "rank",
    "read_file",
    "realdiv",
    "reciprocal",
    "reduce_all",
    "reduce_any",
    "reduce_euclidean_norm",
    "reduce_join",
    "reduce_logsumexp",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_std",
    "reduce_sum",
    "reduce_variance",
    "regex_full_match",
    "regex_replace",
    "register_tensor_conversion_function",
    "relu",
    "relu6",
    "repeat",
    "report_uninitialized_variables",
    "reshape",
    "resize",
    "resize_area",
    "resize_bicubic",
    "resize_bilinear",
    "resize_image_with_crop_or_pad",
    "resize_image_with_pad",
    "resize_images",
    "resize_nearest_neighbor",
    "reverse",
    "reverse_sequence",
    "rgb_to_grayscale",
    "rgb_to_hsv",
    "rgb_to_yiq",
    "rgb_to_yuv",
    "right_shift",
    "rint",
    "roll",
    "rot90",
    "rotate_images",
    "round",
    "rsqrt",
    "sample_distorted_bounding_box",
    "saturate_cast",
    "scalar_mul",
    "scalar_summary",
    "scan",
    "scatter_add",
    "scatter_div",
    "scatter_max",
    "scatter_min",
    "scatter_mul",
    "scatter_nd",
    "scatter_nd_add",
    "scatter_nd_sub",
    "scatter_nd_update",
    "scatter_sub",
    "scatter_update",
    "searchsorted",
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_prod",
    "segment_sum",
    "selu",
    "sequence_mask",
    "serialize_many_sparse",
    "serialize_sparse",
    "serialize_tensor",
    "setdiff1d",
    "shape",
    "sigmoid",
    "sigmoid_cross_entropy_with_logits",
    "sign",
    "sin",
    "sinh",
    "size",
    "slice",
    "sobel_edges",
    "softmax",
    "softmax_cross_entropy_with_logits",
    "softplus",
    "softsign",
    "sort",
    "space_to_depth",
    "sparse_add",
    "sparse_concat",
    "sparse_cross",
    "sparse_cross_hashed",
    "sparse_expand_dims",
    "sparse_eye",
    "sparse_fill_empty_rows",
    "sparse_from_dense",
    "sparse_maximum",
    "sparse_merge",
    "sparse_minimum",
    "sparse_placeholder",
    "sparse_reduce_max",
    "sparse_reduce_max_sparse",
    "sparse_reduce_sum",
    "sparse_reduce_sum_sparse",
    "sparse_reorder",
    "sparse_reset_shape",
    "sparse_reshape",
    "sparse_retain",
    "sparse_segment_mean",
    "sparse_segment_sqrt_n",
    "sparse_segment_sum",
    "sparse_slice",
    "sparse_softmax",
    "sparse_softmax_cross_entropy_with_logits",
    "sparse_split",
    "sparse_tensor_dense_matmul",
    "sparse_tensor_to_dense",
    "sparse_to_dense",
    "sparse_to_indicator",
    "sparse_transpose",
    "split",
    "split_at_bytes",
    "sqrt",
    "square",
    "squared_difference",
    "squeeze",
    "stack",
    "stop_gradient",
    "strided_slice",
    "string_format",
    "string_join",
    "string_length",
    "string_lower",
    "string_split",
    "string_strip",
    "string_to_hash_bucket",
    "string_to_hash_bucket_fast",
    "string_to_hash_bucket_strong",
    "string_to_number",
    "string_upper",
    "substr",
    "subtract",
    "tables_initializer",
    "tan",
    "tanh",
    "tensor_scatter_add",
    "tensor_scatter_sub",
    "tensor_scatter_update",
    "tensordot",
    "tile",
    "timestamp",
    "top_k",
    "total_variation",
    "trainable_variables",
    "transform_images",
    "translate_images",
    "translations_to_projective_transforms",
    "transpose",
    "transpose_image",
    "truediv",
    "truncated_normal",
    "truncated_normal_initializer",
    "truncatediv",
    "truncatemod",
    "tuple",
    "unique",
    "unique_with_counts",
    "unravel_index",
    "unsorted_segment_max",
    "unsorted_segment_mean",
    "unsorted_segment_min",
    "unsorted_segment_prod",
    "unsorted_segment_sqrt_n",
    "unsorted_segment_sum",
    "unstack",
    "variable_scope",
    "variables_initializer",
    "variance_scaling_initializer",
    "weighted_cross_entropy_with_logits",
    "where",
    "while_loop",
    "with_dependencies",
    "write_file",
    "yiq_to_rgb",
    "yuv_to_rgb",
    "zero_fraction",
    "zeros",
    "zeros_initializer",
    "zeros_like",
]

_ROOMS = (
    "lookup",
    "queues",
    "readers",
    "summary",
    "variables",
)
# What needs protocol buffers is loaded when it is first used.
_LATE = {"decode_json_example": "headrace.ops.records.decode_json_example"}

if not TYPE_CHECKING:  # For mypy a wrong name is an error.

    def __getattr__(name: str) -> Any:
        if name in _LATE:
            return getattr(import_module(_LATE[name]), name)
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}, expected an operation. "
            "dir(headrace.tf1.ops) lists them; some names of TensorFlow 1 are only in headrace.tf1."
        )

    def __dir__() -> list[str]:
        return sorted([*__all__, *_ROOMS])
