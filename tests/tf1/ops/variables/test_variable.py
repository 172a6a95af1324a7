import re

import numpy as np
import pytest

import headrace.tf1 as tf


def op_names():
    return [op.name for op in tf.get_default_graph().get_operations()]


@pytest.fixture
def v(run):
    """A scalar int32 variable of value 1."""
    variable = tf.Variable(1, name="v")
    run(variable.initializer)
    return variable


class TestConstruction:
    def test_variable_creates_the_same_operations_as_tensorflow(self):
        tf.Variable(1)
        tf.Variable(lambda: 2.0, name="w")
        tf.Variable(tf.ones([2]))
        assert op_names() == [
            *("Variable/initial_value", "Variable", "Variable/Assign", "Variable/read"),
            *("w/Initializer/initial_value", "w", "w/Assign", "w/read"),
            *("ones", "Variable_1", "Variable_1/Assign", "Variable_1/read"),
        ]

    def test_variable_has_the_properties_of_a_reference_variable(self):
        v = tf.Variable([1, 2], name="v", constraint=abs)
        assert (v.name, v.op.name, v.op.type) == ("v:0", "v", "VariableV2")
        assert (v.initializer.name, v.value().name) == ("v/Assign", "v/read:0")
        assert v.dtype == tf.as_dtype("int32_ref")
        assert v.value().dtype == tf.int32
        assert v.shape == v.get_shape() == [2]
        assert (v.device, v.trainable, v.constraint) == ("", True, abs)
        assert v.graph is tf.get_default_graph()
        assert v.initial_value.name == "v/initial_value:0"
        assert str(v) == repr(v) == "<tf.Variable 'v:0' shape=(2,) dtype=int32_ref>"

    def test_variable_follows_the_name_scope(self):
        with tf.name_scope("s"):
            assert [tf.Variable(1, name="v").op.name for _ in range(2)] == ["s/v", "s/v_1"]

    def test_variable_belongs_to_the_graph_of_its_initial_value(self):
        with tf.Graph().as_default() as graph:
            value = tf.constant(1)
        assert tf.Variable(value).graph is graph

    @pytest.mark.parametrize(
        ("arguments", "global_", "trainable", "local"),
        [
            ({}, True, True, False),
            ({"trainable": False}, True, False, False),
            ({"collections": []}, False, True, False),
            ({"collections": [], "trainable": False}, False, False, False),
            ({"collections": ("local_variables",)}, False, True, True),
            ({"collections": {tf.GraphKeys.VARIABLES}, "trainable": False}, True, False, False),
        ],
    )
    def test_variable_joins_the_requested_collections(self, arguments, global_, trainable, local):
        v = tf.Variable(1, **arguments)
        results = [tf.global_variables(), tf.trainable_variables(), tf.local_variables()]
        assert results == [[v] * is_in for is_in in (global_, trainable, local)]
        assert tf.all_variables() == tf.global_variables()

    @pytest.mark.parametrize(
        ("arguments", "error", "words"),
        [
            ({}, ValueError, "initial_value must be specified."),
            ({"initial_value": 1, "variable_def": 1}, ValueError, "variable_def is not supported"),
            ({"initial_value": 1, "constraint": 1}, ValueError, "must be a callable"),
            (
                {"initial_value": 1, "collections": "variables"},
                ValueError,
                "collections argument to Variable constructor must be a list, tuple, or set. "
                "Got variables of type <class 'str'>",
            ),
            (
                {"initial_value": 1.5, "dtype": tf.int32},
                TypeError,
                "Expected int32, got 1.5 of type 'float' instead.",
            ),
            ({"initial_value": 1, "name": "_v"}, ValueError, "'_v' is not a valid scope name"),
        ],
    )
    def test_variable_rejects_invalid_arguments(self, arguments, error, words):
        with pytest.raises(error, match=re.escape(words)):
            tf.Variable(**arguments)

    @pytest.mark.parametrize("shape", [None, [None]])
    def test_initial_value_of_unknown_shape_requires_validate_shape_false(self, shape):
        value = tf.placeholder(tf.int32, shape)
        with pytest.raises(ValueError, match="initial_value must have a shape specified: Tensor"):
            tf.Variable(value)
        assert tf.Variable(value, validate_shape=False).shape.rank is None
        v = tf.Variable(value, validate_shape=False, shape=[2])
        v.set_shape([2])
        assert v.shape == v.value().shape == [2]

    def test_initial_value_created_in_a_branch_is_rejected(self):
        def branch():
            return tf.Variable(tf.constant(1)) + 0

        with pytest.raises(ValueError, match="is from inside a control-flow construct"):
            tf.cond(tf.constant(True), branch, lambda: tf.constant(2))

    def test_variable_is_created_outside_branches_and_control_dependencies(self, run):
        outputs = []

        def branch():
            outputs.append(tf.Variable(lambda: tf.constant(4)))
            return outputs[0] + 1

        with tf.control_dependencies([tf.no_op()]):
            result = tf.cond(tf.constant(False), branch, lambda: tf.constant(2))
        assert outputs[0].initializer.control_inputs == []
        run(outputs[0].initializer)
        assert run([result, outputs[0]]) == [2, 4]

    def test_ignored_arguments_are_accepted(self):
        tf.Variable(
            1,
            caching_device="/cpu:0",
            expected_shape=[],
            import_scope="x",
            use_resource=True,
            synchronization=0,
            aggregation=0,
        )


