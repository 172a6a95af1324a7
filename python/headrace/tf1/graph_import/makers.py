"""Functions that create operations from protocol buffer messages, by operation type."""

from functools import partial
from typing import Any, Final

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DType, as_dtype
from headrace.core.shapes import TensorShape, unknown_shape
from headrace.graph import Tensor, definition_of
from headrace.ops.array.gather import masked
from headrace.ops.control.control_flow import check
from headrace.ops.framework.conversion import constant_value_as_shape
from headrace.ops.image.transform import project
from headrace.tf1 import ops
from headrace.tf1.graph_import.foreign import FOREIGN
from headrace.tf1.graph_import.node import Maker, Node, Outputs, by, by_list, declared, native
from headrace.tf1.graph_import.numeric import NUMERIC
from headrace.tf1.graph_import.sparse import SPARSE
from headrace.tf1.ops.control.py_func import kernel_of_token
from headrace.tf1.ops.queues.queue import restored_queue
from headrace.tf1.ops.strings import unicode
from headrace.tf1.ops.variables.initialization import uninitialized_names

__all__ = ["is_control_flow", "maker_of"]

_SCALAR = TensorShape([])
_VECTOR = TensorShape([None])


def maker_of(op_type: str, is_declared: bool) -> Maker | None:
    """Returns the maker for an operation type, or None if headrace lacks the type.

    Args:
        op_type: The type of the operation.
        is_declared: Whether the message describes the outputs.
    """
    if is_declared and definition_of(op_type).is_own:
        return declared
    return _MAKERS.get(op_type) or FOREIGN.get(op_type)


def is_control_flow(op_type: str) -> bool:
    """Returns whether a type belongs to a loop, a condition or a tensor array."""
    return op_type in _CONTROL_FLOW or op_type.startswith("TensorArray")


def _one(dtype: DType, shape: TensorShape = _SCALAR) -> Maker:
    return native(lambda _: [(dtype, shape)])


def _like(tensor: Tensor) -> Outputs:
    return [(tensor.dtype.base_dtype, tensor.shape)]


def _constant(node: Node) -> None:
    value = node.attrs.get("value")
    if not isinstance(value, np.ndarray):
        raise ValueError(
            f"Node '{node.name[:-1]}': the message lacks the constant's value, because "
            "`Saver` leaves out values of more than 64 KiB. Write the graph with "
            "`export_meta_graph`."
        )
    node.add([(node.attrs["dtype"], TensorShape(value.shape))])


def _draw(node: Node, dtype: DType) -> Outputs:
    return [(dtype, constant_value_as_shape(node.inputs[0]))]


def _variable(node: Node) -> Outputs:
    return [(node.attrs["dtype"]._as_ref, node.attrs["shape"])]


def _dequeue(node: Node) -> Outputs:
    queue = restored_queue(node.inputs[0].op)
    return list(zip(map(as_dtype, queue.dtypes), queue.shapes, strict=True))


def _dequeue_many(node: Node) -> Outputs:
    rows = ops.constant_value(node.inputs[1]) if node.type == "QueueDequeueManyV2" else None
    prefix = TensorShape([None if rows is None else int(rows)])
    return [(dtype, prefix.concatenate(shape)) for dtype, shape in _dequeue(node)]


def _taken(node: Node) -> Outputs:
    rows = None if node.attrs["allow_small_batch"] else ops.constant_value(node.inputs[1])
    prefix = TensorShape([None if rows is None else int(rows)])
    shapes = node.inputs[0].op.attrs["shapes"]
    values = zip(node.attrs["component_types"], map(prefix.concatenate, shapes), strict=True)
    return [(dtypes.int64, prefix), (dtypes.string, prefix), *values]


def _exported(node: Node) -> Outputs:
    shape = _VECTOR if node.inputs[0].op.type == "HashTableV2" else unknown_shape()
    return [(node.attrs["Tkeys"], shape), (node.attrs["Tvalues"], shape)]


def _found(node: Node) -> Outputs:
    _, keys, default = node.inputs
    return [(node.attrs["Tout"], keys.shape.concatenate(default.shape))]


