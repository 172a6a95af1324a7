import os
import re
import time

import numpy as np
import pytest

import headrace.tf1 as tf
from headrace.io.atomic_file import AtomicFile
from headrace.tf1.protos import MetaGraphDef, VariableDef


@pytest.fixture
def session():
    with tf.Session() as session:
        yield session


@pytest.fixture
def v(session):
    """A vector of two floats in the default session."""
    variable = tf.Variable([1.0, 2.0], name="v")
    session.run(variable.initializer)
    return variable


def files(directory):
    return sorted(path.name for path in directory.iterdir())


def checkpoint_files(*prefixes):
    ends = ("data-00000-of-00001", "index", "meta")
    return [f"{prefix}.{end}" for prefix in prefixes for end in ends]


class TestSaving:
    def test_save_writes_values_graph_and_list(self, session, v, tmp_path):
        path = str(tmp_path / "model")
        assert tf.train.Saver().save(session, path, global_step=3) == f"{path}-3"
        assert files(tmp_path) == ["checkpoint", *checkpoint_files("model-3")]
        assert (tmp_path / "checkpoint").read_text() == (
            f'model_checkpoint_path: "{path}-3"\nall_model_checkpoint_paths: "{path}-3"\n'
        )

    def test_only_global_variables_are_saved(self, session, tmp_path):
        for name, keys in (("g", None), ("l", ["local_variables"]), ("h", [])):
            tf.Variable(1, name=name, collections=keys, trainable=False)
        session.run(tf.global_variables_initializer())
        prefix = tf.train.Saver().save(session, tmp_path / "model")
        assert tf.train.list_variables(prefix) == [("g", [])]

    @pytest.mark.parametrize(
        ("step", "padded", "name"),
        [
            (None, False, "m"),
            (7, False, "m-7"),
            (np.int64(7), True, "m-00000007"),
            (lambda: tf.constant(8, tf.int64), False, "m-8"),
            (tf.train.get_or_create_global_step, False, "m-0"),
        ],
    )
    def test_step_is_appended_to_the_name(self, session, v, tmp_path, step, padded, name):
        step = step() if callable(step) else step
        session.run(tf.global_variables_initializer())
        saver = tf.train.Saver([v], pad_step_number=padded)
        assert saver.save(session, tmp_path / "m", step) == str(tmp_path / name)

    def test_meta_graph_and_state_can_be_omitted_or_renamed(self, session, v, tmp_path):
        saver = tf.train.Saver()
        saver.save(session, tmp_path / "m", write_meta_graph=False, write_state=False)
        assert files(tmp_path) == checkpoint_files("m")[:2]
        assert saver.last_checkpoints == []
        saver.save(session, tmp_path / "m", latest_filename="list", meta_graph_suffix="graph")
        assert files(tmp_path) == ["list", "m.data-00000-of-00001", "m.graph", "m.index"]

    def test_finalized_graph_can_be_saved_and_restored(self, session, v, tmp_path):
        saver = tf.train.Saver()
        tf.get_default_graph().finalize()
        prefix = saver.save(session, tmp_path / "m")
        saver.restore(session, prefix)
        assert session.run(v).tolist() == [1.0, 2.0]

    @pytest.mark.parametrize("path", ["", "./"])
    @pytest.mark.parametrize("options", [{}, {"global_step": 3}, {"write_state": False}])
    def test_invalid_save_path_writes_nothing(
        self, session, v, tmp_path, monkeypatch, path, options
    ):
        monkeypatch.chdir(tmp_path)
        with pytest.raises(ValueError, match=f"save_path is '{path}', expected a prefix"):
            tf.train.Saver().save(session, path, **options)
        assert list(tmp_path.iterdir()) == []

    def test_path_can_be_bytes(self, session, v, tmp_path):
        saver = tf.train.Saver()
        prefix = saver.save(session, bytes(tmp_path / "m"))
        assert prefix == str(tmp_path / "m")
        saver.restore(session, prefix.encode())

    @pytest.mark.parametrize(
        ("arguments", "error", "words"),
        [
            (("no/m",), ValueError, "Parent directory of {0}/no/m doesn't exist, can't save."),
            (
                ("checkpoint",),
                ValueError,
                "'latest_filename' collides with 'save_path': 'checkpoin",
            ),
            (
                ("m", None, "a/b"),
                ValueError,
                "'latest_filename' must not contain path components",
            ),
            (("m", "nope:0"), ValueError, "cannot be interpreted as a Tensor"),
            (("m", 1.5), TypeError, "has invalid type"),
        ],
    )
    def test_save_rejects_invalid_arguments(self, session, v, tmp_path, arguments, error, words):
        saver = tf.train.Saver()
        name, *rest = arguments
        with pytest.raises(error, match=re.escape(words.format(tmp_path))):
            saver.save(session, str(tmp_path / name), *rest)
        assert files(tmp_path) == []

    def test_save_requires_a_session_and_initialized_variables(self, session, tmp_path):
        v = tf.Variable(1, name="v")
        saver = tf.train.Saver()
        with pytest.raises(TypeError, match="'sess' must be a Session; 3"):
            saver.save(3, tmp_path / "m")
        with pytest.raises(
            tf.errors.FailedPreconditionError, match="Attempting to use uninitialized value v"
        ):
            saver.save(session, tmp_path / "m")
        assert files(tmp_path) == []
        session.run(v.initializer)
        saver.save(session, tmp_path / "m")


