"""Variables and their name scopes."""

from typing import Any

import numpy as np

from tensorflow_comparison.table import case


def of(tf: Any, *fetches: Any) -> Any:
    """Initializes the variables, then fetches in order."""
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        return [session.run(fetch) for fetch in fetches]


VARIABLES: list[tuple[Any, dict[str, Any]]] = [
    (3, {}),
    (2.5, {"name": "v"}),
    ([1, 2], {"dtype": "float32"}),
    ([1, 2], {"trainable": False}),
    ("text", {}),
    ([1, 2], {"collections": ["mine"]}),
    (3, {"collections": "mine"}),
    (lambda: [1, 2], {"dtype": "int64"}),
    (None, {}),
    ([[1], [2, 3]], {}),
    ("text", {"dtype": "int32"}),
    (np.zeros([2, 0]), {}),
    (True, {}),
    (2**40, {}),
    ([1.5], {"dtype": "int32"}),
]


@case(*VARIABLES)
def made_of(tf: Any, value: Any, options: dict[str, Any]) -> Any:
    """The initial value of a variable, and the collections that contain it."""
    variable = tf.Variable(value, **options)
    keys = ("variables", "trainable_variables", "local_variables", "mine")
    listed = [key for key in keys if variable in tf.get_collection(key)]
    shape = variable.shape.as_list()
    return variable.name, variable.dtype.name, shape, listed, variable.op.type, of(tf, variable)


@case(*[(name, value) for name in ("assign", "assign_add", "assign_sub") for value in
        ([5, 6], 5, [[5, 6]], [1.5, 2.5], "a", [1], np.array([2, 3], np.int64))])  # fmt: skip
def assigned(tf: Any, name: str, value: Any) -> Any:
    """Values that a variable accepts and rejects."""
    variable = tf.Variable([1, 2])
    return of(tf, getattr(variable, name)(value), variable, getattr(tf, name)(variable, value))


@case((True,), (False,))
def assigned_of_another_shape(tf: Any, validate_shape: bool) -> Any:
    """An assignment that changes the shape."""
    variable = tf.Variable([1, 2], validate_shape=validate_shape)
    return of(tf, tf.assign(variable, [1, 2, 3], validate_shape=validate_shape), variable)


@case((3,), (0,), (-1,), (1.5,))
def counted(tf: Any, limit: Any) -> Any:
    """`count_up_to` to its end."""
    variable = tf.Variable(0)
    count = variable.count_up_to(limit)
    seen: list[Any] = []
    with tf.Session() as session:
        session.run(variable.initializer)
        for _ in range(5):
            try:
                seen.append(session.run(count))
            except tf.errors.OpError as error:
                seen.append(type(error).__name__)
    return seen


@case(("read",), ("assign",), ("add",), ("count",), ("report",), ("is set",), ("initialized",))
def not_initialized(tf: Any, what: str) -> Any:
    """An uninitialized variable."""
    variable = tf.Variable([1, 2], name="v")
    with tf.Session() as session:
        if what == "assign":
            return session.run(variable.assign([5, 6])), session.run(variable)
        if what == "add":
            return session.run(variable.assign_add([5, 6]))
        if what == "report":
            return session.run(tf.report_uninitialized_variables())
        if what == "is set":
            return session.run(tf.is_variable_initialized(variable))
        if what == "initialized":
            return session.run(variable.initialized_value())
        return session.run(tf.Variable(0).count_up_to(1) if what == "count" else variable)


GETS: list[tuple[Any, ...]] = [
    ("v", {"shape": [2]}, {}),
    ("v", {"shape": [2], "dtype": "int32"}, {}),
    ("v", {"shape": [2], "dtype": "bool"}, {}),
    ("v", {"shape": [2], "dtype": "string"}, {}),
    ("v", {"shape": []}, {}),
    ("v", {"shape": 3}, {}),
    ("v", {"shape": [None, 2]}, {}),
    ("v", {}, {}),
    ("v", {"initializer": [1, 2]}, {}),
    ("v", {"initializer": [1, 2], "shape": [2]}, {}),
    ("v", {"initializer": "constant"}, {}),
    ("v", {"shape": [2], "trainable": False}, {}),
    ("v", {"shape": [2]}, {"reuse": True}),
    ("v", {"shape": [2]}, {"reuse": "auto"}),
    ("v", {"shape": [2]}, {"initializer": "constant"}),
    ("v", {"shape": [2]}, {"dtype": "float64"}),
    ("a/b", {"shape": [2]}, {}),
    ("a:b", {"shape": [2]}, {}),
    ("-", {"shape": [2]}, {}),
]