def _drawn_classes(node: Node) -> Outputs:
    logits, count = node.inputs
    number = ops.constant_value(count)
    rows = None if logits.shape.rank is None else logits.shape[0].value
    shape = TensorShape([rows, None if number is None else int(number)])
    return [(node.attrs["output_dtype"], shape)]


def _unstaged(node: Node) -> Outputs:
    return [(dtype, unknown_shape()) for dtype in node.attrs["dtypes"]]


def _sample(node: Node) -> Outputs:
    numbers = node.inputs[0].dtype.base_dtype
    return [
        (numbers, TensorShape([3])),
        (numbers, TensorShape([3])),
        (dtypes.float32, TensorShape([1, 1, 4])),
    ]


def _string_parts(_: Node) -> Outputs:
    return [
        (dtypes.int64, TensorShape([None, 2])),
        (dtypes.string, _VECTOR),
        (dtypes.int64, TensorShape([2])),
    ]


def _squeeze(node: Node) -> None:
    (tensor,) = node.inputs
    ops.squeeze(tensor, node.attrs.get("squeeze_dims") or None, name=node.name)


def _split(node: Node) -> None:
    axis, value = node.inputs
    ops.split(value, node.attrs["num_split"], axis, name=node.name)


def _split_by_sizes(node: Node) -> None:
    value, sizes, axis = node.inputs
    ops.split(value, sizes, axis, num=node.attrs.get("num_split"), name=node.name)


def _concat(node: Node) -> None:
    ops.concat(node.inputs[:-1], node.inputs[-1], name=node.name)


def _conjugated(node: Node) -> None:
    tensor, order = node.inputs
    ops.transpose(tensor, order, conjugate=True, name=node.name)


def _csv(node: Node) -> None:
    named = ("field_delim", "use_quote_delim", "na_value")
    attrs: dict[str, Any] = {key: node.attrs[key] for key in named if key in node.attrs}
    attrs["select_cols"] = node.attrs.get("select_cols") or None
    ops.decode_csv(node.inputs[0], node.inputs[1:], **attrs, name=node.name)


def _stitch(node: Node) -> None:
    half = len(node.inputs) // 2
    ops.dynamic_stitch(node.inputs[:half], node.inputs[half:], name=node.name)


def _matmul(node: Node) -> None:
    flags: dict[str, Any] = {
        parameter: node.attrs.get(attribute, False)
        for parameter, attribute in (
            ("transpose_a", "transpose_a"),
            ("transpose_b", "transpose_b"),
            ("adjoint_a", "adj_x"),
            ("adjoint_b", "adj_y"),
        )
    }
    a, b = node.inputs
    ops.matmul(a, b, **flags, name=node.name)


def _pad(node: Node) -> None:
    tensor, paddings, *fill = node.inputs
    value = fill[0] if fill else 0
    ops.pad(tensor, paddings, node.attrs.get("mode", "CONSTANT"), value, name=node.name)


def _py_func(node: Node) -> None:
    token = str(node.attrs.get("token", ""))
    kernel = kernel_of_token(token)
    if kernel is None:
        raise ValueError(
            f"Node '{node.name[:-1]}': this process has no Python function '{token}'. "
            "A GraphDef does not contain Python functions. Build the graph again, or import it in "
            "the process that called `py_func`, while the original graph still exists."
        )
    node.attrs["python_function"] = True
    node.add([(dtype, unknown_shape()) for dtype in node.attrs["Tout"]], kernel)


def _report(node: Node) -> None:
    node.add([(dtypes.string, _VECTOR)], uninitialized_names(node.attrs.get("names", [])))


_CONTROL_FLOW: Final = frozenset(
    {
        *("Enter", "Exit", "LoopCond", "Merge", "NextIteration", "Switch"),
        *("Each", "ForEach", "LoopVariable", "While"),
    }
)

