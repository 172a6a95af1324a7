"""`tf.import_graph_def`: imported graphs compute the same as their originals."""

import numpy as np
import pytest

import headrace.tf1 as tf
from headrace.graph import defined_types, definition_of
from headrace.tf1.graph_import.makers import is_control_flow, maker_of


def exported(build):
    """The message of a graph that a function builds."""
    graph = tf.Graph()
    with graph.as_default():
        build()
    return graph.as_graph_def()


def small():
    """A placeholder, a sum with a constant, and an operation that waits for it."""
    a = tf.placeholder(tf.float32, [2], name="a")
    b = tf.add(a, 1.0, name="b")
    with tf.control_dependencies([b]):
        tf.identity(a, name="c")


def names():
    return [op.name for op in tf.get_default_graph().get_operations()]


def test_every_type_except_control_flow_can_be_imported():
    types = [name for name in defined_types() if definition_of(name).type == name]
    assert [
        name for name in types if maker_of(name, True) is None and not is_control_flow(name)
    ] == []


def test_ssim_and_padded_suppression_round_trip_with_their_attributes():
    def build():
        image = tf.reshape(tf.range(2 * 23 * 25, dtype=tf.float32), [2, 23, 25, 1]) / 1150.0
        other = tf.image.flip_up_down(image[0])
        tf.identity(tf.image.ssim(image, other, 1.0, 7, 1.0, 0.02, 0.05), name="one")
        tf.identity(tf.image.ssim_multiscale(image, other, 1.0, (0.7, 0.3)), name="two")
        boxes = tf.constant([[0.0, 0, 1, 1], [0.0, 0, 1, 1], [3.0, 3, 4, 4]])
        chosen = tf.image.non_max_suppression_padded(
            boxes, [0.5, 0.9, 0.7], 4, pad_to_max_output_size=True
        )
        tf.identity(chosen[0], name="chosen")
        tf.identity(chosen[1], name="count")

    fetches = ["one:0", "two:0", "chosen:0", "count:0"]
    values = []
    message = exported(build)
    for imported in (False, True):
        with tf.Graph().as_default(), tf.Session() as session:
            if imported:
                tf.import_graph_def(message, name="")
            else:
                build()
            values.append([value.tolist() for value in session.run(fetches)])
    for built, imported in zip(*values, strict=True):
        # Messages have the constants in single precision.
        np.testing.assert_allclose(imported, built, rtol=1e-6)
    assert values[1][2:] == [[1, 2, 0, 0], 2]


def test_unicode_decode_and_jpeg_quality_round_trip_with_their_attributes():
    def build():
        texts = tf.constant([b"a\xff\x01", "\u00e9".encode()])
        rules = {"replacement_char": 63, "replace_control_characters": True}
        points, offsets = tf.strings.unicode_decode_with_offsets(texts, "UTF-8", **rules)
        tf.identity(points.values, name="points")
        tf.identity(offsets.values, name="offsets")
        tf.identity(points.row_splits, name="splits")
        latin = tf.strings.unicode_decode([b"\xe9"], "ISO-8859-1", errors="ignore")
        tf.identity(tf.strings.unicode_encode(latin, "UTF-16-BE"), name="encoded")
        tf.identity(tf.strings.unicode_script(points.values), name="scripts")
        coded = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-32-BE", "ignore", **rules)
        tf.identity(coded, name="coded")
        image = tf.reshape(tf.range(16 * 16 * 3) % 256, [16, 16, 3])
        tf.identity(tf.image.adjust_jpeg_quality(tf.cast(image, tf.uint8), 30), name="image")

    names = ("points", "offsets", "splits", "encoded", "scripts", "coded", "image")
    message = exported(build)
    values = []
    for imported in (False, True):
        with tf.Graph().as_default(), tf.Session() as session:
            if imported:
                tf.import_graph_def(message, name="")
            else:
                build()
            values.append([v.tolist() for v in session.run([f"{name}:0" for name in names])])
    assert values[0] == values[1]
    assert values[1][:4] == [[97, 63, 63, 0xE9], [0, 1, 2, 0], [0, 3, 4], [b"\x00\xe9"]]


