import re
import threading

import numpy as np
import pytest

import headrace.tf1 as tf


def made_in(scope):
    """Creates a variable and an operation, and returns all names that depend on the scopes."""
    index = len(tf.global_variables())
    variable = tf.get_variable(f"x{index}", [1])
    return scope.name, scope.original_name_scope, variable.op.name, tf.no_op(name="op").name


class TestNames:
    def test_scope_prefixes_variables_and_operations(self):
        with tf.variable_scope("a") as a:
            assert made_in(a) == ("a", "a/", "a/x0", "a/op")
            with tf.variable_scope("b") as b:
                assert made_in(b) == ("a/b", "a/b/", "a/b/x1", "a/b/op")
        with tf.variable_scope("c/d") as d:
            assert made_in(d) == ("c/d", "c/d/", "c/d/x2", "c/d/op")
        assert tf.get_variable_scope().name == tf.get_variable_scope().original_name_scope == ""

    def test_reentered_name_repeats_only_for_variables(self):
        for number, prefix in enumerate(("a", "a_1")):
            with tf.variable_scope("a") as a:
                assert made_in(a) == ("a", f"{prefix}/", f"a/x{2 * number}", f"{prefix}/op")
                with tf.variable_scope("b") as b:
                    names = "a/b", f"{prefix}/b/", f"a/b/x{2 * number + 1}", f"{prefix}/b/op"
                    assert made_in(b) == names

    def test_reentered_scope_keeps_its_name_anywhere(self):
        with tf.variable_scope("a"), tf.variable_scope("b") as b:
            pass
        with tf.variable_scope("other"), tf.variable_scope(b) as again:
            assert again is not b
            assert made_in(again) == ("a/b", "a/b/", "a/b/x0", "other/b/op")
        with tf.variable_scope(b) as again:
            assert made_in(again) == ("a/b", "a/b/", "a/b/x1", "b/op")
            with tf.name_scope(again.original_name_scope):
                assert tf.no_op(name="op").name == "a/b/op"

    def test_name_scopes_apply_only_to_operations(self):
        with tf.name_scope("n"):
            assert tf.get_variable("plain", [1]).op.name == "plain"
            assert tf.Variable(1, name="plain").op.name == "n/plain"
            with tf.variable_scope("a") as a:
                assert made_in(a) == ("a", "n/a/", "a/x2", "n/a/op")
                with tf.name_scope("m"):
                    assert made_in(a)[2:] == ("a/x3", "n/a/m/op")

    def test_empty_name_enters_no_name_scope(self):
        with tf.name_scope("n"), tf.variable_scope("") as root:
            assert made_in(root) == ("", "", "x0", "n/op")
        with tf.variable_scope("a"), tf.variable_scope(tf.get_variable_scope()) as a:
            assert made_in(a) == ("a", "a/", "a/x1", "a/a/op")

    def test_name_scope_can_be_omitted(self):
        with tf.variable_scope("a", auxiliary_name_scope=False) as a:
            assert made_in(a) == ("a", "", "a/x0", "op")
        with tf.name_scope("n"), tf.variable_scope("a", auxiliary_name_scope=False) as again:
            assert made_in(again) == ("a", "n/", "a/x1", "n/op")

    def test_default_name_is_made_unique(self):
        with tf.variable_scope("d"):
            pass
        for name in ("d_1", "d_2"):
            with tf.variable_scope(None, default_name="d") as scope:
                assert (scope.name, scope.original_name_scope) == (name, f"{name}/")
                for inner in ("e", "e_1"):
                    with tf.variable_scope(None, "e") as e:
                        assert e.name == f"{name}/{inner}"
        with tf.variable_scope("given", "d") as scope:
            assert scope.name == "given"

    def test_nested_scope_names_are_forgotten_after_the_outer_scope(self):
        with tf.variable_scope("a") as a, tf.variable_scope(None, "d") as first:
            pass
        with tf.variable_scope("a"), tf.variable_scope(None, "d") as second:
            pass
        with tf.variable_scope(a), tf.variable_scope(None, "d") as third:
            pass
        with tf.variable_scope(a), tf.variable_scope(None, "d") as fourth:
            pass
        assert {scope.name for scope in (first, second, third, fourth)} == {"a/d"}

    def test_values_determine_the_graph(self):
        x = tf.constant(1)
        with tf.Graph().as_default(), tf.variable_scope("a", values=[x]):
            assert tf.get_variable("v", [1]).graph is x.graph

    def test_name_taken_by_another_operation_is_numbered(self):
        tf.Variable(1, name="v")
        assert tf.get_variable("v", [1]).op.name == "v_1"
        with tf.variable_scope("", reuse=True):
            assert tf.get_variable("v").op.name == "v_1"