_ELEMENTWISE: Final = {
    **{"Abs": ops.abs, "Acos": ops.acos, "Add": ops.add, "AddV2": ops.add, "Asin": ops.asin},
    **{"Atan": ops.atan, "Atan2": ops.atan2, "Ceil": ops.ceil, "ComplexAbs": ops.abs},
    **{"Cos": ops.cos, "Cosh": ops.cosh, "DivNoNan": ops.div_no_nan, "Equal": ops.equal},
    **{"Exp": ops.exp, "Expm1": ops.expm1, "Floor": ops.floor, "FloorDiv": ops.floordiv},
    **{"FloorMod": ops.floormod, "Greater": ops.greater, "GreaterEqual": ops.greater_equal},
    **{"IsFinite": ops.is_finite, "IsInf": ops.is_inf, "IsNan": ops.is_nan, "Less": ops.less},
    **{"LessEqual": ops.less_equal, "Log": ops.log, "Log1p": ops.log1p},
    **{"LogicalAnd": ops.logical_and, "LogicalNot": ops.logical_not, "LogicalOr": ops.logical_or},
    **{"Maximum": ops.maximum, "Minimum": ops.minimum, "Mul": ops.multiply, "Neg": ops.negative},
    **{"NotEqual": ops.not_equal, "Pow": ops.pow, "RealDiv": ops.realdiv, "Relu": ops.relu},
    **{"Reciprocal": ops.reciprocal, "Rint": ops.rint, "Round": ops.round, "Rsqrt": ops.rsqrt},
    **{"Sigmoid": ops.sigmoid, "Sign": ops.sign, "Sin": ops.sin, "Sinh": ops.sinh},
    **{"Softmax": ops.softmax, "Sqrt": ops.sqrt, "Square": ops.square, "Sub": ops.subtract},
    **{"SquaredDifference": ops.squared_difference, "Tan": ops.tan, "Tanh": ops.tanh},
}

_REDUCTIONS: Final = {
    **{"All": ops.reduce_all, "Any": ops.reduce_any, "Max": ops.reduce_max},
    **{"Mean": ops.reduce_mean, "Min": ops.reduce_min, "Prod": ops.reduce_prod},
    **{"Sum": ops.reduce_sum},
}

_ARRAYS: Final[dict[str, Maker]] = {
    "AddN": by_list(ops.add_n),
    "ArgMax": by(ops.argmax, output_type="output_type"),
    "ArgMin": by(ops.argmin, output_type="output_type"),
    "BatchMatMulV2": _matmul,
    "Bitcast": by(ops.bitcast, type="type"),
    "BooleanMask": by(masked, axis="axis"),
    "BroadcastArgs": by(ops.broadcast_dynamic_shape),
    "BroadcastTo": by(ops.broadcast_to),
    "Cast": by(ops.cast, dtype="DstT"),
    "CheckNumerics": by(ops.check_numerics, message="message"),
    "ConcatV2": _concat,
    "ConjugateTranspose": _conjugated,
    "Cumprod": by(ops.cumprod, exclusive="exclusive", reverse="reverse"),
    "Cumsum": by(ops.cumsum, exclusive="exclusive", reverse="reverse"),
    "DynamicPartition": by(ops.dynamic_partition, num_partitions="num_partitions"),
    "DynamicStitch": _stitch,
    "EnsureShape": by(ops.ensure_shape, shape="shape"),
    "ExpandDims": by(ops.expand_dims),
    "Fill": by(ops.fill),
    "GatherNd": by(ops.gather_nd),
    "GatherV2": by(ops.gather, batch_dims="batch_dims"),
    "IdentityN": by_list(ops.identity_n),
    "InTopKV2": by(ops.in_top_k),
    "InvertPermutation": by(ops.invert_permutation),
    "LinSpace": by(ops.linspace),
    "ListDiff": by(ops.setdiff1d, index_dtype="out_idx"),
    "MatMul": _matmul,
    "MirrorPad": _pad,
    "OneHot": by(ops.one_hot, axis="axis"),
    "OnesLike": by(ops.ones_like),
    "Pack": by_list(ops.stack, axis="axis"),
    "Pad": _pad,
    "PadV2": _pad,
    "Range": by(ops.range),
    "Rank": by(ops.rank),
    "Reshape": by(ops.reshape),
    "ReverseV2": by(ops.reverse),
    "Roll": by(ops.roll),
    "Select": by(ops.where),
    "Shape": by(ops.shape, out_type="out_type"),
    "Size": by(ops.size, out_type="out_type"),
    "Slice": by(ops.slice),
    "Split": _split,
    "SplitV": _split_by_sizes,
    "Squeeze": _squeeze,
    "StopGradient": by(ops.stop_gradient),
    "StridedSlice": by(
        ops.strided_slice,
        begin_mask="begin_mask",
        end_mask="end_mask",
        ellipsis_mask="ellipsis_mask",
        new_axis_mask="new_axis_mask",
        shrink_axis_mask="shrink_axis_mask",
    ),
    "Tile": by(ops.tile),
    "TopKV2": by(ops.top_k, sorted="sorted"),
    "Transpose": by(ops.transpose),
    "Unique": by(ops.unique, out_idx="out_idx"),
    "UniqueWithCounts": by(ops.unique_with_counts, out_idx="out_idx"),
    "Unpack": by(ops.unstack, num="num", axis="axis"),
    "Where": by(ops.where),
    "ZerosLike": by(ops.zeros_like),
}

