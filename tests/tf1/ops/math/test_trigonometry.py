import math

import numpy as np
import pytest

import headrace.tf1 as tf

X = np.array([-0.5, 0.0, 0.25, 0.75])


@pytest.mark.parametrize(
    ("function", "op_type", "reference"),
    [
        (tf.sin, "Sin", np.sin),
        (tf.cos, "Cos", np.cos),
        (tf.tan, "Tan", np.tan),
        (tf.asin, "Asin", np.arcsin),
        (tf.acos, "Acos", np.arccos),
        (tf.atan, "Atan", np.arctan),
        (tf.sinh, "Sinh", np.sinh),
        (tf.cosh, "Cosh", np.cosh),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
def test_trigonometric_functions_match_numpy(run, function, op_type, reference, dtype):
    result = function(tf.constant(X.astype(dtype)))
    assert (result.op.name, result.op.type, result.shape) == (op_type, op_type, [4])
    np.testing.assert_allclose(run(result), reference(X.astype(dtype)), rtol=1e-6)


def test_atan2_returns_the_angle_of_a_point(run):
    assert run(tf.atan2([1.0, -1.0], [0.0, 0.0])).tolist() == pytest.approx(
        [math.pi / 2, -math.pi / 2]
    )
    with pytest.raises(TypeError, match="'y' has DataType int32 not in list of allowed values"):
        tf.atan2(1, 2)