class TestNames:
    def test_operations_get_the_scope_import(self):
        assert tf.import_graph_def(exported(small)) is None
        assert names() == ["import/a", "import/b/y", "import/b", "import/c"]

    def test_scope_name_in_use_gets_a_number(self):
        message = exported(small)
        tf.import_graph_def(message, name="x")
        tf.import_graph_def(message, name="x")
        assert names()[4:] == ["x_1/a", "x_1/b/y", "x_1/b", "x_1/c"]

    def test_names_in_use_get_a_number_without_a_scope(self):
        message = exported(small)
        tf.import_graph_def(message, name="")
        (b,) = tf.import_graph_def(message, name="", return_elements=["b"])
        assert names()[:4] == ["a", "b/y", "b", "c"]
        assert b.name == "b_1"
        assert [tensor.op.name for tensor in b.inputs] == ["a_1", "b/y_1"]

    def test_surrounding_scope_is_prepended(self):
        with tf.name_scope("s"):
            tf.import_graph_def(exported(small), name="i")
        assert names()[0] == "s/i/a"

    def test_return_elements_are_found_by_their_original_names(self):
        tensor, op = tf.import_graph_def(exported(small), return_elements=["b:0", "c"])
        assert isinstance(tensor, tf.Tensor)
        assert tensor.name == "import/b:0"
        assert isinstance(op, tf.Operation)
        assert op.name == "import/c"
        assert op.control_inputs == [tensor.op]


class TestInputs:
    def test_input_map_replaces_tensors(self):
        ours = tf.constant([1.0, 2.0])
        (b,) = tf.import_graph_def(exported(small), {"a:0": ours}, ["b:0"])
        with tf.Session() as session:
            assert session.run(b).tolist() == [2.0, 3.0]

    def test_mapped_values_become_constants(self):
        (b,) = tf.import_graph_def(exported(small), {"a": [1.0, 2.0]}, ["b:0"])
        assert names()[0] == "import/_inputs/Const"
        with tf.Session() as session:
            assert session.run(b).tolist() == [2.0, 3.0]

    def test_mapped_values_require_a_scope(self):
        with pytest.raises(ValueError, match="requires a non-empty `name`"):
            tf.import_graph_def(exported(small), {"a": [1.0, 2.0]}, name="")

    def test_unknown_input_map_name_is_an_error(self):
        with pytest.raises(ValueError, match=r"not found in graph_def: \[q:0\]"):
            tf.import_graph_def(exported(small), {"q": tf.ones([2])})
        assert "import/a" not in names()

    def test_nodes_can_appear_in_any_order(self):
        message = exported(small)
        nodes = list(message.node)[::-1]
        del message.node[:]
        message.node.extend(nodes)
        tf.import_graph_def(message)
        assert names() == ["import/b/y", "import/a", "import/b", "import/c"]


class TestRefusals:
    """An invalid message is rejected before anything is added."""

    def refused(self, message, error, match, **arguments):
        with pytest.raises(error, match=match):
            tf.import_graph_def(message, **arguments)
        assert names() == []

    def test_invalid_messages_are_rejected(self):
        self.refused("x", TypeError, "must be a GraphDef proto")
        self.refused(exported(small), TypeError, "must be a dictionary", input_map=[1])
        self.refused(exported(small), TypeError, "must be strings", input_map={3: 1})
        self.refused(exported(small), TypeError, "list of strings", return_elements=[3])

    def test_unknown_operation_type_is_rejected(self):
        message = exported(small)
        message.node.add(name="u", op="Conv2D")
        self.refused(message, tf.errors.NotFoundError, r"'Conv2D' \(node 'u'\).*the part")

    def test_loops_are_rejected(self):
        message = exported(lambda: tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0]))
        self.refused(message, tf.errors.UnimplementedError, "loops, tensor arrays")

    def test_tensorflow_conditions_are_rejected(self):
        message = exported(small)
        message.node.add(name="s", op="Switch", input=["a", "a"])
        self.refused(message, tf.errors.UnimplementedError, "Node 's' of type Switch")

    def test_unknown_input_is_rejected(self):
        message = exported(small)
        message.node[2].input[0] = "zz"
        self.refused(message, ValueError, "Node 'b': Unknown input node 'zz'")

    def test_duplicate_names_are_rejected(self):
        message = exported(small)
        message.node.add().CopyFrom(message.node[0])
        self.refused(message, ValueError, "Node 'a' is not unique")

    def test_cycles_are_rejected(self):
        message = exported(small)
        message.node[2].input[0] = "c"
        self.refused(message, ValueError, "2 nodes form a cycle")

    def test_unknown_return_element_is_rejected(self):
        result = "Requested return node 'z' not found in graph def"
        self.refused(exported(small), ValueError, result, return_elements=["z"])

    def test_unknown_output_is_rejected(self):
        message = exported(small)
        message.node[2].input[0] = "a:4"
        with pytest.raises(ValueError, match="invalid output 4 of source node a which has 1"):
            tf.import_graph_def(message)
        with pytest.raises(ValueError, match="Invalid return output 3 of node 'b'"):
            tf.import_graph_def(exported(small), return_elements=["b:3"])

    def test_wrong_attributes_and_inputs_are_rejected(self):
        message = exported(small)
        del message.node[0].attr["dtype"]
        with pytest.raises(ValueError, match="missing attr 'dtype' from Op Placeholder: a"):
            tf.import_graph_def(message)
        message = exported(small)
        message.node[0].attr["dtype"].type = 3
        with pytest.raises(ValueError, match=r"'import_1/b' of type Add: .* float32 .* int32"):
            tf.import_graph_def(message)

    def test_constants_larger_than_memory_are_rejected(self):
        message = exported(lambda: tf.constant(1.0, name="c"))
        size = message.node[0].attr["value"].tensor.tensor_shape.dim.add()
        size.size = 1 << 50
        with pytest.raises(tf.errors.ResourceExhaustedError, match="OOM"):
            tf.import_graph_def(message)

    @pytest.mark.parametrize("sizes", [[-1], [3, 2], [1]])
    def test_constants_of_the_wrong_size_are_rejected(self, sizes):
        message = exported(lambda: tf.constant([1.0, 2.0], name="c"))
        shape = message.node[0].attr["value"].tensor.tensor_shape
        del shape.dim[:]
        for size in sizes:
            shape.dim.add(size=size)
        with pytest.raises(ValueError, match=r"a tensor .*in a message"):
            tf.import_graph_def(message)