class TestReuse:
    def test_variable_is_created_once_and_then_reused(self):
        with tf.variable_scope("a"):
            v = tf.get_variable("v", [2])
        for reuse in (True, tf.AUTO_REUSE):
            with tf.variable_scope("a", reuse=reuse):
                assert tf.get_variable("v", [2]) is tf.get_variable("v") is v
                assert tf.get_variable("v", [None], tf.float32) is v
        assert tf.global_variables() == [v]

    def test_duplicate_variable_is_rejected_without_reuse(self):
        tf.get_variable("v", [2])
        with pytest.raises(
            ValueError,
            match=r"Variable v already exists, disallowed\. Did you mean to set reuse=True or "
            r"reuse=tf\.AUTO_REUSE in VarScope\? Originally defined at:\n\n  .*test_scope",
        ):
            tf.get_variable("v", [2])

    def test_missing_variable_is_rejected_with_reuse(self):
        tf.Variable(1, name="v")
        with (
            tf.variable_scope("", reuse=True),
            pytest.raises(
                ValueError,
                match=r"Variable v does not exist, or was not created with tf\.get_variable\(\)\. "
                r"Did you mean to set reuse=tf\.AUTO_REUSE in VarScope\?",
            ),
        ):
            tf.get_variable("v", [2])

    @pytest.mark.parametrize("reuse", [True, tf.AUTO_REUSE])
    def test_reused_variable_must_match_in_shape_and_type(self, reuse):
        tf.get_variable("v", [2])
        with tf.variable_scope("", reuse=reuse):
            with pytest.raises(
                ValueError,
                match=re.escape(
                    "Trying to share variable v, but specified shape (3,) and found shape (2,)."
                ),
            ):
                tf.get_variable("v", [3])
            with pytest.raises(
                ValueError,
                match="Trying to share variable v, but specified dtype int32 and found dtype "
                "float32_ref",
            ):
                tf.get_variable("v", [2], tf.int32)

    @pytest.mark.parametrize(
        ("outer", "inner", "result"),
        [
            (None, None, False),
            (False, False, False),
            (True, None, True),
            (True, False, True),
            (tf.AUTO_REUSE, False, tf.AUTO_REUSE),
            (tf.AUTO_REUSE, True, True),
            (True, tf.AUTO_REUSE, tf.AUTO_REUSE),
        ],
    )
    def test_reuse_is_inherited_and_cannot_be_disabled_inside(self, outer, inner, result):
        with tf.variable_scope("a", reuse=outer) as a, tf.variable_scope("b", reuse=inner) as b:
            assert b.reuse is result
        with tf.variable_scope(a, reuse=inner) as again:
            assert again.reuse is result
        with tf.variable_scope("a") as a:
            assert a.reuse is False

    def test_reuse_can_start_inside_a_scope(self):
        with tf.variable_scope("a") as a:
            v = tf.get_variable("v", [2])
            a.reuse_variables()
            assert tf.get_variable("v") is v
        with tf.variable_scope(a):
            assert tf.get_variable("v") is v
        tf.get_variable_scope().reuse_variables()
        assert tf.get_variable_scope().reuse is True

    def test_two_pipelines_share_the_variables_of_one_function(self, run):
        def model(x):
            with tf.variable_scope("model", reuse=tf.AUTO_REUSE):
                return x * tf.get_variable("w", [], initializer=tf.constant_initializer(2.0))

        queues = [tf.FIFOQueue(1, [tf.float32], [()]) for _ in range(2)]
        train, evaluate = [model(queue.dequeue()) for queue in queues]
        (w,) = tf.global_variables()
        assert (train.op.name, evaluate.op.name) == ("model/mul", "model_1/mul")
        run(w.initializer)
        run([queue.enqueue([value]) for queue, value in zip(queues, (3.0, 5.0), strict=True)])
        assert run([train, evaluate]) == [6.0, 10.0]

    def test_each_graph_has_its_own_variables(self):
        v = tf.get_variable("v", [1])
        with tf.Graph().as_default():
            assert tf.get_variable("v", [1]) is not v

    def test_threads_share_variables_but_not_scopes(self):
        graph, results = tf.get_default_graph(), []

        def build():
            with graph.as_default():
                results.append(tf.get_variable_scope().name)
                with tf.variable_scope("a", reuse=tf.AUTO_REUSE):
                    results.append(tf.get_variable("v", [1]))

        with tf.variable_scope("a", reuse=tf.AUTO_REUSE):
            threads = [threading.Thread(target=build) for _ in range(4)]
            for thread in threads:
                thread.start()
            v = tf.get_variable("v", [1])
            for thread in threads:
                thread.join(10)
        assert results.count("") == results.count(v) == 4