class TestRestoring:
    def test_every_type_and_shape_round_trips(self, session, tmp_path):
        values = [
            *(np.float16([1.5]), np.float32([[1, 2]]), np.float64(2.5)),
            *(np.int8([-1]), np.int16(-2), np.int32(3), np.int64([2**40]), np.uint8([255])),
            *(np.uint16([7]), np.array([True, False]), np.complex64([1j]), np.zeros((0, 3))),
            *(np.array([b"a", b"\0b"], object), np.array("é".encode(), object)),
        ]
        variables = [tf.Variable(tf.constant(value)) for value in values]
        session.run(tf.global_variables_initializer())
        saver = tf.train.Saver()
        prefix = saver.save(session, tmp_path / "m")
        with tf.Session() as other:
            saver.restore(other, prefix)
            for variable, value in zip(variables, values, strict=True):
                result = np.asarray(other.run(variable), value.dtype)
                assert result.shape == value.shape
                assert result.tolist() == value.tolist()

    def test_restore_needs_no_initializer_and_no_feed(self, session, v, tmp_path):
        prefix = tf.train.Saver().save(session, tmp_path / "m")
        w = tf.Variable(tf.placeholder(tf.float32, [2]), name="w")
        tf.get_default_graph().prevent_feeding(w.initial_value)
        with tf.Session() as other:
            tf.train.Saver({"v": w}).restore(other, prefix)
            assert other.run(w).tolist() == [1.0, 2.0]
            assert other.run(tf.report_uninitialized_variables()).tolist() == [b"v"]

    def test_restore_leaves_other_variables_alone(self, session, v, tmp_path):
        saver = tf.train.Saver()
        prefix = saver.save(session, tmp_path / "m")
        w = tf.Variable(5)
        session.run([w.initializer, v.assign([0, 0])])
        saver.restore(session, prefix)
        assert session.run(w) == 5
        assert session.run(v).tolist() == [1.0, 2.0]

    def test_different_shape_requires_reshape_or_a_flexible_variable(self, session, v, tmp_path):
        prefix = tf.train.Saver().save(session, tmp_path / "m")
        column = tf.Variable(tf.zeros([2, 1]))
        free = tf.Variable(tf.zeros([3]), validate_shape=False)
        tf.train.Saver({"v": column}, reshape=True).restore(session, prefix)
        tf.train.Saver({"v": free}).restore(session, prefix)
        assert session.run(column).tolist() == [[1.0], [2.0]]
        assert session.run(free).tolist() == [1.0, 2.0]

    @pytest.mark.parametrize(
        ("initial", "key", "reshape", "error", "words"),
        [
            ([1.0, 2.0], "w", False, tf.errors.NotFoundError, "Key w not found in checkpoint {0}"),
            (
                [1.0],
                "v",
                False,
                tf.errors.InvalidArgumentError,
                "Assign requires shapes of both tensors to match. lhs shape= [1] rhs shape= [2]",
            ),
            (
                [1.0],
                "v",
                True,
                tf.errors.InvalidArgumentError,
                "Input to reshape is a tensor with 2 values, but the requested shape has 1",
            ),
            (
                [1, 2],
                "v",
                False,
                tf.errors.InvalidArgumentError,
                "tensor_name = v; expected dtype int32 does not equal original dtype float",
            ),
        ],
    )
    def test_mismatched_value_changes_nothing(
        self, session, v, tmp_path, initial, key, reshape, error, words
    ):
        prefix = tf.train.Saver().save(session, tmp_path / "m")
        fits, misfit = tf.Variable([0.0, 0.0], name="fits"), tf.Variable(initial, name="misfit")
        names = {"v": fits, f"{key}": misfit} if key != "v" else {"v": misfit}
        with pytest.raises(error, match=re.escape(words.format(prefix))) as caught:
            tf.train.Saver(names, reshape=reshape).restore(session, prefix)
        assert caught.value.op is misfit.op
        assert not session.run(tf.is_variable_initialized(fits))

    @pytest.mark.parametrize(
        ("path", "words"),
        [
            (None, "Can't load save_path when it is None."),
            ("nope", "The passed save_path is not a valid checkpoint: nope"),
        ],
    )
    def test_restore_requires_a_checkpoint(self, session, v, path, words):
        with pytest.raises(ValueError, match=re.escape(words)):
            tf.train.Saver().restore(session, path)

    def test_second_session_can_continue(self, tmp_path):
        """One graph writes, and another graph with the same names reads."""

        def model():
            with tf.variable_scope("model"):
                weights = tf.get_variable("w", [2], initializer=tf.ones_initializer())
            return weights, tf.train.get_or_create_global_step()

        with tf.Graph().as_default(), tf.Session() as train:
            w, step = model()
            train.run(tf.global_variables_initializer())
            train.run([w.assign([3, 4]), step.assign_add(9)])
            tf.train.Saver().save(train, tmp_path / "m", step)
        with tf.Graph().as_default(), tf.Session() as evaluate:
            w, step = model()
            tf.train.Saver().restore(evaluate, tf.train.latest_checkpoint(tmp_path))
            assert evaluate.run(w).tolist() == [3.0, 4.0]
            assert tf.train.global_step(evaluate, step) == 9