class TestComputation:
    """An imported graph computes the same as its original."""

    def both(self, build, feeds):
        """Returns the values of the tensor "out" in a graph and in its copy."""
        results = []
        first = tf.Graph()
        with first.as_default():
            build()
        second = tf.Graph()
        with second.as_default():
            tf.import_graph_def(first.as_graph_def(), name="")
        assert second.as_graph_def() == first.as_graph_def()
        for graph in (first, second):
            with tf.Session(graph=graph) as session:
                results.append(session.run("out:0", feeds))
        return results

    def test_imported_array_operations_compute_the_same_values(self):
        def build():
            x = tf.placeholder(tf.float32, [None, 4], name="x")
            left, right = tf.split(x, 2, axis=1)
            rows = tf.boolean_mask(tf.concat([right, left], 1), x[:, 0] > 0)
            scaled = tf.transpose(tf.reduce_mean(rows, axis=1, keepdims=True)) ** 2.0
            best, _ = tf.nn.top_k(scaled, 2)
            tf.stack([best, tf.ones_like(best)], axis=0, name="out")

        values = np.random.default_rng(1).normal(size=(6, 4)).astype(np.float32)
        first, second = self.both(build, {"x:0": values})
        np.testing.assert_array_equal(first, second)

    def test_imported_sparse_operations_compute_the_same_values(self):
        def build():
            sparse = tf.sparse_placeholder(tf.float32, [4, 3], name="given")
            first, second = tf.sparse_split(sp_input=sparse, num_split=2, axis=0)
            joined = tf.sparse_concat(1, [tf.sparse_add(first, second), first])
            filled, was_empty = tf.sparse_fill_empty_rows(joined, 0.5)
            larger = tf.sparse_maximum(filled, tf.sparse_minimum(filled, filled))
            larger = larger * 3.0 / tf.constant([[2.0], [4.0]])
            part = tf.sparse_slice(tf.sparse_reshape(larger, [4, -1]), [0, 0], [4, 2])
            sums = tf.sparse_reduce_sum(tf.sparse_softmax(part), 1)
            largest = tf.sparse_tensor_to_dense(tf.sparse_reduce_max_sparse(part, 1))
            product = tf.sparse_tensor_dense_matmul(part, tf.ones([4, 1]), adjoint_b=False,
                                                    adjoint_a=True)  # fmt: skip
            uninterrupted = tf.sparse_add(part, tf.ones([4, 2]))
            means = tf.sparse_segment_mean(uninterrupted, [0, 2], [0, 1], num_segments=3)
            means += tf.sparse_segment_sum(uninterrupted, [1, 1, 3], [0, 0, 2])
            means += tf.sparse_matmul(tf.ones([3, 4]), uninterrupted)
            words = tf.sparse.cross([tf.as_string(means), tf.as_string(uninterrupted[:3])])
            hashes = tf.to_float(tf.sparse.cross_hashed([words, words], 9).values)
            parts = [sums, largest, tf.to_float(was_empty), hashes, product, means]
            tf.concat([tf.reshape(each, [-1]) for each in parts], 0, name="out")

        positions = [[0, 0], [1, 2], [2, 1], [3, 2]]
        feeds = {
            **{"given/indices:0": positions, "given/values:0": [1, 2, 3, 4]},
            "given/shape:0": [4, 3],
        }
        first, second = self.both(build, feeds)
        np.testing.assert_array_equal(first, second)

    def test_imported_string_and_record_operations_compute_the_same_values(self):
        def build():
            line = tf.placeholder(tf.string, [None], name="line")
            number, word = tf.decode_csv(line, [[1.5], [""]])
            parts = tf.string_split(word, "-").values
            shown = tf.as_string(number, precision=2)
            tf.string_join([shown, tf.substr(parts, 0, 1)], ":", name="out")

        first, second = self.both(build, {"line:0": ["2.5,ab", ",cd"]})
        assert first.tolist() == second.tolist() == [b"2.50:a", b"1.50:c"]

    def test_imported_image_operations_compute_the_same_values(self):
        def build():
            pixels = tf.placeholder(tf.uint8, [None, None, 3], name="pixels")
            part = tf.random_crop(pixels, [6, 6, 3], seed=3)
            part = tf.image.random_flip_left_right(part, seed=4)
            small = tf.image.resize_images(part, [4, 5])
            tf.image.per_image_standardization(small)
            tf.identity(tf.image.adjust_hue(small / 255.0, 0.2), name="out")

        pixels = np.random.default_rng(1).integers(0, 255, (9, 8, 3), np.uint8)
        first, second = self.both(build, {"pixels:0": pixels})
        np.testing.assert_array_equal(first, second)

    @pytest.mark.parametrize("value", [1, 5])
    def test_imported_conditions_compute_the_same_values(self, value):
        def build():
            x = tf.placeholder(tf.int32, [], name="x")
            inner = tf.cond(x > 3, lambda: x * 10, lambda: tf.cond(x > 0, lambda: x, lambda: -x))
            tf.identity(inner, name="out")

        first, second = self.both(build, {"x:0": value})
        assert first == second == (50 if value == 5 else 1)

    def test_imported_parsers_compute_the_same_values(self):
        def build():
            features = {
                "a": tf.FixedLenFeature([2], tf.int64),
                "b": tf.VarLenFeature(tf.float32),
                "c": tf.FixedLenSequenceFeature([], tf.int64, allow_missing=True),
            }
            one = tf.placeholder(tf.string, [], name="one")
            parsed = tf.parse_single_example(one, features)
            total = tf.reduce_sum(parsed["a"]) + tf.reduce_sum(parsed["c"])
            tf.add(tf.reduce_sum(tf.sparse_tensor_to_dense(parsed["b"])), tf.to_float(total), "out")

        feature = tf.train.Feature
        example = tf.train.Example(
            features=tf.train.Features(
                feature={
                    "a": feature(int64_list=tf.train.Int64List(value=[1, 2])),
                    "b": feature(float_list=tf.train.FloatList(value=[0.5])),
                    "c": feature(int64_list=tf.train.Int64List(value=[10, 20])),
                }
            )
        )
        first, second = self.both(build, {"one:0": example.SerializeToString()})
        assert first == second == 33.5

    def test_python_functions_work_while_their_graph_is_alive(self):
        def build():
            x = tf.placeholder(tf.int64, [], name="x")
            tf.py_func(lambda value: value + 1, [x], tf.int64, name="out")

        first, second = self.both(build, {"x:0": 4})
        assert first == second == 5

    def test_python_functions_from_other_processes_are_rejected(self):
        message = exported(lambda: tf.py_func(lambda: np.int64(1), [], tf.int64))
        message.node[0].attr["token"].s = b"pyfunc_none"
        with pytest.raises(ValueError, match="this process has no Python function 'pyfunc_none'"):
            tf.import_graph_def(message)


