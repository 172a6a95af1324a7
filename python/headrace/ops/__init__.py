"""Operations of native functions: what a function under `headrace.native` may call.

They take the symbolic values that a native function gets, and return such values. The page
docs/native.md lists them by what they are for.
"""

from typing import TYPE_CHECKING, Never

from headrace.ops import operators  # noqa: F401  (gives values their operators)
from headrace.ops.array.broadcast import (
    broadcast_to,
)
from headrace.ops.array.eye import (
    eye,
)
from headrace.ops.array.fill import (
    fill,
    ones,
    ones_like,
    zeros,
    zeros_like,
)
from headrace.ops.array.gather import (
    boolean_mask,
    gather,
)
from headrace.ops.array.join import (
    concat,
    split,
    stack,
    unstack,
)
from headrace.ops.array.meshgrid import (
    meshgrid,
)
from headrace.ops.array.one_hot import (
    one_hot,
)
from headrace.ops.array.pad import (
    pad,
)
from headrace.ops.array.placeholder import (
    identity,
    stop_gradient,
)
from headrace.ops.array.range import (
    range,
)
from headrace.ops.array.repeat import (
    repeat,
)
from headrace.ops.array.reshape import (
    ensure_shape,
    expand_dims,
    reshape,
    squeeze,
)
from headrace.ops.array.reverse import (
    reverse,
    roll,
)
from headrace.ops.array.sequence_mask import (
    sequence_mask,
)
from headrace.ops.array.shape import (
    rank,
    shape,
    size,
)
from headrace.ops.array.slice import (
    newaxis,
    slice,
    strided_slice,
)
from headrace.ops.array.tile import (
    tile,
)
from headrace.ops.array.transpose import (
    transpose,
)
from headrace.ops.array.where import (
    where,
)
from headrace.ops.control.static_assertions import (
    is_non_decreasing,
    is_strictly_increasing,
)
from headrace.ops.framework.conversion import (
    constant,
    convert_to_tensor,
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
from headrace.ops.image.crop_and_resize import (
    crop_and_resize,
)
from headrace.ops.image.decode import (
    decode_and_crop_jpeg,
    decode_bmp,
    decode_gif,
    decode_image,
    decode_jpeg,
    decode_png,
    extract_jpeg_shape,
)
from headrace.ops.image.differences import (
    image_gradients,
    psnr,
    total_variation,
)
from headrace.ops.image.draw import (
    draw_bounding_boxes,
)
from headrace.ops.image.encode import (
    encode_jpeg,
    encode_png,
)
from headrace.ops.image.flip import (
    flip_left_right,
    flip_up_down,
    rot90,
    transpose_image,
)
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
from headrace.ops.image.transform import (
    angles_to_projective_transforms,
    translations_to_projective_transforms,
)
from headrace.ops.math.activations import (
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
from headrace.ops.math.cast import (
    cast,
)
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
    weighted_cross_entropy_with_logits,
)
from headrace.ops.math.cumsum import (
    cumprod,
    cumsum,
)
from headrace.ops.math.histogram import (
    histogram_fixed_width_bins,
)
from headrace.ops.math.nn import (
    l2_normalize,
    moments,
    relu,
)
from headrace.ops.math.norm import (
    clip_by_average_norm,
    clip_by_norm,
    norm,
)
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
from headrace.ops.math.saturate_cast import (
    saturate_cast,
)
from headrace.ops.math.spread import (
    reduce_euclidean_norm,
    reduce_logsumexp,
    reduce_std,
    reduce_variance,
)
from headrace.ops.math.trigonometry import (
    acos,
    asin,
    atan,
    atan2,
    cos,
    cosh,
    sin,
    sinh,
    tan,
)
from headrace.ops.random.bounding_box import (
    sample_distorted_bounding_box,
)
from headrace.ops.random.numbers import (
    random_normal,
    random_uniform,
    truncated_normal,
)
from headrace.ops.random.shuffle import (
    random_shuffle,
)
from headrace.ops.records.decode_compressed import (
    decode_compressed,
)
from headrace.ops.records.decode_csv import (
    decode_csv,
)
from headrace.ops.records.decode_raw import (
    decode_raw,
)
from headrace.ops.records.features import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    SparseFeature,
    VarLenFeature,
)
from headrace.ops.records.parse_example import (
    parse_single_example,
)
from headrace.ops.records.tensor_proto import (
    serialize_tensor,
)
from headrace.ops.strings.base64 import (
    decode_base64,
    encode_base64,
)
from headrace.ops.strings.case import (
    string_lower,
    string_strip,
    string_upper,
)
from headrace.ops.strings.convert import (
    string_to_number,
)
from headrace.ops.strings.hash_bucket import (
    string_to_hash_bucket,
    string_to_hash_bucket_fast,
    string_to_hash_bucket_strong,
)
from headrace.ops.strings.join import (
    string_join,
)
from headrace.ops.strings.regex import (
    regex_full_match,
    regex_replace,
)
from headrace.ops.strings.split import (
    string_split,
)
from headrace.ops.strings.substr import (
    string_length,
    substr,
)

