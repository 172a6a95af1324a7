import re
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.calls import TIMEOUT

import headrace.tf1 as tf
from headrace.ops.framework import conversion
from headrace.ops.framework.conversion import convert_n_to_tensor
from headrace.ops.framework.values import make_array
from headrace.ops.sparse.tensor import SparseTensor, convert_to_tensor_or_sparse_tensor


def names():
    return [op.name for op in tf.get_default_graph().get_operations()]


class TestConstant:
    @pytest.mark.parametrize(
        ("value", "dtype", "shape"),
        [
            (1, tf.int32, ()),
            (2**40, tf.int64, ()),
            (2**63, tf.uint64, ()),
            (1.5, tf.float32, ()),
            (True, tf.bool, ()),
            ("a", tf.string, ()),
            (b"a", tf.string, ()),
            (1 + 2j, tf.complex128, ()),
            ([1, 2.5], tf.float32, (2,)),
            ([True, 2], tf.int32, (2,)),
            ([[1, 2], [3, 4]], tf.int32, (2, 2)),
            (([1], (2,)), tf.int32, (2, 1)),
            ([], tf.float32, (0,)),
            ([[], []], tf.float32, (2, 0)),
            (range(3), tf.int32, (3,)),
            (np.float64(1), tf.float64, ()),
            (np.int64(1), tf.int64, ()),
            ([np.float64(1)], tf.float32, (1,)),
            ([np.int64(1)], tf.int32, (1,)),
            (np.array([1, 2]), tf.int64, (2,)),
            (np.array(["a", "b"]), tf.string, (2,)),
            ([np.array([1, 2]), np.array([3, 4])], tf.int64, (2, 2)),
            (tf.TensorShape([1, 2]), tf.int32, (2,)),
            ([tf.Dimension(3), 2], tf.int32, (2,)),
        ],
    )
    def test_constant_infers_type_and_shape(self, value, dtype, shape):
        tensor = tf.constant(value)
        assert tensor.dtype == dtype
        assert tensor.shape == shape
        assert tensor.op.type == "Const"
        assert tensor.op.attrs["value"].shape == shape

    def test_constant_holds_a_read_only_copy(self, run):
        value = np.array([1, 2])
        tensor = tf.constant(value)
        value[0] = 7
        assert run(tensor).tolist() == [1, 2]
        assert not tensor.op.attrs["value"].flags.writeable

    def test_strings_are_encoded(self, run):
        assert run(tf.constant("é")) == "é".encode()
        assert run(tf.constant(["a", b"b\0c"])).tolist() == [b"a", b"b\0c"]

    @pytest.mark.parametrize(
        ("value", "dtype", "expected"),
        [
            (3, tf.float32, 3.0),
            (True, tf.int32, 1),
            (3, tf.complex64, 3 + 0j),
            (np.array([1.9]), tf.int32, [1]),
            (np.array([1, 2]), tf.float64, [1.0, 2.0]),
            ([np.array([1, 2])], tf.float32, [[1.0, 2.0]]),
        ],
    )
    def test_constant_has_the_requested_type(self, run, value, dtype, expected):
        tensor = tf.constant(value, dtype)
        assert tensor.dtype == dtype
        assert np.array_equal(run(tensor), expected)

    @pytest.mark.parametrize(
        ("value", "dtype", "words"),
        [
            (1.5, tf.int32, "Expected int32, got 1.5 of type 'float' instead."),
            ([1, 2.5], tf.int32, "Expected int32, got 2.5 of type 'float' instead."),
            ("a", tf.int32, "Expected int32, got 'a' of type 'str' instead."),
            (1, tf.string, "Expected string, got 1 of type 'int' instead."),
            (1, tf.bool, "Expected bool, got 1 of type 'int' instead."),
            ([1, None], tf.int32, "Expected int32, got None of type 'NoneType' instead."),
            (2**40, tf.int32, "Expected int32, got 1099511627776 of type 'int' instead."),
            (-1, tf.uint8, "Expected uint8, got -1 of type 'int' instead."),
            (np.array(["1"]), tf.int32, "Expected int32, got '1' of type"),
        ],
    )
    def test_constant_rejects_elements_of_the_wrong_type(self, value, dtype, words):
        with pytest.raises(TypeError, match=re.escape(words)):
            tf.constant(value, dtype)

    @pytest.mark.parametrize(
        ("value", "kind"),
        [
            ([1, None], "list"),
            (["a", 1], "list"),
            (object(), "object"),
            ({}, "dict"),
            ({1, 2}, "set"),
            (2**70, "int"),
            (np.array([b"a", None], dtype=object), "numpy.ndarray"),
        ],
    )
    def test_constant_rejects_unsupported_objects(self, value, kind):
        words = f"Failed to convert object of type <class '{kind}'> to Tensor. Contents: "
        with pytest.raises(TypeError, match=re.escape(words)):
            tf.constant(value)

    def test_constant_rejects_none_and_tensors(self):
        with pytest.raises(ValueError, match=r"None values not supported\."):
            tf.constant(None)
        with pytest.raises(TypeError, match="List of Tensors when single Tensor expected"):
            tf.constant([tf.placeholder(tf.int32)])
        with pytest.raises(TypeError, match="List of Tensors when single Tensor expected"):
            tf.constant(tf.placeholder(tf.int32))

    @pytest.mark.parametrize("value", [[[1, 2], [3]], [[1], 2], [1, [2]]])
    def test_constant_rejects_ragged_rows(self, value):
        words = f"Argument must be a dense tensor: {value} - got shape"
        with pytest.raises(ValueError, match=re.escape(words)):
            tf.constant(value)

    def test_constant_fills_a_shape_with_the_last_element(self, run):
        assert run(tf.constant([1, 2], shape=[2, 2])).tolist() == [[1, 2], [2, 2]]
        assert run(tf.constant("a", shape=[2])).tolist() == [b"a", b"a"]
        assert run(tf.constant([], shape=[2])).tolist() == [0, 0]
        assert run(tf.constant(7, shape=[0, 3])).shape == (0, 3)
        words = "Too many elements provided. Needed at most 2, but received 3"
        with pytest.raises(ValueError, match=re.escape(words)):
            tf.constant([1, 2, 3], shape=[2])

    def test_constant_can_verify_the_shape(self):
        assert tf.constant([1, 2], shape=[2], verify_shape=True).shape == [2]
        with pytest.raises(TypeError, match=re.escape("Expected Tensor's shape: (2,), got ().")):
            tf.constant(1, shape=[2], verify_shape=True)

    def test_constants_are_named_const(self):
        tf.constant(1)
        tf.constant(2)
        tf.constant(3, name="three")
        assert names() == ["Const", "Const_1", "three"]

    @given(
        hnp.arrays(st.sampled_from([np.int8, np.uint16, np.int64, np.float32, np.bool_]), (2, 3))
    )
    def test_list_of_array_elements_yields_the_same_values(self, array):
        from_list, dtype = make_array(array.tolist(), tf.as_dtype(array.dtype))
        assert dtype == array.dtype
        assert np.array_equal(from_list, array, equal_nan=array.dtype.kind == "f")