class TestVariables:
    def test_variables_can_be_a_list_tuple_set_or_dict(self, session, v, tmp_path):
        w = tf.Variable(3, name="w")
        session.run(w.initializer)
        for var_list, names in (
            ([v, w], "vw"),
            ((w, v), "vw"),
            ({w}, "w"),
            ({"x": v, "a/y": w}, ["a/y", "x"]),
            (None, "vw"),
        ):
            prefix = tf.train.Saver(var_list).save(session, tmp_path / "m")
            assert [name for name, _ in tf.train.list_variables(prefix)] == list(names)

    @pytest.mark.parametrize(
        ("make", "error", "words"),
        [
            (lambda v: v, TypeError, "Variables to save should be passed in a dict or a list. Got"),
            (lambda v: [v, 3], TypeError, "Variable to save is not a Variable: 3"),
            (lambda v: [v.value()], TypeError, "Variable to save is not a Variable: Tensor("),
            (lambda v: {3: v}, TypeError, "Name is not a string: 3"),
            (
                lambda v: {"a": 3},
                TypeError,
                "names_to_saveables must be a dict mapping string names to Tensors/Variables. Not "
                "a variable: 3",
            ),
            (lambda v: [v, v], ValueError, "At least two variables have the same name: v"),
            (
                lambda v: {"a": v, "b": v},
                ValueError,
                "The same saveable will be restored with two names: b",
            ),
            (lambda _: [], ValueError, "No variables to save"),
            (lambda _: {}, ValueError, "No variables to save"),
        ],
    )
    def test_variables_are_checked(self, v, make, error, words):
        with pytest.raises(error, match=re.escape(words)):
            tf.train.Saver(make(v))

    def test_saver_requires_variables_unless_it_can_be_empty(self, session, tmp_path):
        tf.Variable(1, collections=["local_variables"])
        with pytest.raises(ValueError, match="No variables to save"):
            tf.train.Saver()
        saver = tf.train.Saver(allow_empty=True)
        assert saver.save(session, tmp_path / "m") is None
        assert files(tmp_path) == ["m.meta"]
        saver.restore(session, None)

    def test_variables_are_fixed_at_construction_unless_building_is_deferred(
        self, session, v, tmp_path
    ):
        now, later = tf.train.Saver(), tf.train.Saver(defer_build=True)
        w = tf.Variable(1, name="w")
        session.run(w.initializer)
        with pytest.raises(RuntimeError, match=r"`build\(\)` should be called before save"):
            later.save(session, tmp_path / "m")
        with pytest.raises(RuntimeError, match=r"`build\(\)` should be called before restore"):
            later.restore(session, "m")
        later.build()
        for saver, names in ((now, ["v"]), (later, ["v", "w"])):
            prefix = saver.save(session, tmp_path / "m")
            assert [name for name, _ in tf.train.list_variables(prefix)] == names

    def test_saver_def_configures_another_saver(self, tmp_path, session, v):
        first = tf.train.Saver(max_to_keep=2, keep_checkpoint_every_n_hours=3.0, sharded=True)
        described = first.as_saver_def()
        for saver in (tf.train.Saver(saver_def=described), tf.train.Saver.from_proto(described)):
            assert saver.as_saver_def() == described
            for step in range(3):
                saver.save(session, tmp_path / "m", step)
            assert [os.path.basename(path) for path in saver.last_checkpoints] == ["m-1", "m-2"]
            session.run(v.assign([5.0, 6.0]))
            saver.restore(session, saver.last_checkpoints[-1])
            np.testing.assert_array_equal(session.run(v), [1.0, 2.0])

    def test_invalid_or_scoped_saver_def_is_rejected(self, v):
        with pytest.raises(TypeError, match=r"saver_def must be a train\.SaverDef: <object"):
            tf.train.Saver(saver_def=object())
        described = tf.train.Saver().as_saver_def()
        with pytest.raises(ValueError, match="import_scope is 'a', expected None"):
            tf.train.Saver.from_proto(described, import_scope="a")


