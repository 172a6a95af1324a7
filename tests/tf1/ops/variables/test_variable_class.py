"""`tf.Variable` is a class, of which every variable is an instance."""

import inspect
from abc import ABC
from functools import singledispatch

import pytest

import headrace.tf1 as tf
from headrace.tf1 import ops

MAKERS = {
    "tf.Variable": lambda: tf.Variable(1, name="v"),
    "ops.Variable": lambda: ops.Variable(1, name="v"),
    "tf.get_variable": lambda: tf.get_variable("v", initializer=1),
    "ops.get_variable": lambda: ops.get_variable("v", initializer=1),
    "tf.get_local_variable": lambda: tf.get_local_variable("v", initializer=1),
    "subclass": lambda: Counter(1),
}


class Counter(tf.Variable, ABC):
    """A variable with a method more."""

    def __init__(self, start):
        super().__init__(start, False, None, True, None, "v")

    def up(self):
        return self.assign_add(1)


@pytest.mark.parametrize("maker", MAKERS)
def test_every_variable_is_an_instance_of_tf_variable(maker):
    v = MAKERS[maker]()
    assert isinstance(v, tf.Variable)
    assert issubclass(type(v), tf.Variable)
    assert isinstance(v, ops.Variable)
    assert isinstance(v, Counter) == (maker == "subclass")
    assert repr(v) == "<tf.Variable 'v:0' shape=() dtype=int32_ref>"
    assert type(v).__name__ == ("Counter" if maker == "subclass" else "Variable")


@pytest.mark.parametrize("other", [1, "v", None, ops.Variable])
def test_other_objects_are_not_instances(other):
    assert not isinstance(other, tf.Variable)
    assert not isinstance(tf.constant(1), tf.Variable)
    assert not issubclass(tf.Tensor, tf.Variable)


def test_subclass_keeps_its_own_instances():
    class Other(tf.Variable):
        pass

    v = Counter(1)
    assert not isinstance(v, Other)
    assert not isinstance(tf.Variable(1), Counter)
    assert tf.trainable_variables() == tf.trainable_variables("Variable")
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(v.up()) == 2


def test_singledispatch_on_the_class_matches_every_variable():
    @singledispatch
    def kind(_):
        return "other"

    kind.register(tf.Variable, lambda _: "variable")
    assert [kind(ops.Variable(1)), kind(tf.Variable(1)), kind(1)] == ["variable"] * 2 + ["other"]


def test_both_classes_have_the_same_attributes():
    def names(item):
        return {name for name in dir(item) if not name.startswith(("_abc", "__abstract"))}

    assert names(tf.Variable) == names(ops.Variable)
    assert names(tf.Variable(1)) == names(ops.Variable(1))


def test_core_functions_omit_arguments_without_effect_in_tensorflow_1():
    only_here = {
        *("caching_device", "variable_def", "expected_shape", "import_scope", "use_resource"),
        *("synchronization", "aggregation", "partitioner", "custom_getter"),
    }
    for name in ("Variable", "get_variable", "get_local_variable", "variable_scope"):
        core, face = (inspect.signature(getattr(space, name)).parameters for space in (ops, tf))
        assert not only_here & set(core), name
        assert set(core) < set(face), name


@pytest.mark.parametrize("make", [tf.get_variable, tf.get_local_variable])
@pytest.mark.parametrize("argument", ["partitioner", "custom_getter"])
def test_unsupported_argument_is_rejected(make, argument):
    with pytest.raises(ValueError, match=rf"^tf\.get_variable: {argument} is not supported"):
        make("v", [2], **{argument: len})
    assert tf.global_variables() == tf.local_variables() == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"initial_value": 1, "variable_def": 3}, "tf.Variable: variable_def is not supported"),
        ({}, "initial_value must be specified."),
    ],
)
def test_variable_without_an_initial_value_is_rejected(arguments, message):
    with pytest.raises(ValueError, match=message):
        tf.Variable(**arguments)