_DECODING: Final = {
    "input_encoding": "input_encoding",
    "errors": "errors",
    "replacement_char": "replacement_char",
    "replace_control_characters": "replace_control_characters",
}
_STRINGS: Final[dict[str, Maker]] = {
    "AsString": by(
        ops.as_string,
        precision="precision",
        scientific="scientific",
        shortest="shortest",
        width="width",
        fill="fill",
    ),
    "DecodeBase64": by(ops.decode_base64),
    "EncodeBase64": by(ops.encode_base64, pad="pad"),
    "ReduceJoin": by(ops.reduce_join, keepdims="keep_dims", separator="separator"),
    "RegexFullMatch": by(ops.regex_full_match),
    "RegexReplace": by(ops.regex_replace, replace_global="replace_global"),
    "StaticRegexFullMatch": native(lambda node: [(dtypes.bool, node.inputs[0].shape)]),
    "StaticRegexReplace": native(lambda node: _like(node.inputs[0])),
    "StringJoin": by_list(ops.string_join, separator="separator"),
    "StringLength": by(ops.string_length, unit="unit"),
    "StringLower": by(ops.string_lower, encoding="encoding"),
    "StringSplit": native(_string_parts),
    "StringSplitV2": native(_string_parts),
    "StringStrip": by(ops.string_strip),
    "StringToHashBucket": by(ops.string_to_hash_bucket, num_buckets="num_buckets"),
    "StringToHashBucketFast": by(ops.string_to_hash_bucket_fast, num_buckets="num_buckets"),
    "StringToHashBucketStrong": by(
        ops.string_to_hash_bucket_strong, num_buckets="num_buckets", key="key"
    ),
    "StringToNumber": by(ops.string_to_number, out_type="out_type"),
    "StringUpper": by(ops.string_upper, encoding="encoding"),
    "Substr": by(ops.substr, unit="unit"),
    "UnicodeDecode": by(partial(unicode.decode_rows, has_offsets=False), **_DECODING),
    "UnicodeDecodeWithOffsets": by(partial(unicode.decode_rows, has_offsets=True), **_DECODING),
    "UnicodeEncode": by(
        unicode.encode_rows,
        output_encoding="output_encoding",
        errors="errors",
        replacement_char="replacement_char",
    ),
    "UnicodeScript": by(ops.unicode_script),
    "UnicodeTranscode": by(ops.unicode_transcode, output_encoding="output_encoding", **_DECODING),
}