class TestKeeping:
    def save(self, saver, session, directory, steps):
        for step in steps:
            saver.save(session, directory / "m", step, write_meta_graph=step % 2)

    def test_newest_checkpoints_are_kept(self, session, v, tmp_path):
        saver = tf.train.Saver(max_to_keep=2)
        self.save(saver, session, tmp_path, [1, 2, 3, 2])
        paths = [str(tmp_path / name) for name in ("m-3", "m-2")]
        assert saver.last_checkpoints == paths
        assert files(tmp_path) == [
            "checkpoint",
            *checkpoint_files("m-2")[:2],
            *checkpoint_files("m-3"),
        ]
        state = tf.train.get_checkpoint_state(tmp_path)
        assert state.model_checkpoint_path == paths[-1]
        assert list(state.all_model_checkpoint_paths) == paths

    @pytest.mark.parametrize(("max_to_keep", "num_synced"), [(1, 2), (2, 0)])
    def test_new_checkpoint_is_synced_before_an_older_one_is_deleted(
        self, session, v, tmp_path, monkeypatch, max_to_keep, num_synced
    ):
        saver = tf.train.Saver(max_to_keep=max_to_keep)
        self.save(saver, session, tmp_path, [1])
        synced = []

        def sync(file):
            synced.append(files(tmp_path))
            original(file)

        original = AtomicFile.sync
        monkeypatch.setattr(AtomicFile, "sync", sync)
        self.save(saver, session, tmp_path, [3])
        assert len(synced) == num_synced
        assert all("m-1.index" in names and "m-3.index" not in names for names in synced)

    def test_five_checkpoints_are_kept_by_default(self, session, v, tmp_path):
        saver = tf.train.Saver()
        self.save(saver, session, tmp_path, range(7))
        assert [int(path[-1]) for path in saver.last_checkpoints] == [2, 3, 4, 5, 6]

    @pytest.mark.parametrize("max_to_keep", [0, None])
    def test_all_checkpoints_can_be_kept_and_are_then_not_listed(
        self, session, v, tmp_path, max_to_keep
    ):
        saver = tf.train.Saver(max_to_keep=max_to_keep)
        self.save(saver, session, tmp_path, [1, 3])
        assert saver.last_checkpoints == []
        assert files(tmp_path) == ["checkpoint", *checkpoint_files("m-1", "m-3")]
        assert len(tf.train.get_checkpoint_state(tmp_path).all_model_checkpoint_paths) == 1

    def test_one_checkpoint_can_be_kept_every_few_hours(self, session, v, tmp_path):
        saver = tf.train.Saver(max_to_keep=1, keep_checkpoint_every_n_hours=2)
        self.save(saver, session, tmp_path, [1])
        written = [(path, time.time() + 3 * 3600) for path in saver.last_checkpoints]
        saver.set_last_checkpoints_with_time(written)
        self.save(saver, session, tmp_path, [3, 5])
        # Three hours after the start, the first one is kept, which moves the limit to four hours.
        assert files(tmp_path) == ["checkpoint", *checkpoint_files("m-1", "m-5")]

    def test_new_saver_can_adopt_existing_checkpoints(self, session, v, tmp_path):
        self.save(tf.train.Saver(), session, tmp_path, [1, 3])
        saver = tf.train.Saver(max_to_keep=2)
        paths = [str(tmp_path / name) for name in ("m-1", "gone", "m-3")]
        saver.recover_last_checkpoints(paths)
        assert saver.last_checkpoints == [paths[0], paths[2]]
        self.save(saver, session, tmp_path, [5])
        assert files(tmp_path) == ["checkpoint", *checkpoint_files("m-3", "m-5")]

    def test_manually_set_checkpoint_is_listed_but_not_deleted(self, session, v, tmp_path):
        self.save(tf.train.Saver(), session, tmp_path, [1])
        saver = tf.train.Saver(max_to_keep=1)
        saver.set_last_checkpoints([str(tmp_path / "m-1")])
        assert saver.last_checkpoints == [str(tmp_path / "m-1")]
        self.save(saver, session, tmp_path, [3])
        assert files(tmp_path) == ["checkpoint", *checkpoint_files("m-1", "m-3")]


