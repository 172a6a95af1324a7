"""The description of an operation, in the form that TensorFlow programs read."""

import subprocess
import sys

import numpy as np
import pytest

import headrace.tf1 as tf


def attr(op, name):
    """The field that an attribute is in, and its value."""
    message = op.node_def.attr[name]
    field = message.WhichOneof("value")
    return field, getattr(message, field)


def numbers(op, name, field):
    return list(getattr(op.node_def.attr[name].list, field))


class TestNodeDef:
    def test_node_def_has_names_as_text(self):
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        parts = tf.split(x, 2, 1, name="parts")
        with tf.control_dependencies([tf.no_op(name="first")]):
            same = tf.identity(x)
        node = tf.add(parts[0], parts[1], name="sum").op.node_def
        assert (node.name, node.op, node.device) == ("sum", "Add", "")
        assert list(node.input) == ["parts", "parts:1"]
        assert list(parts[0].op.node_def.input) == ["parts/split_dim", "x"]
        assert list(same.op.node_def.input) == ["x", "^first"]

    def test_node_def_has_attributes_as_messages(self):
        x = tf.placeholder(tf.float32, [None, 2])
        assert attr(x.op, "dtype") == ("type", 1)
        _, shape = attr(x.op, "shape")
        assert [dim.size for dim in shape.dim] == [-1, 2]
        assert attr(tf.placeholder(tf.int64).op, "shape")[1].unknown_rank
        assert attr(tf.concat([x, x], 0).op, "N") == ("i", 2)
        assert attr(tf.decode_raw("", tf.uint8).op, "little_endian") == ("b", True)
        jpeg = tf.image.decode_jpeg("", acceptable_fraction=0.5).op
        assert attr(jpeg, "acceptable_fraction") == ("f", 0.5)
        csv = tf.decode_csv("1;a", [[1], [""]], field_delim=b";")[0].op
        assert attr(csv, "field_delim") == ("s", b";")
        assert numbers(csv, "OUT_TYPE", "type") == [3, 7]

    @pytest.mark.parametrize(
        ("value", "field", "expected"),
        [
            (1.5, "float_val", [1.5]),
            (np.float64(0.1), "double_val", [0.1]),
            (7, "int_val", [7]),
            (np.uint8(7), "int_val", [7]),
            (np.int64(-7), "int64_val", [-7]),
            (np.uint32(7), "uint32_val", [7]),
            (np.uint64(2**63), "uint64_val", [2**63]),
            (True, "bool_val", [True]),
            (np.float16(1), "half_val", [0x3C00]),
            (np.complex64(1 + 2j), "scomplex_val", [1.0, 2.0]),
            (np.complex128(1 + 2j), "dcomplex_val", [1.0, 2.0]),
            (["a", b"\xff"], "string_val", [b"a", b"\xff"]),
            ([1, 2], "tensor_content", np.array([1, 2], np.int32).tobytes()),
        ],
    )
    def test_node_def_encodes_constants_like_tensorflow(self, value, field, expected):
        tensor = tf.constant(value)
        message = tensor.op.get_attr("value")
        assert message == attr(tensor.op, "value")[1]
        assert message.dtype == tensor.dtype.as_datatype_enum
        result = getattr(message, field)
        assert (result if isinstance(result, bytes) else list(result)) == expected

    def test_node_def_of_a_queue_includes_its_constructor_arguments(self):
        queue = tf.FIFOQueue(3, [tf.int32, tf.string], [[2], []], shared_name=b"s", name="q")
        op = queue.queue_ref.op
        assert attr(op, "capacity") == ("i", 3)
        assert attr(op, "shared_name") == ("s", b"s")
        assert attr(op, "container") == ("s", b"")
        assert numbers(op, "component_types", "type") == [3, 7]
        assert [len(shape.dim) for shape in numbers(op, "shapes", "shape")] == [1, 0]
        assert op.node_def.device == "/device:CPU:*"
        enqueue, dequeue = queue.enqueue([[1, 2], "a"]), queue.dequeue_many(2)[0].op
        assert numbers(enqueue, "Tcomponents", "type") == [3, 7]
        assert numbers(dequeue, "component_types", "type") == [3, 7]
        assert attr(enqueue, "timeout_ms") == attr(dequeue, "timeout_ms") == ("i", -1)

    def test_node_def_of_a_python_function_includes_its_types(self):
        op = tf.py_func(lambda x: x, [tf.constant("a")], [tf.string])[0].op
        assert numbers(op, "Tin", "type") == numbers(op, "Tout", "type") == [7]
        assert "python_function" not in op.node_def.attr

    def test_node_def_is_a_copy(self):
        op = tf.constant([1, 2], name="c").op
        node = op.node_def
        node.name, node.device = "other", "/cpu:7"
        node.attr["value"].Clear()
        assert op.node_def.name == "c"
        assert op.node_def.device == ""
        assert op.node_def.attr["value"].tensor.tensor_content
        tf.get_default_graph().as_graph_def().node[0].name = "other"
        assert tf.get_default_graph().get_operation_by_name("c") is op

    def test_node_def_is_printed_like_tensorflow(self):
        x = tf.placeholder(tf.float32, [3], name="x")
        lines = str(x.op).split()
        assert lines == str(x.op.node_def).split()
        assert lines[:4] == ["name:", '"x"', "op:", '"Placeholder"']
        assert "DT_FLOAT" in lines

    def test_graph_def_round_trips_through_bytes(self):
        tf.add(tf.constant([1, 2]), 3)
        graph_def = tf.get_default_graph().as_graph_def(add_shapes=True)
        again = tf.GraphDef.FromString(graph_def.SerializeToString())
        assert again == graph_def
        assert graph_def.versions.producer == 134
        shape = graph_def.node[0].attr["_output_shapes"].list.shape[0]
        assert [dim.size for dim in shape.dim] == [2]
        assert isinstance(graph_def.node[0], tf.NodeDef)
        assert tf.Session().graph_def.node == tf.get_default_graph().as_graph_def().node

    def test_node_def_imports_protobuf_lazily(self):
        program = """
import sys
import headrace.tf1 as tf
op = tf.constant(1).op
with tf.Session() as session:
    session.run(op)
    try:
        session.run(tf.placeholder(tf.int32, name="p"))
    except tf.errors.InvalidArgumentError as error:
        assert not any("protobuf" in name for name in sys.modules)
        print(error.node_def.name)
"""
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
        )
        assert done.stdout == "p\n"

    def test_node_def_of_a_staging_area_includes_its_shared_name(self):
        area = tf.contrib.staging.StagingArea([tf.int32, tf.string], capacity=3)
        put, (number, _) = area.put([tf.constant(1), tf.constant("a")]), area.get()
        assert (put.node_def.op, number.op.node_def.op) == ("Stage", "Unstage")
        assert [area.size().op.type, area.clear().type] == ["StageSize", "StageClear"]
        for op in (put, number.op, area.peek(0)[0].op):
            assert attr(op, "shared_name") == ("s", b"StagingArea")
            assert attr(op, "capacity") == ("i", 3)
            assert attr(op, "memory_limit") == ("i", 0)
            assert numbers(op, "dtypes", "type") == [3, 7]