_RECORDS: Final[dict[str, Maker]] = {
    "DecodeBmp": by(ops.decode_bmp, channels="channels"),
    "DecodeCSV": _csv,
    "DecodeCompressed": by(ops.decode_compressed, compression_type="compression_type"),
    "DecodeGif": by(ops.decode_gif),
    "DecodeImage": by(
        ops.decode_image, channels="channels", dtype="dtype", expand_animations="expand_animations"
    ),
    "DecodeJSONExample": by(ops.decode_json_example),
    "DecodeJpeg": by(
        ops.decode_jpeg,
        channels="channels",
        ratio="ratio",
        fancy_upscaling="fancy_upscaling",
        try_recover_truncated="try_recover_truncated",
        acceptable_fraction="acceptable_fraction",
        dct_method="dct_method",
    ),
    "DecodePaddedRaw": by(
        ops.decode_padded_raw, out_type="out_type", little_endian="little_endian"
    ),
    "DecodePng": by(ops.decode_png, channels="channels", dtype="dtype"),
    "DecodeRaw": by(ops.decode_raw, out_type="out_type", little_endian="little_endian"),
    "EncodeJpeg": by(
        ops.encode_jpeg,
        format="format",
        quality="quality",
        progressive="progressive",
        optimize_size="optimize_size",
        chroma_downsampling="chroma_downsampling",
        density_unit="density_unit",
        x_density="x_density",
        y_density="y_density",
        xmp_metadata="xmp_metadata",
    ),
    "EncodeJpegVariableQuality": by(ops.encode_jpeg_variable_quality),
    "EncodePng": by(ops.encode_png, compression="compression"),
    "ExtractJpegShape": by(ops.extract_jpeg_shape, output_type="output_type"),
    "MatchingFiles": by(ops.matching_files),
    "ParseTensor": by(ops.parse_tensor, out_type="out_type"),
    "ReadFile": by(ops.read_file),
    "SerializeTensor": by(ops.serialize_tensor),
    "WriteFile": by(ops.write_file),
}

_IMAGES: Final[dict[str, Maker]] = {
    "AdjustContrastv2": native(lambda node: _like(node.inputs[0])),
    "AdjustHue": native(lambda node: _like(node.inputs[0])),
    "AdjustSaturation": native(lambda node: _like(node.inputs[0])),
    "CropAndResize": by(
        ops.crop_and_resize, method="method", extrapolation_value="extrapolation_value"
    ),
    "DrawBoundingBoxes": by(ops.draw_bounding_boxes),
    "DrawBoundingBoxesV2": by(ops.draw_bounding_boxes),
    "HSVToRGB": by(ops.hsv_to_rgb),
    "ImageProjectiveTransformV2": by(project, interpolation="interpolation"),
    "RGBToHSV": by(ops.rgb_to_hsv),
    "SampleDistortedBoundingBoxV2": native(_sample),
}

_SCATTERS: Final = {
    "ScatterAdd": ops.scatter_add,
    "ScatterDiv": ops.scatter_div,
    "ScatterMax": ops.scatter_max,
    "ScatterMin": ops.scatter_min,
    "ScatterMul": ops.scatter_mul,
    "ScatterNdAdd": ops.scatter_nd_add,
    "ScatterNdSub": ops.scatter_nd_sub,
    "ScatterNdUpdate": ops.scatter_nd_update,
    "ScatterSub": ops.scatter_sub,
    "ScatterUpdate": ops.scatter_update,
}

_STATE: Final[dict[str, Maker]] = {
    "Assert": by_list(check, 1, summarize="summarize"),
    "Assign": by(ops.assign, validate_shape="validate_shape", use_locking="use_locking"),
    **{op_type: by(function, use_locking="use_locking") for op_type, function in _SCATTERS.items()},
    "AssignAdd": by(ops.assign_add, use_locking="use_locking"),
    "AssignSub": by(ops.assign_sub, use_locking="use_locking"),
    "Const": _constant,
    "CountUpTo": by(ops.count_up_to, limit="limit"),
    "HistogramSummary": _one(dtypes.string),
    "Identity": native(lambda node: _like(node.inputs[0])),
    "ImageSummary": _one(dtypes.string),
    "IsVariableInitialized": by(ops.is_variable_initialized),
    "MergeSummary": _one(dtypes.string),
    "NoOp": native(lambda _: []),
    "Placeholder": native(lambda node: [(node.attrs["dtype"], node.attrs["shape"])]),
    "PlaceholderWithDefault": native(lambda node: [(node.attrs["dtype"], node.attrs["shape"])]),
    "Print": by_list(
        ops.print_values, 1, message="message", first_n="first_n", summarize="summarize"
    ),
    "PyFunc": _py_func,
    "PyFuncStateless": _py_func,
    "Multinomial": native(_drawn_classes),
    "RandomShuffle": native(lambda node: _like(node.inputs[0])),
    "RandomStandardNormal": native(lambda node: _draw(node, node.attrs["dtype"])),
    "RandomUniform": native(lambda node: _draw(node, node.attrs["dtype"])),
    "RandomUniformInt": native(lambda node: _draw(node, node.attrs["Tout"])),
    "ReportUninitialized": _report,
    "ScalarSummary": _one(dtypes.string),
    "TruncatedNormal": native(lambda node: _draw(node, node.attrs["dtype"])),
    "VariableV2": native(_variable),
}

