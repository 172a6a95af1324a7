"""Batch rules: an operation on all rows at once returns the same as on each row separately.

Each operation with a rule has a case here, which generates calls and their inputs. The rule's
result is compared with the results for single rows: types, shapes and bits.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from headrace import ops
from headrace.core import engine
from headrace.graph.lowering.feeding import as_array
from headrace.graph.op_def import _definitions
from headrace.pipeline.native_functions.compiled import compiled
from headrace.pipeline.native_functions.trace import trace
from headrace.pipeline.values.types import Spec

INTEGERS = ["uint8", "int8", "uint16", "int16", "int32", "int64"]
FLOATS = ["float16", "float32", "float64"]
REALS = INTEGERS + FLOATS
NUMBERS = [0, 1, 2, 3, 5, 7, 100, 255, -1, -3, 0.5, -2.5, 1e30, np.inf, np.nan]
TEXTS = [b"", b"1", b"12", b" 7 ", b"-3", b"0.5", b"abc", b"x1y22", "Öß ".encode()]

shapes = st.lists(st.integers(0, 3), max_size=3).map(tuple)


class Case(NamedTuple):
    """A function with one operation, and the rows of its arguments."""

    function: Callable[[dict[str, Any]], Any]
    arguments: dict[str, np.ndarray[Any, Any]]


@st.composite
def blocks(draw, dtypes=REALS, shape=None, values=NUMBERS, count=None):
    """Rows of one type and shape."""
    dtype = draw(st.sampled_from(dtypes))
    shape = draw(shapes) if shape is None else shape
    count = draw(st.integers(1, 5)) if count is None else count
    size = count * int(np.prod(shape))
    drawn = draw(st.lists(st.sampled_from(values), min_size=size, max_size=size))
    array = np.empty(size, object)
    array[:] = drawn
    with np.errstate(all="ignore"):
        array = array if dtype == "bytes" else array.astype("float64").astype(dtype)
    return array.reshape(count, *shape)


@st.composite
def unary(draw, function, dtypes=REALS, values=NUMBERS):
    return Case(lambda e: function(e["x"]), {"x": draw(blocks(dtypes, values=values))})


@st.composite
def binary(draw, function, dtypes=REALS):
    """Two arguments, or one and a constant, that can be broadcast."""
    dtype, count, shape = draw(st.sampled_from(dtypes)), draw(st.integers(1, 5)), draw(shapes)
    partner = tuple(draw(st.sampled_from([size, 1])) for size in shape[draw(st.integers(0, 3)) :])
    a = draw(blocks([dtype], shape, count=count))
    b = draw(blocks([dtype], partner, count=count))
    if draw(st.booleans()):
        a, b = b, a
    match draw(st.integers(0, 2)):
        case 0:
            return Case(lambda e: function(e["a"], e["b"]), {"a": a, "b": b})
        case 1:
            return Case(lambda e: function(e["a"], b[0]), {"a": a})
    return Case(lambda e: function(a[0], e["b"]), {"b": b})


@st.composite
def casts(draw):
    target = draw(st.sampled_from([*REALS, "bool"]))
    return draw(unary(lambda x: ops.cast(x, target), [*REALS, "bool"]))


@st.composite
def reshapes(draw):
    x = draw(blocks())
    size = int(np.prod(x.shape[1:]))
    expected = draw(st.sampled_from([[size], [1, size], [-1], [size, 1, -1], [2, -1], [size * 2]]))
    return Case(lambda e: ops.reshape(e["x"], expected), {"x": x})


@st.composite
def along_axis(draw, function, is_new=False):
    """Calls `function` with an axis of the argument, or with one that it may get."""
    x = draw(blocks(shape=draw(st.lists(st.integers(0, 3), min_size=not is_new, max_size=3))))
    rank = x.ndim - 1 + is_new
    axis = draw(st.integers(-rank, rank - 1))
    return Case(lambda e: function(e["x"], axis), {"x": x})


@st.composite
def squeezes(draw):
    sizes = draw(st.lists(st.sampled_from([1, 1, 2, 3]), max_size=3))
    ones = [axis for axis, size in enumerate(sizes) if size == 1]
    axes = draw(st.sampled_from([None, *ones, *[axis - len(sizes) for axis in ones]]))
    return Case(lambda e: ops.squeeze(e["x"], axes), {"x": draw(blocks(shape=tuple(sizes)))})


@st.composite
def transposes(draw):
    x = draw(blocks())
    order = draw(st.permutations(range(x.ndim - 1)))
    return Case(lambda e: ops.transpose(e["x"], order), {"x": x})


@st.composite
def slices(draw):
    x = draw(blocks())
    begin = [draw(st.integers(0, size)) for size in x.shape[1:]]
    pairs = zip(x.shape[1:], begin, strict=True)
    sizes = [draw(st.sampled_from([-1, 0, size - first])) for size, first in pairs]
    return Case(lambda e: ops.slice(e["x"], begin, sizes), {"x": x})


@st.composite
def strided_slices(draw):
    x = draw(blocks(shape=draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))))
    parts = st.sampled_from([0, -1, ..., None, slice(None), slice(1, None), slice(None, None, -2)])
    key = draw(st.lists(parts, min_size=1, max_size=3).filter(lambda key: key.count(...) < 2))
    assume(sum(part not in (..., None) for part in key) < x.ndim)
    return Case(lambda e: e["x"][tuple(key)], {"x": x})


@st.composite
def ensured(draw):
    x = draw(blocks())
    shape = [draw(st.sampled_from([size, size, None, 7])) for size in x.shape[1:]]
    return Case(lambda e: ops.ensure_shape(e["x"], shape), {"x": x})


@st.composite
def pictures(draw):
    x = draw(blocks(["uint8", "float32"], shape=(*draw(shapes)[:2], 2)))
    layout = draw(st.sampled_from(["CHW", "HWC"]))
    return Case(lambda e: ops.normalize(e["x"], (0.5, 0), (2, 3), layout), {"x": x})


@st.composite
def gathers(draw):
    table = draw(blocks(shape=draw(st.lists(st.integers(0, 3), max_size=2)), count=4))
    x = draw(blocks(["int32", "int64"], values=[0, 1, 2, 3, 3, 9]))
    return Case(lambda e: ops.gather(table, e["x"]), {"x": x})


@st.composite
def gathers_along_axis(draw):
    x = draw(blocks(shape=draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))))
    positions = draw(st.lists(st.integers(0, 2), max_size=4))
    axis = draw(st.integers(1 - x.ndim, x.ndim - 2))
    return Case(lambda e: ops.gather(e["x"], np.array(positions, int), axis), {"x": x})


@st.composite
def joins(draw):
    """Returns joins of two tensors that differ between rows and one that does not."""
    count, shape = draw(st.integers(1, 5)), draw(shapes)
    a, b = (draw(blocks(["bytes"], shape, TEXTS, count)) for _ in "ab")
    return Case(lambda e: ops.string_join([e["a"], "x", e["b"]], ", "), {"a": a, "b": b})


@st.composite
def sums(draw):
    count, shape, dtype = draw(st.integers(1, 5)), draw(shapes), draw(st.sampled_from(REALS))
    a, b = (draw(blocks([dtype], shape, count=count)) for _ in "ab")
    return Case(lambda e: ops.add_n([e["a"], e["b"], e["a"]]), {"a": a, "b": b})


@st.composite
def lines(draw):
    texts = [b"1,a", b"2,", b",b", b"x,y", b"7,b,c", b'3,"d,e"']
    x = draw(blocks(["bytes"], (), texts))
    column = draw(st.integers(0, 1))
    return Case(lambda e: ops.decode_csv(e["x"], [[5], ["none"]])[column], {"x": x})


@st.composite
def reductions(draw, function, dtypes=REALS):
    x = draw(blocks(dtypes))
    rank = x.ndim - 1
    axes = draw(st.lists(st.integers(0, max(rank - 1, 0)), unique=True, max_size=rank))
    axes = [axis - rank if draw(st.booleans()) else axis for axis in axes]
    keepdims = draw(st.booleans())
    return Case(lambda e: function(e["x"], axes, keepdims), {"x": x})


@st.composite
def selections(draw):
    count, shape = draw(st.integers(1, 5)), draw(shapes)
    dtype = draw(st.sampled_from([*REALS, "bytes"]))
    values = TEXTS if dtype == "bytes" else NUMBERS
    x, y = (draw(blocks([dtype], shape, values, count)) for _ in "xy")
    condition = draw(blocks(["bool"], draw(st.sampled_from([(), shape])), count=count))
    arguments = {"condition": condition, "x": x, "y": y}
    return Case(lambda e: ops.where(e["condition"], e["x"], e["y"]), arguments)


@st.composite
def one_hots(draw):
    x = draw(blocks(["uint8", "int32", "int64"], values=[0, 1, 2, 7, -1]))
    axis, depth = draw(st.integers(-1, x.ndim)), draw(st.integers(0, 3))
    on, off = draw(st.sampled_from([(None, None), (5, -1), (True, False), ("yes", "no")]))
    return Case(lambda e: ops.one_hot(e["x"], depth, on, off, axis), {"x": x})


@st.composite
def pads(draw, mode="CONSTANT", value=0):
    is_text = value == 0 and draw(st.booleans())
    x = draw(blocks(["bytes"], values=TEXTS) if is_text else blocks())
    amounts = [[draw(st.integers(0, 2)), draw(st.integers(0, 2))] for _ in x.shape[1:]]
    amounts = np.array(amounts, draw(st.sampled_from(["int32", "int64"]))).reshape(-1, 2)
    constant = value and x.dtype.type(value)
    return Case(lambda e: ops.pad(e["x"], amounts, mode, constant), {"x": x})


@st.composite
def tiles(draw):
    x = draw(st.one_of(blocks(), blocks(["bytes"], values=TEXTS)))
    times = np.array([draw(st.integers(0, 3)) for _ in x.shape[1:]], "int32")
    return Case(lambda e: ops.tile(e["x"], times), {"x": x})


@st.composite
def reverses(draw):
    x = draw(st.one_of(blocks(), blocks(["bytes"], values=TEXTS)))
    rank = x.ndim - 1
    axes = draw(st.lists(st.integers(0, max(rank - 1, 0)), unique=True, max_size=rank))
    axes = [axis - rank if draw(st.booleans()) else axis for axis in axes]
    return Case(lambda e: ops.reverse(e["x"], np.array(axes, "int32")), {"x": x})


@st.composite
def splits(draw, is_by_sizes):
    sizes = draw(st.lists(st.integers(0, 2), min_size=1, max_size=3))
    if not is_by_sizes:
        sizes = sizes[:1] * len(sizes)
    shape = draw(st.lists(st.integers(0, 2), max_size=2))
    position = draw(st.integers(0, len(shape)))
    x = draw(blocks(shape=(*shape[:position], sum(sizes), *shape[position:])))
    axis = position - len(shape) - 1 if draw(st.booleans()) else position
    part = draw(st.integers(0, len(sizes) - 1))
    if is_by_sizes and draw(st.booleans()):
        sizes[part] = -1
    expected = sizes if is_by_sizes else len(sizes)
    return Case(lambda e: ops.split(e["x"], expected, axis)[part], {"x": x})


@st.composite
def unstacks(draw):
    x = draw(blocks(shape=draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))))
    axis = draw(st.integers(1 - x.ndim, x.ndim - 2))
    count = x.shape[1:][axis]
    return Case(lambda e: ops.unstack(e["x"], count, axis)[-1], {"x": x})


@st.composite
def substrings(draw):
    """Returns substrings, of strings and positions that differ between rows or are all the same."""
    count, shape = draw(st.integers(1, 5)), draw(shapes)
    partner = tuple(draw(st.sampled_from([size, 1])) for size in shape[draw(st.integers(0, 3)) :])
    x = draw(blocks(["bytes"], shape, TEXTS, count))
    begins, lengths = (draw(blocks(["int32"], partner, [0, 0, 1, -1], count)) for _ in "bl")
    match draw(st.integers(0, 3)):
        case 0:
            return Case(lambda e: ops.substr(e["x"], begins[0], lengths[0]), {"x": x})
        case 1:
            arguments = {"begins": begins, "lengths": lengths}
            return Case(lambda e: ops.substr(x[0], e["begins"], e["lengths"]), arguments)
        case 2:
            arguments = {"x": x, "begins": begins}
            return Case(lambda e: ops.substr(e["x"], e["begins"], lengths[0]), arguments)
    arguments = {"x": x, "begins": begins, "lengths": lengths}
    return Case(lambda e: ops.substr(e["x"], e["begins"], e["lengths"], "UTF8_CHAR"), arguments)


def texts(function):
    return unary(function, ["bytes"], TEXTS)


CASES: dict[str, Any] = {
    "Abs": unary(abs, [dtype for dtype in REALS if not dtype.startswith("u")]),
    "Acos": unary(ops.acos, FLOATS),
    "Add": binary(ops.add),
    "AddN": sums(),
    "All": reductions(ops.reduce_all, ["bool"]),
    "Any": reductions(ops.reduce_any, ["bool"]),
    "ArgMax": along_axis(ops.argmax),
    "ArgMin": along_axis(lambda x, axis: ops.argmin(x, axis, "int32")),
    "Asin": unary(ops.asin, FLOATS),
    "Atan": unary(ops.atan, FLOATS),
    "Atan2": binary(ops.atan2, FLOATS),
    "Cast": casts(),
    "Ceil": unary(ops.ceil, FLOATS),
    "ConcatV2": along_axis(lambda x, axis: ops.concat([x, x], axis)),
    "Cos": unary(ops.cos, FLOATS),
    "Cosh": unary(ops.cosh, FLOATS),
    "Cumprod": along_axis(lambda x, axis: ops.cumprod(x, axis, exclusive=True)),
    "Cumsum": along_axis(lambda x, axis: ops.cumsum(x, axis, reverse=True)),
    "DecodeCSV": lines(),
    "DecodeRaw": texts(lambda x: ops.decode_raw(x, "uint8")),
    "DivNoNan": binary(ops.div_no_nan, FLOATS),
    "EnsureShape": ensured(),
    "Equal": binary(ops.equal),
    "Exp": unary(ops.exp, FLOATS),
    "ExpandDims": along_axis(ops.expand_dims, is_new=True),
    "Expm1": unary(ops.expm1, FLOATS),
    "Floor": unary(ops.floor, FLOATS),
    "FloorDiv": binary(ops.floordiv),
    "FloorMod": binary(ops.floormod),
    "GatherV2": st.one_of(gathers(), gathers_along_axis()),
    "Greater": binary(ops.greater),
    "GreaterEqual": binary(ops.greater_equal),
    "Identity": unary(ops.identity),
    "IsFinite": unary(ops.is_finite, FLOATS),
    "IsInf": unary(ops.is_inf, FLOATS),
    "IsNan": unary(ops.is_nan, FLOATS),
    "Less": binary(ops.less),
    "LessEqual": binary(ops.less_equal),
    "Log": unary(ops.log, FLOATS),
    "Log1p": unary(ops.log1p, FLOATS),
    "LogicalAnd": binary(ops.logical_and, ["bool"]),
    "LogicalNot": unary(ops.logical_not, ["bool"]),
    "LogicalOr": binary(ops.logical_or, ["bool"]),
    "Max": reductions(ops.reduce_max),
    "Maximum": binary(ops.maximum),
    "Mean": reductions(ops.reduce_mean),
    "Min": reductions(ops.reduce_min),
    "Minimum": binary(ops.minimum),
    "MirrorPad": st.one_of(pads("REFLECT"), pads("SYMMETRIC")),
    "Mul": binary(ops.multiply),
    "Neg": unary(ops.negative, [dtype for dtype in REALS if not dtype.startswith("u")]),
    "NormalizeImage": pictures(),
    "NotEqual": binary(ops.not_equal),
    "OneHot": one_hots(),
    "Pack": along_axis(lambda x, axis: ops.stack([x, x], axis), is_new=True),
    "Pad": pads(),
    "PadV2": pads(value=7),
    "Pow": binary(ops.pow, FLOATS),
    "Prod": reductions(ops.reduce_prod),
    "RealDiv": binary(ops.realdiv, FLOATS),
    "Reciprocal": unary(ops.reciprocal, FLOATS),
    "RegexFullMatch": texts(lambda x: ops.regex_full_match(x, ops.identity("[0-9]+"))),
    "RegexReplace": texts(lambda x: ops.regex_replace(x, ops.identity("[0-9]"), "n")),
    "Relu": unary(ops.relu),
    "Reshape": reshapes(),
    "ReverseV2": reverses(),
    "Rint": unary(ops.rint, FLOATS),
    "Roll": along_axis(lambda x, axis: ops.roll(x, 2, axis)),
    "Round": unary(ops.round, FLOATS),
    "Rsqrt": unary(ops.rsqrt, FLOATS),
    "Select": selections(),
    "Sigmoid": unary(ops.sigmoid, FLOATS),
    "Sign": unary(ops.sign, [*FLOATS, "int8", "int32", "int64"]),
    "Sin": unary(ops.sin, FLOATS),
    "Sinh": unary(ops.sinh, FLOATS),
    "Slice": slices(),
    "Split": splits(is_by_sizes=False),
    "SplitV": splits(is_by_sizes=True),
    "Sqrt": unary(ops.sqrt, FLOATS),
    "Square": unary(ops.square),
    "SquaredDifference": binary(ops.squared_difference, [*FLOATS, "int32", "int64"]),
    "Squeeze": squeezes(),
    "StaticRegexFullMatch": texts(lambda x: ops.regex_full_match(x, "[0-9]+")),
    "StaticRegexReplace": texts(lambda x: ops.regex_replace(x, "[0-9]", "n")),
    "StopGradient": unary(ops.stop_gradient),
    "StridedSlice": strided_slices(),
    "StringJoin": joins(),
    "StringLength": texts(ops.string_length),
    "StringLower": texts(ops.string_lower),
    "StringStrip": texts(ops.string_strip),
    "DecodeBase64": texts(lambda x: ops.decode_base64(ops.encode_base64(x))),
    "EncodeBase64": texts(ops.encode_base64),
    "StringToHashBucket": texts(lambda x: ops.string_to_hash_bucket(x, 10)),
    "StringToHashBucketStrong": texts(lambda x: ops.string_to_hash_bucket_strong(x, 10, [1, 2])),
    "StringToHashBucketFast": texts(lambda x: ops.string_to_hash_bucket_fast(x, 10)),
    "StringToNumber": texts(lambda x: ops.string_to_number(x, "int32")),
    "StringUpper": texts(lambda x: ops.string_upper(x, "utf-8")),
    "Sub": binary(ops.subtract),
    "Substr": substrings(),
    "Sum": reductions(ops.reduce_sum),
    "Tan": unary(ops.tan, FLOATS),
    "Tanh": unary(ops.tanh, FLOATS),
    "Tile": tiles(),
    "Transpose": transposes(),
    "Unpack": unstacks(),
    "ZerosLike": unary(ops.zeros_like, [*REALS, "bool"]),
}


def run(program, feeds):
    """The fetches of a program, or the error of an operation."""
    cancellation = engine.Cancellation(lambda names: None, 60.0)
    try:
        return engine.call_functions(program.run(feeds, cancellation))
    except engine.EngineError as error:
        return error


def spec_of(array, is_shape_known):
    shape = array.shape[1:] if is_shape_known else (None,) * (array.ndim - 1)
    return Spec(bytes if array.dtype == object else array.dtype, shape)


def same_bits(one, other):
    one, other = np.asarray(one), np.asarray(other)
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    return np.array_equal(one, other) if one.dtype == object else one.tobytes() == other.tobytes()


def test_every_batch_rule_has_a_case():
    # The modules of operations are imported when they are first used.
    for name in ops.__all__:
        getattr(ops, name)
    assert {name for name, output in _definitions.items() if output.batch_rule} == set(CASES)


@pytest.mark.parametrize("op_type", sorted(CASES))
@given(data=st.data(), is_shape_known=st.booleans())
def test_batch_rule_matches_row_by_row_execution(op_type, data, is_shape_known):
    case = data.draw(CASES[op_type])
    specs = {name: spec_of(rows, is_shape_known) for name, rows in case.arguments.items()}
    try:
        function = compiled(trace("call", case.function, "f", specs))
    except (TypeError, ValueError):  # It fails before it runs.
        assume(False)
    blocks = [case.arguments[name] for name in function.feeds]
    types = [tensor.dtype for tensor in function.feeds.values()]
    rows = [
        run(function.program, list(map(as_array, row, types))) for row in zip(*blocks, strict=True)
    ]
    assume(function.segments.parts)
    (segment,) = function.segments.parts
    assert not segment.is_looped
    values = run(segment.program, [blocks[number] for number in segment.inputs])
    has_failed = any(isinstance(row, engine.EngineError) for row in rows)
    is_even = not has_failed and len({np.shape(row[0]) for row in rows}) == 1
    # For rows of different shapes, the stage runs row by row.
    assert isinstance(values, engine.EngineError) != is_even
    if is_even:
        assert len(values[0]) == len(rows)
        assert all(same_bits(values[0][index], row[0]) for index, row in enumerate(rows))