class TestConvertToTensor:
    def test_convert_to_tensor_returns_a_tensor_unchanged(self):
        x = tf.placeholder(tf.int32)
        assert tf.convert_to_tensor(x) is x
        assert tf.convert_to_tensor(x, tf.int32) is x

    def test_convert_to_tensor_rejects_a_tensor_of_a_different_type(self):
        x = tf.placeholder(tf.int32, name="x")
        words = "Tensor conversion requested dtype float32 for Tensor with dtype int32: <tf.Tensor"
        with pytest.raises(ValueError, match=words):
            tf.convert_to_tensor(x, tf.float32)

    def test_preferred_dtype_is_only_a_hint(self):
        assert tf.convert_to_tensor(1, preferred_dtype=tf.float32).dtype == tf.float32
        assert tf.convert_to_tensor(1.5, preferred_dtype=tf.int32).dtype == tf.float32
        assert tf.convert_to_tensor(1, dtype_hint=tf.int64).dtype == tf.int64

    def test_lists_containing_tensors_are_packed(self, run):
        x = tf.constant(7, name="x")
        assert run(tf.convert_to_tensor([[x, 1], [2, x]], name="p")).tolist() == [[7, 1], [2, 7]]
        assert names() == ["x", "p/0/1", "p/0", "p/1/0", "p/1", "p"]

    def test_packed_tensors_are_cast_to_the_requested_type(self, run):
        packed = tf.convert_to_tensor([tf.constant(7), 1.5], tf.float32)
        assert packed.op.name == "packed"
        assert run(packed).tolist() == [7.0, 1.5]

    def test_packing_different_types_is_rejected(self):
        x, y = tf.constant(1), tf.constant(1.5)
        with pytest.raises(TypeError, match=r"Expected int32, got 1.5 of type 'float' instead"):
            tf.convert_to_tensor([x, 1.5])
        with pytest.raises(TypeError, match="Cannot convert a list containing a tensor of dtype"):
            tf.convert_to_tensor([x, y])

    def test_shapes_and_dimensions_can_be_converted(self, run):
        assert run(tf.convert_to_tensor(tf.TensorShape([2, 3]))).tolist() == [2, 3]
        assert run(tf.convert_to_tensor(tf.Dimension(2))) == 2
        assert tf.convert_to_tensor(tf.TensorShape([2**40])).dtype == tf.int64
        assert tf.convert_to_tensor(tf.TensorShape([2]), tf.int64).dtype == tf.int64
        with pytest.raises(ValueError, match="Cannot convert a partially known TensorShape to a"):
            tf.convert_to_tensor(tf.TensorShape([None]))
        with pytest.raises(ValueError, match="Cannot convert an unknown Dimension to a Tensor"):
            tf.convert_to_tensor(tf.Dimension(None))
        with pytest.raises(TypeError, match="Cannot convert a TensorShape to dtype: <dtype: 'fl"):
            tf.convert_to_tensor(tf.TensorShape([2]), tf.float32)
        with pytest.raises(ValueError, match="a dimension is too large"):
            tf.convert_to_tensor(tf.TensorShape([2**40]), tf.int32)

    def test_operations_and_sparse_tensors_cannot_be_converted(self):
        with pytest.raises(TypeError, match="Can't convert Operation 'x' to Tensor"):
            tf.convert_to_tensor(tf.no_op(name="x"))
        with pytest.raises(TypeError, match=r"Failed to convert object of type .*SparseTensor"):
            tf.convert_to_tensor(tf.SparseTensor([[0]], [1], [2]))

    def test_several_converted_values_are_numbered(self):
        convert_n_to_tensor([1, 2], name="v")
        assert names() == ["v_0", "v_1"]

    def test_custom_classes_can_be_registered(self, run):
        class Celsius:
            degrees = 20

        def convert(value, dtype=None, name=None, as_ref=False):
            if dtype == tf.string:
                return NotImplemented
            return tf.constant(value.degrees, dtype, name=name or "celsius")

        tf.register_tensor_conversion_function(Celsius, convert)
        assert run(tf.convert_to_tensor(Celsius())) == 20
        assert run(tf.add(1.5, Celsius())) == 21.5
        with pytest.raises(TypeError, match=r"Expected string, got .* of type 'Celsius' instead"):
            tf.convert_to_tensor(Celsius(), tf.string)

    def test_register_tensor_conversion_function_rejects_invalid_arguments(self):
        with pytest.raises(TypeError, match="base_type must be a type or a tuple of types"):
            tf.register_tensor_conversion_function("int", int)
        with pytest.raises(TypeError, match="conversion_func must be callable"):
            tf.register_tensor_conversion_function(int, 3)

    def test_concurrent_registrations_are_all_kept(self, monkeypatch):
        monkeypatch.setattr(conversion, "_registry", ())
        together = threading.Barrier(4)

        def register(number):
            together.wait(timeout=TIMEOUT)
            for priority in range(100):
                tf.register_tensor_conversion_function(int, lambda *_: None, 4 * priority + number)

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(register, range(4), timeout=TIMEOUT))
        assert [priority for priority, *_ in conversion._registry] == list(range(400))

    def test_conversion_function_must_return_the_requested_dtype(self):
        class Liar:
            pass

        tf.register_tensor_conversion_function(
            Liar, lambda value, dtype=None, name=None, as_ref=False: tf.constant(1)
        )
        with pytest.raises(RuntimeError, match="returned incompatible dtype: requested = float32"):
            tf.convert_to_tensor(Liar(), tf.float32)


def test_sparse_value_becomes_a_sparse_tensor():
    value = tf.SparseTensorValue([[0, 1]], [5], [3, 4])
    assert isinstance(convert_to_tensor_or_sparse_tensor(value), SparseTensor)
    assert isinstance(convert_to_tensor_or_sparse_tensor(3), tf.Tensor)
    with pytest.raises(RuntimeError, match="Sparse dtype: requested = float32, actual = int32"):
        convert_to_tensor_or_sparse_tensor(value, tf.float32)