class TestTensorFlowNodes:
    """Nodes as TensorFlow writes them, where its operations have other inputs."""

    def test_tensorflow_resize_node_is_imported(self):
        def build():
            images = tf.placeholder(tf.float32, [1, 4, 4, 1], name="images")
            tf.image.resize_bilinear(images, [2, 3], align_corners=True, name="out")

        message = exported(build)
        for key in ("_output_types", "_output_shapes", "preserve_aspect_ratio"):
            message.node[-1].attr.pop(key)
        (out,) = tf.import_graph_def(message, return_elements=["out:0"])
        assert out.shape.as_list() == [1, 2, 3, 1]

    def test_tensorflow_sparse_matmul_node_is_imported(self):
        message = exported(lambda: tf.matmul([[1.0], [2.0]], [[3.0], [4.0]], True, name="out"))
        node = message.node[-1]
        node.op = "SparseMatMul"
        for key in ("T", "_output_types", "_output_shapes"):
            node.attr.pop(key)
        node.attr["Ta"].type = node.attr["Tb"].type = tf.float32.as_datatype_enum
        node.attr["a_is_sparse"].b = True
        (out,) = tf.import_graph_def(message, return_elements=["out:0"])
        with tf.Session() as session:
            assert session.run(out).tolist() == [[11.0]]

    @pytest.mark.parametrize("op_type", ["ParseExample", "ParseExampleV2", "ParseSingleExample"])
    def test_tensorflow_parser_nodes_are_imported(self, op_type):
        is_single = op_type == "ParseSingleExample"

        def build():
            shape = [] if is_single else [None]
            tf.placeholder(tf.string, shape, name="records")
            tf.constant([], tf.string, name="names")
            tf.constant("s" if op_type == "ParseExample" else ["s"], name="sparse")
            tf.constant("d" if op_type == "ParseExample" else ["d"], name="dense")
            tf.constant([], tf.string, name="ragged")
            tf.constant([7], tf.int64, name="default")

        message = exported(build)
        node = message.node.add(name="parse", op=op_type)
        inputs = {
            "ParseExample": ["records", "names", "sparse", "dense", "default"],
            "ParseExampleV2": ["records", "names", "sparse", "dense", "ragged", "default"],
            "ParseSingleExample": ["records", "default"],
        }
        node.input.extend(inputs[op_type])
        node.attr["Nsparse"].i = node.attr["Ndense"].i = 1
        node.attr["sparse_keys"].list.s.append(b"s")
        node.attr["dense_keys"].list.s.append(b"d")
        node.attr["sparse_types"].list.type.append(1)
        node.attr["Tdense"].list.type.append(9)
        node.attr["dense_shapes"].list.shape.add().dim.add(size=1)
        (op,) = tf.import_graph_def(message, return_elements=["parse"], name="")
        feature = tf.train.Feature(float_list=tf.train.FloatList(value=[0.5, 1.5]))
        example = tf.train.Example(features=tf.train.Features(feature={"s": feature}))
        record = example.SerializeToString()
        with tf.Session() as session:
            values = session.run(op.outputs, {"records:0": record if is_single else [record]})
        assert values[1].tolist() == [0.5, 1.5]
        assert values[3].tolist() == ([7] if is_single else [[7]])