class TestGetAttr:
    def test_get_attr_returns_the_same_as_tensorflow(self):
        op = tf.FIFOQueue(3, [tf.int32], [[2]], shared_name="s").queue_ref.op
        assert op.get_attr("capacity") == 3
        assert op.get_attr("shared_name") == b"s"
        assert op.get_attr("component_types") == [tf.int32]
        assert [dim.size for dim in op.get_attr("shapes")[0].dim] == [2]
        assert tf.placeholder(tf.float32).op.get_attr("dtype") is tf.float32

    def test_get_attr_rejects_an_unknown_name(self):
        with pytest.raises(ValueError, match=r"Operation 'x' has no attr named 'nope'\."):
            tf.placeholder(tf.int32, name="x").op.get_attr("nope")


class TestByteNames:
    def test_bytes_are_valid_names(self):
        with tf.name_scope(b"scope") as scope:
            assert scope == "scope/"
            assert tf.constant(1, name=b"c").name == "scope/c:0"
        assert tf.FIFOQueue(1, tf.int32, name=b"q").name == "q"
        assert tf.get_default_graph().unique_name(b"q") == "q_1"


# A device, or devices of nested blocks, and the device of an operation inside.
DEVICES = [
    (["/cpu:0"], "/device:CPU:0"),
    (["cpu:0"], "/device:CPU:0"),
    (["cpu"], "/device:CPU:*"),
    (["/gpu:*"], "/device:GPU:*"),
    (["/device:XPU:3"], "/device:XPU:3"),
    (["/job:a/replica:0/task:1/cpu:0"], "/job:a/replica:0/task:1/device:CPU:0"),
    (["/job:a/job:b"], "/job:b"),
    ([""], ""),
    ([None], ""),
    (["/job:a", "/cpu:0"], "/job:a/device:CPU:0"),
    (["/cpu:0", "/job:a"], "/job:a/device:CPU:0"),
    (["/cpu:0", "/gpu:1"], "/device:GPU:1"),
    (["/job:a/task:1", "/job:b"], "/job:b/task:1"),
    (["/job:a/cpu:0", None, "/gpu:0"], "/device:GPU:0"),
    (["/job:a/cpu:0", ""], "/job:a/device:CPU:0"),
    ([lambda op: "/cpu:0"], "/cpu:0"),
    ([lambda op: "/gpu:0" if op.type == "Const" else "/cpu:0"], "/gpu:0"),
    (["/job:a", lambda op: "/cpu:1"], "/job:a/device:CPU:1"),
    ([lambda op: f"{op.device}/task:1", "/gpu:0"], "/device:GPU:0/task:1"),
    ([tf.DeviceSpec(job="w", task=2)], "/job:w/task:2"),
    ([lambda op: tf.DeviceSpec(device_type="CPU", device_index=1)], "/device:CPU:1"),
]