class TestInitialization:
    def test_tables_initializer_without_tables_does_nothing(self, run):
        assert run([tf.tables_initializer(), tf.initialize_all_tables()]) == [None, None]

    def test_reading_before_initialization_is_an_error(self, run):
        v = tf.Variable(1, name="v")
        for fetch in (v, v.value(), v + 1, v.assign_add(1), v.count_up_to(3)):
            with pytest.raises(
                tf.errors.FailedPreconditionError, match="Attempting to use uninitialized value v"
            ):
                run(fetch)

    def test_initializer_resets_the_value(self, run, v):
        run(v.assign(5))
        run(v.initializer)
        assert run(v) == 1

    def test_initial_value_can_be_fed(self, run):
        value = tf.placeholder(tf.int32, [2])
        v = tf.Variable(value, trainable=False, collections=[])
        run(v.initializer, {value: [3, 4]})
        assert run(v).tolist() == [3, 4]
        run(v.initializer, {v.initial_value: [5, 6]})
        assert run(v).tolist() == [5, 6]

    @pytest.mark.parametrize(
        ("initialize", "is_ready"),
        [
            (tf.global_variables_initializer, [1, 0, 0]),
            (tf.initialize_all_variables, [1, 0, 0]),
            (tf.local_variables_initializer, [0, 1, 0]),
            (tf.initialize_local_variables, [0, 1, 0]),
            (lambda: tf.variables_initializer(tf.get_collection("x"), name="x"), [0, 0, 1]),
            (lambda: tf.initialize_variables(tf.get_collection("x")), [0, 0, 1]),
        ],
    )
    def test_collective_initializer_initializes_its_collection(self, run, initialize, is_ready):
        variables = [tf.Variable(1, collections=[key]) for key in ("variables", "local_variables")]
        variables.append(tf.Variable(1, collections=["x"]))
        assert run(initialize()) is None
        assert run([tf.is_variable_initialized(v) for v in variables]) == is_ready

    def test_initializer_without_variables_does_nothing(self, run):
        op = tf.global_variables_initializer()
        assert (op.type, op.name) == ("NoOp", "init")
        assert run(op) is None
        assert tf.local_variables_initializer().name == "init_1"

    def test_uninitialized_variable_is_reported(self, run):
        assert run(tf.report_uninitialized_variables()).tolist() == []
        with tf.name_scope("s"):
            v = tf.Variable(1, name="v")
        w = tf.Variable(1, name="w", collections=[tf.GraphKeys.LOCAL_VARIABLES])
        hidden = tf.Variable(1, name="hidden", collections=[])
        everything = tf.report_uninitialized_variables()
        assert (everything.dtype, everything.shape.as_list()) == (tf.string, [None])
        assert run(everything).tolist() == [b"s/v", b"w"]
        run(w.initializer)
        assert run(everything).tolist() == [b"s/v"]
        assert run(tf.report_uninitialized_variables([hidden, w])).tolist() == [b"hidden"]
        run(v.initializer)
        assert run(everything).tolist() == []

    def test_each_session_has_its_own_value(self):
        v = tf.Variable(1)
        with tf.Session() as first, tf.Session() as second:
            first.run(v.initializer)
            assert second.run(tf.is_variable_initialized(v)) == np.False_
            second.run(v.initializer)
            second.run(v.assign(2))
            assert (first.run(v), second.run(v)) == (1, 2)

    def test_initial_value_can_use_other_variables(self, run):
        v = tf.Variable(1, name="v")
        w = tf.Variable(v * 2, name="w")
        u = tf.Variable(w.initialized_value() + 1, name="u")
        run(tf.global_variables_initializer())
        assert run([v, w, u]) == [1, 2, 3]
        assert w.initial_value.name == "mul:0"
        assert w.initializer.inputs[1].name == "mul_w:0"
        run(v.assign(10))
        run(w.initializer)
        assert run(w) == 20

    def test_initial_value_can_depend_on_a_condition_over_variables(self, run):
        flag, v = tf.Variable(False), tf.Variable(3)
        w = tf.Variable(tf.cond(flag, lambda: v + 1, lambda: tf.constant(7)))
        run(tf.global_variables_initializer())
        assert run(w) == 7
        run(flag.assign(True))
        run(w.initializer)
        assert run(w) == 4

    def test_initialized_value_is_the_current_value_once_initialized(self, run):
        v = tf.Variable(1)
        value = v.initialized_value()
        assert (value.dtype, value.shape) == (tf.int32, [])
        assert run(value) == 1
        assert not run(tf.is_variable_initialized(v))
        run(v.initializer)
        run(v.assign(5))
        assert run(value) == 5


