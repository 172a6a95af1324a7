"""Variable scopes: names, collections and attributes of variables and operations."""

from collections.abc import Callable
from typing import Any

from tensorflow_comparison.table import case

Use = Callable[[Any], Any]


def names(tf: Any) -> list[str]:
    """All operations of the graph, in order."""
    return [op.name for op in tf.get_default_graph().get_operations()]


def in_scope(tf: Any, *scopes: Any, make: Callable[[], Any], **options: Any) -> Any:
    """Calls a function in nested scopes, with options for the innermost one."""
    if not scopes:
        return make()
    first, *rest = scopes
    with tf.variable_scope(first, **({} if rest else options)):
        return in_scope(tf, *rest, make=make, **options)


INITIALIZERS: list[Use] = [
    lambda tf: None,
    lambda tf: tf.zeros_initializer(),
    lambda tf: tf.ones_initializer,
    lambda tf: tf.constant_initializer(0.5),
    lambda tf: tf.random_uniform_initializer(-1, 1, seed=3),
    lambda tf: tf.random_normal_initializer(stddev=0.1),
    lambda tf: tf.truncated_normal_initializer(stddev=0.1),
    lambda tf: tf.glorot_uniform_initializer(),
    lambda tf: tf.constant([[1.0, 2.0], [3.0, 4.0]]),
    lambda tf: [[1.0, 2.0], [3.0, 4.0]],
    lambda tf: lambda shape, dtype=None, partition_info=None: tf.ones(shape, dtype),
]


@case(*[(number,) for number in range(len(INITIALIZERS))])
def made_with(tf: Any, number: int) -> Any:
    """The operations that `get_variable` creates."""
    initializer = INITIALIZERS[number](tf)
    shape = [2, 2] if number < 8 or number == 10 else None
    with tf.variable_scope("scope"):
        variable = tf.get_variable("v", shape, initializer=initializer)
    # The versions shift and scale random numbers in different ways.
    kept = [
        name for name in names(tf) if "Initializer/random" not in name or number not in (0, 4, 7)
    ]
    return variable.name, variable.op.type, variable.initializer.name, kept


USES: list[Use] = [
    lambda tf: in_scope(tf, "a", "b", make=lambda: tf.get_variable("v", [1]).name),
    lambda tf: in_scope(tf, "a", "a", make=lambda: tf.get_variable("v", [1]).name),
    lambda tf: in_scope(tf, "a/b", make=lambda: tf.get_variable("c/v", [1]).name),
    lambda tf: in_scope(tf, "a", make=lambda: tf.Variable(1, name="v").name),
    lambda tf: [in_scope(tf, "a", make=lambda: tf.Variable(1, name="v").name) for _ in range(2)],
    lambda tf: [in_scope(tf, "a", make=lambda: tf.constant(1).name) for _ in range(2)],
    lambda tf: [in_scope(tf, None, make=lambda: 1)],
    lambda tf: in_scope(tf, None, default_name="d", make=lambda: tf.get_variable("v", [1]).name),
    lambda tf: [
        in_scope(tf, None, default_name="d", make=lambda: tf.get_variable("v", [1]).name)
        for _ in range(3)
    ],
    lambda tf: in_scope(tf, "a", default_name="d", make=lambda: tf.get_variable("v", [1]).name),
    lambda tf: [in_scope(tf, "a", make=lambda: tf.get_variable("v", [1]).name) for _ in range(2)],
    lambda tf: [
        in_scope(tf, "a", reuse=tf.AUTO_REUSE, make=lambda: tf.get_variable("v", [1]).name)
        for _ in range(2)
    ],
    lambda tf: in_scope(tf, "a", reuse=True, make=lambda: tf.get_variable("v", [1]).name),
    lambda tf: in_scope(
        tf, "a", "b", reuse=tf.AUTO_REUSE, make=lambda: tf.get_variable_scope().reuse is True
    ),
    lambda tf: in_scope(
        tf, "a", auxiliary_name_scope=False,
        make=lambda: [tf.get_variable("v", [1]).name, tf.constant(1).name],
    ),
    lambda tf: in_scope(
        tf, "a", initializer=tf.zeros_initializer(), dtype=tf.float64,
        make=lambda: tf.get_variable("v", [1]).dtype.name,
    ),
    lambda tf: in_scope(
        tf, "a", make=lambda: [tf.get_variable_scope().name, tf.get_variable_scope().reuse,
                               tf.get_variable_scope().original_name_scope],
    ),
    lambda tf: in_scope(tf, "a", "b", make=lambda: tf.get_variable_scope().original_name_scope),
    lambda tf: in_scope(tf, 3, make=lambda: 1),
    lambda tf: in_scope(tf, "", make=lambda: tf.get_variable("v", [1]).name),
    lambda tf: in_scope(tf, "a b", make=lambda: tf.get_variable("v", [1]).name),
    lambda tf: tf.get_variable("v", [2], collections=["mine"]) in tf.get_collection("mine"),
    lambda tf: len([tf.get_variable("v", [2], collections=["mine"]), *tf.global_variables()]),
    lambda tf: tf.get_variable("v", [2], regularizer=lambda v: tf.reduce_sum(v, name="loss")).name,
    lambda tf: [
        tf.get_variable("v", [2], regularizer=lambda v: tf.reduce_sum(v, name="loss")).name,
        [t.name for t in tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)],
    ],
    lambda tf: tf.get_local_variable("v", [2]) in tf.local_variables(),
    lambda tf: tf.get_local_variable("v", [2]) in tf.trainable_variables(),
    lambda tf: tf.get_variable("v", initializer=3).dtype.name,
    lambda tf: tf.get_variable("v", initializer=lambda: tf.ones([3])).shape.as_list(),
    lambda tf: tf.get_variable("v", [3], initializer=lambda: tf.ones([3])).shape.as_list(),
    lambda tf: tf.get_variable("v", [3], initializer=lambda: tf.ones([4])).shape.as_list(),
    lambda tf: tf.get_variable("v", [3], initializer=[1.0, 2.0]).shape.as_list(),
    lambda tf: tf.get_variable("v", [3], trainable=False) in tf.trainable_variables(),
    lambda tf: tf.get_variable("v"),
    lambda tf: tf.get_variable("v", [None]),
    lambda tf: tf.get_variable("v", [-1]),
    lambda tf: tf.get_variable("v", [1], "int32").dtype.name,
    lambda tf: tf.get_variable("v", [1], "no"),
    lambda tf: tf.get_variable("v/", [1]).name,
    lambda tf: tf.get_variable("/v", [1]).name,
    lambda tf: tf.get_variable("v:0", [1]).name,
]  # fmt: skip