class TestList:
    def test_directory_without_checkpoints_has_no_latest_one(self, tmp_path):
        assert tf.train.latest_checkpoint(tmp_path) is None
        assert tf.train.latest_checkpoint(tmp_path / "nope", "list") is None
        assert tf.train.get_checkpoint_state(tmp_path) is None
        assert not tf.train.checkpoint_exists(tmp_path / "m")

    def test_latest_checkpoint_is_the_newest_existing_one(self, session, v, tmp_path):
        prefix = tf.train.Saver().save(session, tmp_path / "m", latest_filename="list")
        assert tf.train.latest_checkpoint(str(tmp_path), "list") == prefix
        assert tf.train.checkpoint_exists(prefix)
        (when,) = tf.train.get_checkpoint_mtimes([prefix, "nope"])
        assert when == os.stat(f"{prefix}.index").st_mtime_ns / 1e9
        tf.train.remove_checkpoint(prefix)
        assert files(tmp_path) == ["list"]
        assert tf.train.latest_checkpoint(str(tmp_path), "list") is None

    def test_relative_paths_allow_the_directory_to_move(self, session, v, tmp_path):
        (tmp_path / "old").mkdir()
        saver = tf.train.Saver(save_relative_paths=True)
        saver.save(session, tmp_path / "old" / "m", 1)
        text = (tmp_path / "old" / "checkpoint").read_text()
        assert text == 'model_checkpoint_path: "m-1"\nall_model_checkpoint_paths: "m-1"\n'
        (tmp_path / "old").rename(tmp_path / "new")
        assert tf.train.latest_checkpoint(tmp_path / "new") == str(tmp_path / "new" / "m-1")

    def test_list_is_relative_if_the_path_is(self, session, v, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        assert tf.train.Saver().save(session, "./m") == "./m"
        assert 'model_checkpoint_path: "m"' in (tmp_path / "checkpoint").read_text()
        assert tf.train.latest_checkpoint(".") == "./m"

    def test_list_can_be_written_manually(self, tmp_path):
        directory = str(tmp_path)
        tf.train.update_checkpoint_state(directory, "/b", ["/a"], "list")
        state = tf.train.get_checkpoint_state(directory, "list")
        assert state.model_checkpoint_path == "/b"
        assert list(state.all_model_checkpoint_paths) == ["/a", "/b"]

    @pytest.mark.parametrize(
        "data",
        [
            b"}",
            b"\0\0",
            b"\xff\xfe",
            b'model_checkpoint_path: "m',
            b'model_checkpoint_path: "\xff"',
        ],
    )
    def test_damaged_list_is_an_error(self, tmp_path, data):
        (tmp_path / "checkpoint").write_bytes(data)
        for read in (tf.train.latest_checkpoint, tf.train.get_checkpoint_state):
            with pytest.raises(tf.errors.DataLossError) as caught:
                read(tmp_path)
            assert caught.value.message.startswith(
                f"{tmp_path}/checkpoint: the list of checkpoints cannot be read: "
            )
            assert (
                "restore a checkpoint by its name. Delete this list, or write"
                in caught.value.message
            )

    def test_unreadable_list_is_an_error(self, tmp_path):
        (tmp_path / "checkpoint").mkdir()
        with pytest.raises(tf.errors.FailedPreconditionError, match="checkpoint; Is a directory"):
            tf.train.latest_checkpoint(tmp_path)

    def test_unwritable_list_is_an_error(self, tmp_path):
        (tmp_path / "checkpoint").mkdir()
        for directory, error in (
            (tmp_path, tf.errors.FailedPreconditionError),
            (tmp_path / "no", tf.errors.NotFoundError),
        ):
            with pytest.raises(error, match="checkpoint; "):
                tf.train.update_checkpoint_state(directory, "m")
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"name is not UTF-8 .* Save it un"
        ):
            tf.train.update_checkpoint_state(tmp_path, os.fsdecode(b"\xff"))
        assert files(tmp_path) == ["checkpoint"]

    def test_empty_list_is_an_error(self, tmp_path):
        (tmp_path / "checkpoint").touch()
        with pytest.raises(
            ValueError, match=r"Invalid checkpoint state loaded from .*restore a checkpoint"
        ):
            tf.train.latest_checkpoint(tmp_path)


