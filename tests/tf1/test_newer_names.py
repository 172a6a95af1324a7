"""Newer names for files, descriptions of tensors, sizes of shapes, and the package's own names."""

import pickle

import numpy as np
import pytest

import headrace.tf1 as tf


def test_compat_v1_is_the_package_itself():
    import headrace.tf1.compat.v1 as first  # noqa: PLC0415

    assert first is tf
    assert tf.compat.v1 is tf
    assert tf.compat.v1.train.batch is tf.train.batch
    with pytest.raises(AttributeError, match=r"module 'headrace.tf1' has no attribute 'bogus'"):
        _ = tf.compat.v1.bogus


def test_dimension_values_are_read_from_shapes():
    assert tf.compat.dimension_value(tf.Dimension(3)) == tf.compat.dimension_value(3) == 3
    assert tf.compat.dimension_value(tf.Dimension(None)) is None
    assert tf.compat.dimension_at_index(tf.TensorShape([2, 5]), 1).value == 5
    assert tf.compat.dimension_at_index(tf.TensorShape(None), 1).value is None


class TestFiles:
    def test_io_gfile_supports_all_file_operations(self, tmp_path):
        files = tf.io.gfile
        files.makedirs(f"{tmp_path}/a/b")
        files.mkdir(f"{tmp_path}/c")
        with files.GFile(f"{tmp_path}/a/f.txt", "w") as file:
            file.write("text")
        files.copy(src=f"{tmp_path}/a/f.txt", dst=f"{tmp_path}/c/g.txt")
        with pytest.raises(tf.errors.AlreadyExistsError):
            files.rename(f"{tmp_path}/a/f.txt", f"{tmp_path}/c/g.txt")
        files.rename(f"{tmp_path}/a/f.txt", f"{tmp_path}/c/g.txt", overwrite=True)
        assert files.listdir(tmp_path) == ["a", "c"]
        walked = {top: names for top, _, names in files.walk(str(tmp_path))}
        assert next(iter(walked)) == str(tmp_path)
        assert walked[f"{tmp_path}/c"] == ["g.txt"]
        assert [top for top, _, _ in files.walk(str(tmp_path), topdown=False)][-1] == str(tmp_path)
        assert files.glob([f"{tmp_path}/*/g.txt"]) == [f"{tmp_path}/c/g.txt"]
        assert files.stat(path=f"{tmp_path}/c/g.txt").length == 4
        files.remove(f"{tmp_path}/c/g.txt")
        files.rmtree(f"{tmp_path}/a")
        assert not files.exists(f"{tmp_path}/a")
        assert files.isdir(f"{tmp_path}/c")

    def test_walk_of_a_missing_directory_calls_onerror(self, tmp_path):
        results = []
        assert list(tf.io.gfile.walk(tmp_path / "none")) == []
        assert list(tf.io.gfile.walk(tmp_path / "none", onerror=results.append)) == []
        [error] = results
        assert isinstance(error, tf.errors.NotFoundError)
        assert "none" in error.message


class TestTensorSpec:
    def test_tensor_spec_has_shape_dtype_and_name(self):
        spec = tf.TensorSpec([2, None], tf.int32, name="n")
        assert (spec.shape.as_list(), spec.dtype, spec.name) == ([2, None], tf.int32, "n")
        assert repr(spec) == "TensorSpec(shape=(2, ?), dtype=tf.int32, name='n')"
        assert tf.TensorSpec(None).dtype == tf.float32
        assert spec.value_type is tf.Tensor

    def test_tensor_specs_are_compared_by_their_parts(self):
        spec = tf.TensorSpec([2, None], tf.int32, name="n")
        same = tf.TensorSpec((2, None), "int32", name="n")
        assert spec == same == pickle.loads(pickle.dumps(spec))
        assert len({spec, same, tf.TensorSpec([2, None], tf.int32)}) == 2
        assert tf.TensorSpec([2], name="n") != tf.TensorSpec([2], name="m")
        assert tf.TensorSpec(None) != tf.TensorSpec([])

    def test_tensor_spec_can_be_built_from_a_tensor_or_a_spec(self):
        tensor = tf.constant([1.0, 2.0], name="c")
        spec = tf.TensorSpec.from_tensor(tensor)
        assert spec == tf.TensorSpec([2], tf.float32, "c")
        assert tf.TensorSpec.from_spec(spec, name="d").name == "d"
        with pytest.raises(ValueError, match=r"should be a tf\.Tensor, got 3"):
            tf.TensorSpec.from_tensor(3)

    def test_tensor_spec_compatibility_is_checked(self):
        spec = tf.TensorSpec([2, None], tf.int32)
        assert spec.is_compatible_with(np.zeros([2, 3], np.int32))
        assert spec.is_compatible_with(tf.placeholder(tf.int32))
        assert not spec.is_compatible_with(tf.TensorSpec([3, 3], tf.int32))
        assert not spec.is_compatible_with(tf.TensorSpec([2, 3], tf.int64))
        common = spec.most_specific_compatible_type(tf.TensorSpec([2, 3], tf.int32))
        assert common == spec
        with pytest.raises(ValueError, match="not compatible"):
            spec.most_specific_compatible_type(tf.TensorSpec([2, 3], tf.int64))


def test_extract_patches_equals_its_older_name():
    images = np.arange(36).reshape(1, 6, 6, 1)
    inputs = [1, 3, 3, 1], [1, 3, 3, 1], [1, 1, 1, 1], "VALID"
    with tf.Session() as session:
        newer, older = session.run(
            [tf.image.extract_patches(images, *inputs), tf.extract_image_patches(images, *inputs)]
        )
    assert newer.tolist() == older.tolist()
    assert newer.shape == (1, 2, 2, 9)