_QUEUES: Final[dict[str, Maker]] = {
    **dict.fromkeys(
        ("FIFOQueueV2", "PaddingFIFOQueueV2", "PriorityQueueV2", "RandomShuffleQueueV2"),
        _one(dtypes.resource),
    ),
    **dict.fromkeys(("QueueCloseV2", "QueueEnqueueManyV2", "QueueEnqueueV2"), native(lambda _: [])),
    "QueueDequeueManyV2": native(_dequeue_many),
    "QueueDequeueUpToV2": native(_dequeue_many),
    "QueueDequeueV2": native(_dequeue),
    **dict.fromkeys(
        ("HashTableV2", "MutableHashTableOfTensorsV2", "MutableHashTableV2"),
        _one(dtypes.resource),
    ),
    "InitializeTableFromTextFileV2": native(lambda _: []),
    "LookupTableExportV2": native(_exported),
    "LookupTableFindV2": native(_found),
    **dict.fromkeys(
        ("LookupTableImportV2", "LookupTableInsertV2", "LookupTableRemoveV2"),
        native(lambda _: []),
    ),
    "LookupTableSizeV2": _one(dtypes.int64),
    "QueueIsClosedV2": _one(dtypes.bool),
    "QueueSizeV2": _one(dtypes.int32),
    **dict.fromkeys(("Stage", "StageClear"), native(lambda _: [])),
    **dict.fromkeys(("StagePeek", "Unstage"), native(_unstaged)),
    "StageSize": _one(dtypes.int32),
    "RecordInput": native(lambda _: [(dtypes.string, unknown_shape())]),
    "Barrier": native(lambda _: [(dtypes.string._as_ref, TensorShape([2]))]),
    **dict.fromkeys(("BarrierClose", "BarrierInsertMany"), native(lambda _: [])),
    **dict.fromkeys(("BarrierIncompleteSize", "BarrierReadySize"), _one(dtypes.int32)),
    "BarrierTakeMany": native(_taken),
    **dict.fromkeys(
        (
            *("FixedLengthRecordReaderV2", "IdentityReaderV2", "TFRecordReaderV2"),
            *("TextLineReaderV2", "WholeFileReaderV2"),
        ),
        _one(dtypes.resource),
    ),
    "ReaderNumRecordsProducedV2": _one(dtypes.int64),
    "ReaderNumWorkUnitsCompletedV2": _one(dtypes.int64),
    "ReaderReadUpToV2": native(lambda _: [(dtypes.string, _VECTOR)] * 2),
    "ReaderReadV2": native(lambda _: [(dtypes.string, _SCALAR)] * 2),
    "ReaderResetV2": native(lambda _: []),
    "ReaderRestoreStateV2": native(lambda _: []),
    "ReaderSerializeStateV2": _one(dtypes.string),
}

_MAKERS: Final[dict[str, Maker]] = {
    **{op_type: by(function) for op_type, function in _ELEMENTWISE.items()},
    **{op_type: by(function, keepdims="keep_dims") for op_type, function in _REDUCTIONS.items()},
    **_ARRAYS,
    **_STRINGS,
    **_RECORDS,
    **_IMAGES,
    **NUMERIC,
    **SPARSE,
    **_STATE,
    **_QUEUES,
}