def filled_in(tf: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Options that contain the library's own objects."""
    own = {"constant": tf.constant_initializer(7), "auto": tf.AUTO_REUSE}
    return {
        key: own.get(value, value) if isinstance(value, str) else value
        for key, value in options.items()
    }


@case(*GETS, digits=4)
def got(tf: Any, name: str, options: dict[str, Any], scope: dict[str, Any]) -> Any:
    """`get_variable` in a scope."""
    options.setdefault("initializer", None)
    tf.set_random_seed(1)
    with tf.variable_scope("scope", **filled_in(tf, scope)):
        variable = tf.get_variable(name, **filled_in(tf, options))
    value = of(tf, variable) if options["initializer"] else None
    return variable.name, variable.dtype.name, variable.shape.as_list(), value


@case(
    *[(how, second) for how in (False, True, "auto") for second in
      ({"shape": [2]}, {"shape": [3]}, {"shape": [2], "dtype": "int32"}, {})],
    (None, {"shape": [2]}),
)  # fmt: skip
def got_twice(tf: Any, reuse: Any, second: dict[str, Any]) -> Any:
    """An existing name, with and without reuse."""
    with tf.variable_scope("scope"):
        first = tf.get_variable("v", [2])
    with tf.variable_scope("scope", **filled_in(tf, {"reuse": reuse})):
        again = tf.get_variable("v", **second)
    return again is first, [variable.name for variable in tf.global_variables()]


SCOPES: list[Any] = [
    lambda tf: [tf.constant(1, name="a").name, tf.constant(1, name="a").name],
    lambda tf: [tf.constant(1, name="a").name, tf.constant(1, name="A").name],
    lambda tf: tf.constant(1, name="a/b").name,
    lambda tf: tf.constant(1, name="a/").name,
    lambda tf: tf.constant(1, name="_a").name,
    lambda tf: tf.constant(1, name="a b").name,
    lambda tf: tf.constant(1, name="a_1").name,
    lambda tf: tf.Graph().unique_name("a"),
    lambda tf: [tf.get_default_graph().unique_name("a"), tf.get_default_graph().unique_name("a")],
    lambda tf: tf.get_default_graph().get_operation_by_name("none"),
    lambda tf: tf.get_default_graph().get_tensor_by_name("none"),
    lambda tf: (tf.constant(1) + 2 - 3).name,
    lambda tf: tf.reduce_sum([1, 2]).name,
    lambda tf: (tf.constant([1]) > 2)[0].name,
    lambda tf: [op.name for op in (tf.constant([[1]])[0, 0:1] + 1).graph.get_operations()],
    lambda tf: [op.name for op in tf.one_hot([1], 2).graph.get_operations()],
    lambda tf: [op.name for op in tf.Variable(1).graph.get_operations()],
]


@case(*[(number,) for number in range(len(SCOPES))])
def names(tf: Any, number: int) -> Any:
    """Names of operations."""
    return SCOPES[number](tf)


@case(
    (lambda tf: tf.constant(1, name=""),),
    (lambda tf: tf.get_variable("", [1]),),
    (lambda tf: tf.get_variable(None, [1]),),
)
def empty_name(tf: Any, make: Any) -> Any:
    """An empty name."""
    with tf.variable_scope("scope"):
        return make(tf).name


@case()
def names_in_a_random_operation(tf: Any) -> Any:
    """The operations that a function creates."""
    return [op.name for op in tf.random_uniform([2]).graph.get_operations()]


@case(
    *[(outer, inner) for outer in ("a", "a/", "") for inner in ("b", "a", None, "", "b/", "1")],
    ("a", " "),
    (None, "x"),
    (3, "x"),
)
def name_scopes(tf: Any, outer: Any, inner: Any) -> Any:
    """Nested scopes, each entered twice."""
    results = []
    for _ in range(2):
        with tf.name_scope(outer) as first, tf.name_scope(inner, "default") as second:
            results += [first, second, tf.constant(1, name="c").name]
    return results


@case(
    *[(first, second) for first in ("a", None, "a/b") for second in ("b", "a", None)],
    ("", "b"),
    ("a", ""),
)
def variable_scopes(tf: Any, first: Any, second: Any) -> Any:
    """Names of variables and of operations in variable scopes."""
    results = []
    for _ in range(2):
        with (
            tf.variable_scope(first, "default", reuse=tf.AUTO_REUSE) as outer,
            tf.variable_scope(second, "default") as inner,
        ):
            variable = tf.get_variable("v", [1])
            results += [outer.name, inner.name, variable.name, tf.constant(1, name="c").name]
    return results


@case(("reused",), ("scope itself",), ("back outside",), ("initializer",))
def variable_scope_rules(tf: Any, what: str) -> Any:
    """The rules that apply inside a scope."""
    with tf.variable_scope("a", initializer=tf.constant_initializer(4)) as scope:
        first = tf.get_variable("v", [2])
        if what == "initializer":
            with tf.variable_scope("b"):
                return of(tf, tf.get_variable("w", [2], tf.int32))
        if what == "reused":
            scope.reuse_variables()
            return tf.get_variable("v") is first, tf.get_variable_scope().reuse
    if what == "back outside":
        return tf.get_variable_scope().name, tf.get_variable("v", [1]).name
    with tf.variable_scope("c"), tf.variable_scope(scope, reuse=True) as again:
        return again.name, tf.get_variable("v") is first, tf.constant(1, name="d").name