class TestChanging:
    def test_variable_can_be_assigned_and_updated(self, run, v):
        assert run(v.assign(2)) == 2
        assert run(v.assign_add(4)) == 6
        assert run(v.assign_sub(1)) == 5
        assert run(tf.assign(v, 7)) == run(v) == 7
        assert run(tf.assign_add(v, 1)) == 8
        assert run(tf.assign_sub(v, 2)) == v.eval() == 6
        assert run(v.assign(9, read_value=False)) is None
        assert run(v.assign_add(1, read_value=False)) is None
        assert run(v.assign_sub(2, read_value=False)) is None
        assert run(v) == 8

    def test_update_result_can_be_updated_again(self, run, v):
        twice = tf.assign_add(v.assign_add(1), 10)
        assert twice.dtype == v.dtype
        assert run(twice) == run(v) == 12

    def test_operations_are_named_after_their_types(self):
        v = tf.Variable(1, name="v")
        before = len(op_names())
        v.assign(2)
        v.assign_add(1, name="more")
        v.count_up_to(3)
        tf.is_variable_initialized(v)
        assert op_names()[before:] == [
            *("Assign/value", "Assign", "more/value", "more"),
            *("CountUpTo", "IsVariableInitialized"),
        ]

    def test_load_sets_a_value_without_an_operation(self, run, v):
        w = tf.Variable(v * 2)
        before = len(op_names())
        v.load(9)
        w.load(10, tf.get_default_session())
        assert run([v, w]) == [9, 10]
        assert len(op_names()) == before
        with pytest.raises(ValueError, match=r"Cannot feed value of shape \(2,\)"):
            v.load([1, 2])

    def test_load_and_eval_require_a_session(self):
        v = tf.Variable(1)
        with pytest.raises(ValueError, match="Either session argument should be provided"):
            v.load(2)
        with pytest.raises(ValueError, match=r"Cannot evaluate tensor using `eval\(\)`"):
            v.eval()

    @pytest.mark.parametrize("dtype", [tf.int32, tf.int64])
    def test_count_up_to_returns_the_previous_value_and_stops_at_the_limit(self, run, dtype):
        v = tf.Variable(0, dtype=dtype)
        count = v.count_up_to(2)
        assert count.dtype == dtype
        run(v.initializer)
        assert [run(count), run(count)] == [0, 1]
        for _ in range(2):
            with pytest.raises(tf.errors.OutOfRangeError, match="Reached limit of 2"):
                run(count)
        assert run(v) == 2
        assert run(tf.count_up_to(v, 3)) == 2

    @pytest.mark.parametrize(
        ("make", "error", "words"),
        [
            (
                lambda v: v.assign([1, 2, 3]),
                ValueError,
                "Dimension 0 in both shapes must be equal, but are 2 and 3. Shapes are [2] and [3]."
                " for 'Assign' (op: 'Assign') with input shapes: [2], [3]",
            ),
            (lambda v: v.assign_add([1, 2, 3]), ValueError, "Shapes are [2] and [3]."),
            (lambda v: v.assign(1), ValueError, "Shapes must be equal rank, but are 1 and 0"),
            (lambda v: v.assign([1.5]), TypeError, "Expected int32 passed to parameter 'value'"),
            (
                lambda _: tf.assign(tf.constant(3), 4),
                TypeError,
                "Assign: got <tf.Tensor 'Const:0' shape=() dtype=int32>, expected a variable.",
            ),
            (lambda _: tf.is_variable_initialized(3), TypeError, "got 3, expected a variable."),
            (lambda v: v.count_up_to("a"), TypeError, "Expected int for argument 'limit' not 'a'."),
            (
                lambda _: tf.Variable(1.0).count_up_to(3),
                TypeError,
                "Value passed to parameter 'ref' has DataType float32 not in list of allowed "
                "values: int32, int64",
            ),
        ],
    )
    def test_invalid_changes_are_rejected(self, make, error, words):
        v = tf.Variable([1, 2])
        with pytest.raises(error, match=re.escape(words)):
            make(v)

    def test_shape_can_change_only_with_validate_shape_false(self, run):
        value = tf.placeholder(tf.int32)
        v = tf.Variable([1, 2])
        run(v.initializer)
        with pytest.raises(
            tf.errors.InvalidArgumentError,
            match=re.escape(
                "Assign requires shapes of both tensors to match. lhs shape= [2] rhs shape= [3]"
            ),
        ):
            run(v.assign(value), {value: [1, 2, 3]})
        free = tf.assign(v, value, validate_shape=False)
        assert run(free, {value: [1, 2, 3]}).tolist() == run(v.op.outputs[0]).tolist() == [1, 2, 3]
        assert tf.assign(v, [1, 2, 3], validate_shape=False).shape == [3]