class TestGetVariable:
    def test_get_variable_uses_the_requested_type_and_value(self, run):
        array = [
            tf.get_variable("a", initializer=3),
            tf.get_variable("b", initializer=np.ones(2)),
            tf.get_variable("c", 2, tf.int64),
            tf.get_variable("d", [2], tf.bool, tf.ones_initializer()),
            tf.get_variable("e", [1], tf.string),
            tf.get_variable("f", [2], initializer=tf.zeros_initializer),
            tf.get_variable("g", initializer=lambda: tf.constant([7, 8])),
            tf.get_variable("h", [2], initializer=lambda shape, dtype: tf.fill(shape, 5.0)),
        ]
        run(tf.global_variables_initializer())
        names = ["int32", "float64", "int64", "bool", "string", "float32", "int32", "float32"]
        assert [v.dtype.base_dtype.name for v in array] == names
        assert [np.asarray(value).tolist() for value in run(array)] == [
            *(3, [1.0, 1.0], [0, 0], [True, True], [b""], [0.0, 0.0], [7, 8], [5.0, 5.0])
        ]

    def test_float_variables_are_glorot_uniform_by_default(self, run):
        tf.set_random_seed(1)
        v = tf.get_variable("v", [200, 100])
        run(v.initializer)
        values, limit = run(v), (6 / 300) ** 0.5
        assert v.initial_value.op.name == "v/Initializer/random_uniform"
        assert np.abs(values).max() <= limit
        assert np.abs(values).max() > 0.99 * limit
        assert abs(values.mean()) < 0.01 * limit

    def test_get_variable_accepts_the_arguments_of_a_variable(self):
        v = tf.get_variable(
            *("v", [2], tf.int32),
            trainable=False,
            collections=["x"],
            validate_shape=False,
            constraint=abs,
        )
        assert (v.trainable, v.constraint, tf.get_collection("x")) == (False, abs, [v])
        assert tf.global_variables() == tf.trainable_variables() == []
        assert v.shape.rank is None

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ({"name": None}, "tf.get_variable: name is None, expected a non-empty string"),
            ({"name": ""}, "tf.get_variable: name is '', expected a non-empty string"),
            (
                {"shape": [1], "initializer": 3.0},
                "If initializer is a constant, do not specify shape.",
            ),
            (
                {"dtype": tf.int32, "initializer": 3.0},
                "Initializer type '<dtype: 'float32'>' and explicit dtype '<dtype: 'int32'>' don't "
                "match.",
            ),
            (
                {"shape": [None]},
                "The initializer passed is not valid. It should be a callable with no arguments "
                "and the shape should not be provided or an instance of "
                "`tf.keras.initializers.*' and `shape` should be fully defined. Variable v was "
                "given shape (?,) and",
            ),
            ({}, "Variable v was given shape <unknown> and"),
            (
                {"shape": [2], "dtype": tf.complex64},
                "An initializer for variable v of <dtype: 'complex64'> is required",
            ),
            ({"partitioner": len}, "tf.get_variable: partitioner is not supported: headrace"),
            ({"custom_getter": len}, "custom_getter is not supported: headrace"),
        ],
    )
    def test_get_variable_rejects_invalid_arguments(self, arguments, words):
        with pytest.raises(ValueError, match=re.escape(words)):
            tf.get_variable(**{"name": "v", **arguments})

    def test_local_variable_is_neither_saved_nor_trained(self):
        v = tf.get_local_variable("v", [1], tf.int32)
        w = tf.get_local_variable("w", [1], collections=["x"], use_resource=False)
        assert tf.local_variables() == [v, w]
        assert tf.global_variables() == tf.trainable_variables() == []
        assert tf.get_collection("x") == [w]
        with tf.variable_scope("", reuse=True):
            assert tf.get_local_variable("v", dtype=tf.int32) is v