class TestReader:
    def test_reader_lists_the_contents_of_a_checkpoint(self, session, v, tmp_path):
        w = tf.Variable(3, name="w")
        session.run(w.initializer)
        prefix = tf.train.Saver().save(session, tmp_path / "m")
        for reader in (tf.train.NewCheckpointReader(prefix), tf.train.load_checkpoint(tmp_path)):
            assert reader.get_variable_to_shape_map() == {"v": [2], "w": []}
            assert reader.get_variable_to_dtype_map() == {"v": tf.float32, "w": tf.int32}
            assert reader.has_tensor("v")
            assert not reader.has_tensor("x")
            assert reader.get_tensor("v").tolist() == [1.0, 2.0]
            assert type(reader.get_tensor("w")) is np.int32
            assert reader.debug_string() == b"v (DT_FLOAT) [2]\nw (DT_INT32) []\n"
        assert tf.train.load_variable(tmp_path, "w:0") == 3
        assert tf.train.list_variables(tmp_path) == [("v", [2]), ("w", [])]

    def test_reader_errors_name_the_missing_tensor_or_file(self, session, v, tmp_path):
        prefix = tf.train.Saver().save(session, tmp_path / "m", write_state=False)
        with pytest.raises(tf.errors.NotFoundError, match="Key x not found in checkpoint"):
            tf.train.load_variable(prefix, "x")
        with pytest.raises(
            tf.errors.NotFoundError,
            match="Unsuccessful TensorSliceReader constructor: Failed to find any matching files",
        ):
            tf.train.NewCheckpointReader(tmp_path / "nope")
        with pytest.raises(ValueError, match="Couldn't find 'checkpoint' file or checkpoints in"):
            tf.train.load_checkpoint(tmp_path)