class TestReading:
    def test_variable_can_be_used_like_its_value(self, run, v):
        assert run([v + 1, 3 - v, v * 2, -v, v > 3, v[...]]) == [2, 2, 2, -1, False, 1]
        assert run(np.ones(2, np.int32) + v).tolist() == [2, 2]
        assert run(tf.concat([[v], [v]], 0)).tolist() == [1, 1]
        assert tf.identity(v).dtype == tf.int32
        assert tf.convert_to_tensor(v) is v.value()

    def test_read_value_respects_control_dependencies(self, run, v):
        with tf.control_dependencies([v.assign(3)]):
            later = v.read_value()
        assert later.op.control_inputs[0].type == "Assign"
        assert run(later) == 3

    @pytest.mark.parametrize("what", ["v", "v.value()"])
    def test_variable_can_be_fed(self, run, v, what):
        key = {"v": v, "v.value()": v.value()}[what]
        assert run([v + 1, key], {key: 7}) == [8, 7]
        assert run(v) == 1

    def test_variable_and_its_operations_can_be_fetched_by_name(self, run, v):
        assert run([v.name, "v", "v/read:0", "v/Assign"]) == [1, None, 1, None]

    def test_variable_is_not_iterable_and_keeps_its_type(self, v):
        with pytest.raises(TypeError, match="'Variable' object is not iterable"):
            list(v)
        with pytest.raises(
            ValueError,
            match="Incompatible type conversion requested to type 'float32' for variable of type "
            "'int32_ref'",
        ):
            tf.convert_to_tensor(v, dtype=tf.float32)
        assert bool(v) is True
        assert v != tf.Variable(1)


def test_collections_can_be_filtered_by_scope():
    with tf.name_scope("a"):
        v = tf.Variable(1, name="v")
    w = tf.Variable(1, name="w")
    for key in (tf.GraphKeys.MODEL_VARIABLES, tf.GraphKeys.MOVING_AVERAGE_VARIABLES):
        tf.add_to_collection(key, w)
    assert tf.global_variables() == [v, w]
    assert tf.global_variables("a/") == tf.trainable_variables("a") == [v]
    assert tf.global_variables("v") == tf.local_variables("a") == []
    assert tf.model_variables() == tf.moving_average_variables("w") == [w]
    assert tf.model_variables("a") == []