class TestScopeSettings:
    def test_scope_settings_are_inherited_and_can_be_replaced(self, run):
        ones, zeros = tf.ones_initializer(), tf.zeros_initializer()
        with tf.variable_scope("a", initializer=ones, dtype=tf.float64, constraint=abs) as a:
            with tf.variable_scope("b") as b:
                assert (b.initializer, b.dtype, b.constraint) == (ones, tf.float64, abs)
                v = tf.get_variable("v", [1])
            with tf.variable_scope("c", initializer=zeros, dtype=tf.float32) as c:
                assert (c.initializer, c.dtype) == (zeros, tf.float32)
            a.set_dtype(tf.int32)
            a.set_initializer(zeros)
            w = tf.get_variable("w", [1])
            u = tf.get_variable("u", initializer=7)
        assert (v.dtype.base_dtype, v.constraint) == (tf.float64, abs)
        assert w.dtype.base_dtype == tf.int32
        run(tf.global_variables_initializer())
        assert run([v, w, u]) == [[1.0], [0], 7]
        assert tf.get_variable_scope().dtype == tf.float32

    def test_regularizer_adds_a_loss_for_each_new_variable(self, run):
        def regularizer(variable):
            return tf.identity(variable * 10, name="loss")

        with tf.variable_scope("a", regularizer=regularizer) as a:
            v = tf.get_variable("v", initializer=2.0)
            tf.get_variable("w", initializer=2, regularizer=tf.no_regularizer)
            assert a.regularizer is regularizer
            a.reuse_variables()
            tf.get_variable("v")
            a.set_regularizer(None)
            assert a.regularizer is None
        (loss,) = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
        assert loss.op.name == "a/v/Regularizer/loss"
        run(v.initializer)
        assert run(loss) == 20

    def test_scope_lists_its_variables(self):
        outside = tf.get_variable("ab", [1])
        with tf.variable_scope("a") as a:
            v = tf.get_variable("v", [1])
            w = tf.get_local_variable("w", [1])
        assert a.global_variables() == a.trainable_variables() == [v]
        assert a.get_collection(tf.GraphKeys.LOCAL_VARIABLES) == a.local_variables() == [w]
        assert tf.get_variable_scope().global_variables() == [outside, v]

    def test_scope_can_be_constructed_manually(self):
        scope = tf.VariableScope(tf.AUTO_REUSE, "a", dtype=tf.int32)
        with tf.variable_scope(scope):
            v = tf.get_variable("v", [1])
            assert tf.get_variable("v", [1]) is v
        assert (v.op.name, v.dtype.base_dtype) == ("a/v", tf.int32)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((None,), TypeError, "If default_name is None then name_or_scope is required"),
        ((3,), TypeError, "VariableScope: name_or_scope must be a string or VariableScope."),
        (("a b",), ValueError, "'a b' is not a valid scope name"),
        ({"reuse": 3}, ValueError, "The reuse parameter must be True or False or None."),
        (
            {"name_or_scope": None, "default_name": "d", "reuse": True},
            ValueError,
            "reuse=True cannot be used without a name_or_scope",
        ),
        (
            {"auxiliary_name_scope": 3},
            TypeError,
            "The auxiliary_name_scope must be `True` or `False`, while get 3",
        ),
        ({"partitioner": len}, ValueError, "tf.variable_scope: partitioner is not supported"),
    ],
)
def test_variable_scope_rejects_invalid_arguments(arguments, error, words):
    if isinstance(arguments, tuple):
        arguments = {"name_or_scope": arguments[0]}
    with (
        pytest.raises(error, match=re.escape(words)),
        tf.variable_scope(**{"name_or_scope": "a", **arguments}),
    ):
        pass
    assert tf.get_variable_scope().name == tf.get_default_graph().get_name_scope() == ""


def test_initializer_can_accept_all_legacy_arguments(run):
    def rows(shape, dtype, partition_info):
        assert partition_info is None
        return np.ones(shape, dtype.as_numpy_dtype)

    variable = tf.get_variable("rows", [2], initializer=rows)
    with tf.Session() as session:
        session.run(variable.initializer)
        assert session.run(variable).tolist() == [1.0, 1.0]