@case(*[(number,) for number in range(len(USES))])
def used(tf: Any, number: int) -> Any:
    """The effects of scopes and `get_variable`."""
    return USES[number](tf)


KEYS = ["global_variables", "trainable_variables", "local_variables", "variables", "summaries"]


@case(*[(key, scope) for key in KEYS for scope in (None, "a", "a/", "b", ".*b", "no", "v")])
def listed(tf: Any, key: str, scope: str | None) -> Any:
    """The contents of collections, for a scope or for the whole graph."""
    with tf.variable_scope("a"):
        tf.get_variable("v", [1])
        with tf.variable_scope("b"):
            tf.get_variable("v", [1], trainable=False)
            tf.summary.scalar("s", 1.0)
    tf.Variable(1, name="ab")
    tf.get_local_variable("b", [1])
    result = getattr(tf, key)(scope) if hasattr(tf, key) else tf.get_collection(key, scope)
    return [item.name for item in result]


@case(("again",), ("inside",), ("name",), ("renamed",), ("reused",), ("root",))
def entered_twice(tf: Any, how: str) -> Any:
    """A scope that is entered through its object."""
    with tf.variable_scope("a", initializer=tf.constant_initializer(3.0)) as scope:
        first = tf.get_variable("v", [1])
    if how == "again":
        with tf.variable_scope(scope):
            return tf.get_variable("w", [1]).name, tf.constant(1).name
    if how == "inside":
        with tf.variable_scope("b"), tf.variable_scope(scope):
            return tf.get_variable("w", [1]).name, tf.constant(1).name
    if how == "name":
        with tf.variable_scope(scope), tf.name_scope(scope.original_name_scope):
            return tf.get_variable("w", [1]).name, tf.constant(1).name
    if how == "renamed":
        with tf.name_scope("n"), tf.variable_scope(scope):
            return tf.get_variable("w", [1]).name, tf.constant(1).name
    if how == "reused":
        with tf.variable_scope(scope, reuse=True) as again:
            return tf.get_variable("v", [1]) is first, again.name, again.reuse
    tf.get_variable_scope().reuse_variables()
    with tf.variable_scope("a"):
        return tf.get_variable("v", [1]) is first


@case(("given", None), (None, "default"), (None, None))
def old_forms(tf: Any, name: str | None, default_name: str | None) -> Any:
    """Scopes with values as the first argument."""
    value = tf.constant(1)
    with tf.op_scope([value], name, default_name) as scope:
        inside = tf.constant(1, name="a").op.name
    with tf.variable_op_scope([value], name, default_name):
        return str(scope), inside, tf.get_variable("v", []).name, tf.constant(1, name="a").op.name