class TestDevices:
    @pytest.mark.parametrize(("devices", "expected"), DEVICES)
    def test_devices_are_kept_and_merged(self, devices, expected):
        graph = tf.get_default_graph()
        op = self.made_inside(devices)
        assert op.device == op.outputs[0].device == op.node_def.device == expected
        assert graph.as_graph_def().node[0].device == expected
        assert tf.constant(1).device == ""

    def made_inside(self, devices):
        if not devices:
            return tf.constant(1).op
        with tf.device(devices[0]):
            return self.made_inside(devices[1:])

    @pytest.mark.parametrize(
        ("device", "error", "words"),
        [
            ("/foo:1", ValueError, "Unknown attribute 'foo' is encountered while parsing"),
            ("/cpu:0/gpu:1", ValueError, "Multiple device types are not allowed"),
            ("/cpu:x", ValueError, "invalid literal for int"),
            (5, TypeError, "device is 5, expected a device string, a function or None"),
        ],
    )
    def test_invalid_device_strings_are_rejected(self, device, error, words):
        with pytest.raises(error, match=words), tf.device(device):
            pass
        assert tf.constant(1).device == ""

    @pytest.mark.parametrize("value", [None, 5])
    def test_device_function_must_return_a_string(self, value):
        with (
            tf.device(lambda op: value),
            pytest.raises(TypeError, match=f"unicode string, got {value}"),
        ):
            tf.constant(1)

    def test_device_follows_colocated_operations(self):
        with tf.device("/cpu:1"):
            first = tf.constant(1, name="first")
        with tf.colocate_with(first):
            second = tf.constant(2)
            with tf.device("/gpu:0"), tf.colocate_with(second):
                third = tf.constant(3)
            with tf.colocate_with(None, ignore_existing=True):
                apart = tf.constant(4)
        for tensor in (first, second, third):
            assert tensor.device == "/device:CPU:1"
            assert tensor.op.colocation_groups() == [b"loc:@first"]
        assert list(second.op.node_def.attr["_class"].list.s) == [b"loc:@first"]
        assert (apart.device, "_class" in apart.op.node_def.attr) == ("", False)
        with pytest.raises(ValueError, match="Trying to reset colocation"), tf.colocate_with(None):
            pass

    def test_device_of_a_variable_applies_to_its_operations(self):
        with tf.device("/cpu:1"):
            variable = tf.Variable(1, name="v")
        assigned = variable.assign(2)
        assert variable.device == variable.initializer.device == assigned.device == "/device:CPU:1"
        assert assigned.op.get_attr("_class") == [b"loc:@v"]

    def test_device_scope_belongs_to_the_thread(self, monkeypatch):
        with tf.device("/cpu:1"):
            other = tf.Graph()
            with other.as_default():
                assert tf.constant(1).device == ""