__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "ResizeMethod",
    "SparseFeature",
    "VarLenFeature",
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
    "asin",
    "atan",
    "atan2",
    "boolean_mask",
    "broadcast_to",
    "cast",
    "ceil",
    "central_crop",
    "clip_by_average_norm",
    "clip_by_norm",
    "clip_by_value",
    "concat",
    "constant",
    "convert_image_dtype",
    "convert_to_tensor",
    "cos",
    "cosh",
    "count_nonzero",
    "crop_and_resize",
    "crop_to_bounding_box",
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
    "decode_png",
    "decode_raw",
    "div_no_nan",
    "divide",
    "draw_bounding_boxes",
    "encode_base64",
    "encode_jpeg",
    "encode_png",
    "ensure_shape",
    "equal",
    "exp",
    "expand_dims",
    "expm1",
    "extract_jpeg_shape",
    "eye",
    "fill",
    "flip_left_right",
    "flip_up_down",
    "floor",
    "floordiv",
    "floormod",
    "gather",
    "grayscale_to_rgb",
    "greater",
    "greater_equal",
    "histogram_fixed_width_bins",
    "hsv_to_rgb",
    "identity",
    "image_gradients",
    "is_finite",
    "is_inf",
    "is_nan",
    "is_non_decreasing",
    "is_strictly_increasing",
    "l2_normalize",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log_poisson_loss",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "meshgrid",
    "minimum",
    "mod",
    "moments",
    "multiply",
    "negative",
    "newaxis",
    "norm",
    "not_equal",
    "one_hot",
    "ones",
    "ones_like",
    "pad",
    "pad_to_bounding_box",
    "parse_single_example",
    "per_image_standardization",
    "pow",
    "psnr",
    "random_brightness",
    "random_contrast",
    "random_crop",
    "random_flip_left_right",
    "random_flip_up_down",
    "random_hue",
    "random_normal",
    "random_saturation",
    "random_shuffle",
    "random_uniform",
    "range",
    "rank",
    "realdiv",
    "reciprocal",
    "reduce_all",
    "reduce_any",
    "reduce_euclidean_norm",
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
    "relu",
    "repeat",
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
    "rgb_to_grayscale",
    "rgb_to_hsv",
    "rgb_to_yiq",
    "rgb_to_yuv",
    "rint",
    "roll",
    "rot90",
    "round",
    "rsqrt",
    "sample_distorted_bounding_box",
    "saturate_cast",
    "scalar_mul",
    "sequence_mask",
    "serialize_tensor",
    "shape",
    "sigmoid",
    "sigmoid_cross_entropy_with_logits",
    "sign",
    "sin",
    "sinh",
    "size",
    "slice",
    "split",
    "sqrt",
    "square",
    "squared_difference",
    "squeeze",
    "stack",
    "stop_gradient",
    "strided_slice",
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
    "tan",
    "tanh",
    "tile",
    "total_variation",
    "translations_to_projective_transforms",
    "transpose",
    "transpose_image",
    "truediv",
    "truncated_normal",
    "unstack",
    "weighted_cross_entropy_with_logits",
    "where",
    "yiq_to_rgb",
    "yuv_to_rgb",
    "zero_fraction",
    "zeros",
    "zeros_like",
]

if not TYPE_CHECKING:  # For mypy a wrong name is an error.

    def __getattr__(name: str) -> Never:
        raise AttributeError(
            f"module 'headrace.ops' has no attribute {name!r}, expected an operation of native "
            "functions: dir(headrace.ops) lists them. Those of graphs are in headrace.tf1."
        )

    def __dir__() -> list[str]:
        return sorted(__all__)