class TestFiles:
    def read(self):
        tf.read_file("/etc/passwd", name="r")

    def write(self):
        tf.write_file("stolen", b"1", name="w")

    def printed(self):
        tf.print("1", output_stream="file://stolen", name="p")

    @pytest.mark.parametrize("kind", ["read", "write", "printed"])
    def test_file_operations_are_rejected_unless_allowed(self, kind):
        message = exported(getattr(self, kind))
        text = r"Node '\w+' of type \w+ reads or writes files when .* allow_files=True\."
        with pytest.raises(tf.errors.PermissionDeniedError, match=text):
            tf.import_graph_def(message, name="")
        assert names() == []
        tf.import_graph_def(message, name="", allow_files=True)
        assert names() == [node.name for node in message.node]

    def test_file_operations_in_a_meta_graph_are_rejected_unless_allowed(self):
        message = tf.train.export_meta_graph()
        message.graph_def.CopyFrom(exported(self.write))
        with pytest.raises(tf.errors.PermissionDeniedError, match="Node 'w' of type WriteFile"):
            tf.train.import_meta_graph(message)
        tf.train.import_meta_graph(message, allow_files=True)
        assert "w" in names()

    def test_file_operations_of_the_program_need_no_permission(self, tmp_path):
        with tf.Session() as session:
            session.run(tf.write_file(str(tmp_path / "file"), b"1"))
            assert session.run(tf.read_file(str(tmp_path / "file"))) == b"1"

    def test_print_to_the_terminal_is_allowed(self):
        tf.import_graph_def(exported(lambda: tf.print("1")), name="")
        assert "PrintV2" in [op.type for op in tf.get_default_graph().get_operations()]