class TestContainers:
    def test_container_is_an_attribute_of_stateful_operations(self):
        with tf.container("outer"):
            queue = tf.FIFOQueue(1, tf.int32)
            with tf.container("inner"):
                variable, reader = tf.Variable(1), tf.TextLineReader()
        assert queue.queue_ref.op.get_attr("container") == b"outer"
        assert variable.op.get_attr("container") == b"inner"
        assert reader.reader_ref.op.get_attr("container") == b"inner"
        assert tf.Variable(1).op.get_attr("container") == b""

    def test_containers_separate_equal_shared_names(self):
        queues = []
        for name in ("a", "b", "a"):
            with tf.container(name):
                queues.append(tf.FIFOQueue(3, tf.int32, shared_name="q"))
        with tf.Session() as session:
            session.run(queues[0].enqueue(1))
            assert session.run([queue.size() for queue in queues]) == [1, 0, 1]

    def test_node_def_of_a_sparse_operation_has_tensorflow_attributes(self):
        sparse = tf.SparseTensor([[0, 1]], [5.0], [2, 3])
        joined = tf.sparse_concat(-1, [sparse, sparse]).values.op
        assert (joined.node_def.op, attr(joined, "N")) == ("SparseConcat", ("i", 2))
        assert (attr(joined, "concat_dim"), attr(joined, "T")) == (("i", -1), ("type", 1))
        assert sorted(joined.node_def.attr) == ["N", "T", "concat_dim"]
        pieces = tf.sparse_split(sp_input=sparse, num_split=2, axis=0)[0].values.op
        assert attr(pieces, "num_split") == ("i", 2)
        total = tf.sparse_add(sparse, sparse).values.op.node_def
        assert sorted(total.attr) == ["T", "Treal"]
        product = tf.sparse_tensor_dense_matmul(sparse, tf.zeros([2, 1]), adjoint_a=True).op
        assert attr(product, "adjoint_a") == ("b", True)
        assert sorted(product.node_def.attr) == ["T", "Tindices", "adjoint_a", "adjoint_b"]
        crossed = tf.sparse.cross_hashed([tf.SparseTensor([[0, 0]], ["a"], [1, 1])], 9).values.op
        assert numbers(crossed, "sparse_types", "type") == [7]
        assert numbers(crossed, "dense_types", "type") == []
        assert attr(crossed, "hash_key") == ("i", 956888297470)
        outputs = [
            tf.sparse_fill_empty_rows(sparse, 0.0)[1],
            tf.sparse_reduce_max_sparse(sparse, 0).values,
            tf.sparse_segment_sqrt_n([[1.0]], [0], [0], num_segments=2),
        ]
        assert [each.op.type for each in outputs] == [
            *("SparseFillEmptyRows", "SparseReduceMaxSparse", "SparseSegmentSqrtNWithNumSegments")
        ]