class TestMetaGraph:
    def test_meta_graph_describes_operations_and_collections(self, session, v, tmp_path):
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        y = tf.concat([x, tf.ones([1, 2])], 0, name="y")
        with tf.control_dependencies([v.initializer]):
            words = tf.constant(["a", "é"], name="words")
        tf.FIFOQueue(3, [tf.int32, tf.string], [[2], []], name="q")
        tf.add_to_collection("results", y)
        tf.add_to_collection("mixed", object())
        prefix = tf.train.Saver().save(session, tmp_path / "m")
        with open(f"{prefix}.meta", "rb") as file:
            meta_graph = MetaGraphDef.FromString(file.read())
        nodes = {node.name: node for node in meta_graph.graph_def.node}
        assert list(nodes) == [op.name for op in tf.get_default_graph().get_operations()]
        assert (nodes["y"].op, list(nodes["y"].input)) == ("ConcatV2", ["x", "ones", "y/axis"])
        assert list(nodes["words"].input) == ["^v/Assign"]
        attr = nodes["y"].attr
        assert (attr["N"].i, attr["T"].type) == (2, 1)
        assert list(attr["_output_types"].list.type) == [1]
        (shape,) = attr["_output_shapes"].list.shape
        assert [dim.size for dim in shape.dim] == [-1, 2]
        text = nodes["words"].attr["value"].tensor
        assert list(text.string_val) == [b"a", "é".encode()]
        value = nodes["v/initial_value"].attr["value"].tensor
        assert np.frombuffer(value.tensor_content, np.float32).tolist() == [1.0, 2.0]
        assert [len(item.dim) for item in nodes["q"].attr["shapes"].list.shape] == [1, 0]
        assert nodes["v/Assign"].attr["validate_shape"].b
        collections = meta_graph.collection_def
        assert sorted(collections) == ["results", "trainable_variables", "variables"]
        assert list(collections["results"].node_list.value) == ["y:0"]
        (variable,) = map(VariableDef.FromString, collections["variables"].bytes_list.value)
        assert (variable.variable_name, variable.initializer_name) == ("v:0", "v/Assign")
        assert (variable.snapshot_name, variable.trainable) == ("v/read:0", True)
        assert words.graph.version == len(nodes)

    def test_meta_graph_omits_large_constants(self):
        tf.py_func(len, [tf.constant("a")], tf.int64, name="f")
        tf.constant(np.zeros(100_000), name="large")
        assert "value" in tf.train.export_meta_graph().graph_def.node[-1].attr
        meta_graph = tf.train.export_meta_graph(most_constant_bytes=1 << 16)
        nodes = {node.name: node for node in meta_graph.graph_def.node}
        assert nodes["f"].op == "PyFunc"
        assert "value" not in nodes["large"].attr
        assert nodes["large"].attr["_output_shapes"].list.shape[0].dim[0].size == 100_000

    def test_meta_graph_of_any_graph_can_be_written(self, v, tmp_path):
        with tf.Graph().as_default() as graph:
            tf.no_op(name="n")
        written = tf.train.export_meta_graph(tmp_path / "a", graph=graph)
        assert [node.name for node in written.graph_def.node] == ["n"]
        assert MetaGraphDef.FromString((tmp_path / "a").read_bytes()) == written
        assert len(tf.train.Saver().export_meta_graph().graph_def.node) == 4


def test_saver_can_be_described_without_operations():
    tf.Variable(1.0)
    saver = tf.train.Saver(max_to_keep=3, keep_checkpoint_every_n_hours=2.5, sharded=True)
    message = saver.as_saver_def()
    assert (message.max_to_keep, message.keep_checkpoint_every_n_hours) == (3, 2.5)
    assert (message.sharded, message.version) == (True, type(message).V2)
    assert (message.restore_op_name, message.save_tensor_name) == ("", "")
    assert saver.to_proto() == message
    assert saver.to_proto("scope") is None
    assert tf.train.Saver(max_to_keep=None).as_saver_def().max_to_keep == 0
