"""The engine's kernels return the same bits as NumPy's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace.tf1 as tf
from headrace.graph import KernelKind

FLOATS = ["float16", "float32", "float64"]
SIGNED = [*FLOATS, "int8", "int32", "int64"]
REALS = [*SIGNED, "uint8", "uint16"]
NUMBERS = [0, -0.0, 1, 2, 3, -1, -7, 0.5, 100, 127, 6e4, 3e38, np.inf, -np.inf, np.nan]


@st.composite
def pairs(draw, dtypes):
    """Two arrays of a type and shape."""
    shape = draw(st.lists(st.integers(0, 3), max_size=3))
    count = 2 * int(np.prod(shape))
    drawn = draw(st.lists(st.sampled_from(NUMBERS), min_size=count, max_size=count))
    with np.errstate(all="ignore"):
        numbers = np.array(drawn).astype(draw(st.sampled_from(dtypes)))
    return numbers.reshape(2, *shape)


CASES = {
    "AddN": (lambda x, y, axis: tf.add_n([x, y, x]), REALS),
    "ArgMax": (lambda x, y, axis: tf.argmax(x, axis), REALS),
    "ArgMin": (lambda x, y, axis: tf.argmin(x, axis, output_type=tf.int32), REALS),
    "Cumprod": (lambda x, y, axis: tf.cumprod(x, axis, exclusive=True), REALS),
    "Cumsum": (lambda x, y, axis: tf.cumsum(x, axis, reverse=True), REALS),
    "DivNoNan": (lambda x, y, axis: tf.div_no_nan(x, y), FLOATS),
    "Relu": (lambda x, y, axis: tf.nn.relu(x), REALS),
    "Sign": (lambda x, y, axis: tf.sign(x), SIGNED),
    "SquaredDifference": (
        lambda x, y, axis: tf.squared_difference(x, y),
        [*FLOATS, "int32", "int64"],
    ),
}


def outcome(compute):
    """The type, shape and bits of the result, or the beginning of the error."""
    try:
        result = np.asarray(compute())
    except tf.errors.InvalidArgumentError as error:
        return str(error).splitlines()[0]
    nan = np.isnan(result) if result.dtype.kind == "f" else np.zeros(result.shape, bool)
    return result.dtype, result.shape, np.where(nan, 0, result).tobytes(), nan.tobytes()


@pytest.mark.parametrize("op_type", CASES)
@given(data=st.data())
def test_both_kernels_return_the_same_bits(op_type, data):
    make, dtypes = CASES[op_type]
    x, y = data.draw(pairs(dtypes))
    axis = data.draw(st.integers(-x.ndim - 1, x.ndim))
    with tf.Graph().as_default(), tf.Session() as session:
        fed = [tf.placeholder(value.dtype) for value in (x, y)]
        result = make(*fed, np.int32(axis))
        assert (result.op.type, result.op.definition.computed_by(result.op)) == (
            op_type,
            KernelKind.BY_EITHER,
        )
        values = dict(zip(fed, (x, y), strict=True))
        inputs = [session.run(tensor, values) for tensor in result.op.inputs]
        natively = outcome(lambda: session.run(result, values))
        assert natively == outcome(lambda: result.op.kernel(*inputs))
