"""Random numbers are equal for equal seeds, in each run of a session."""

from typing import Any

import numpy as np

from tensorflow_comparison.table import case

SEEDS = [(graph, seed) for graph in (None, 0, 7) for seed in (0, 3, -1)]


def run_twice(tf: Any, tensor: Any) -> Any:
    """Runs a tensor twice in a session and once in another."""
    with tf.Session() as one, tf.Session() as other:
        return [one.run(tensor), one.run(tensor), other.run(tensor)]


@case(*[(*seeds, name) for seeds in SEEDS for name in ("uniform", "normal", "truncated")], digits=5)
def numbers(tf: Any, graph_seed: int | None, seed: int | None, name: str) -> Any:
    """Numbers of each distribution, for seeds of the graph and of the operation."""
    tf.set_random_seed(graph_seed)
    function = tf.truncated_normal if name == "truncated" else getattr(tf, f"random_{name}")
    return run_twice(tf, function([7], seed=seed))


@case((7,), (0,))
def numbers_of_the_graphs_seed(tf: Any, seed: int) -> Any:
    """Numbers of an operation without its own seed."""
    tf.set_random_seed(seed)
    return tf.random_uniform([2])


@case(
    *[({"dtype": dtype},) for dtype in ("float16", "float64", "int32", "int64", "string", "bool")],
    *[({"dtype": dtype, "maxval": 9},) for dtype in ("int32", "int64", "float64", "uint8")],
    *[({"minval": low, "maxval": high, "dtype": "int32"},) for low, high in ((-5, 5), (5, 5))],
    *[({"minval": low, "maxval": high},) for low, high in ((-5, 5), (5, 5), (7, 5))],
    ({"minval": 9, "maxval": 2, "dtype": "int32"},),
    digits=5,
)
def uniform(tf: Any, options: dict[str, Any]) -> Any:
    """Types and bounds of uniform numbers."""
    return run_twice(tf, tf.random_uniform([2, 5], seed=4, **options))


@case(
    *[({"mean": 5.0, "stddev": 0.5},), ({"dtype": "float64"},), ({"dtype": "int32"},)],
    *[({"stddev": [1.0, 2.0, 3.0]},), ({"stddev": -1.0},), ({"mean": 1},), ({"dtype": "float16"},)],
    digits=3,
)
def normal(tf: Any, options: dict[str, Any]) -> Any:
    """Types, means and deviations of normal numbers."""
    return run_twice(tf, tf.random_normal([3, 3], seed=4, **options))


@case(*[({"mean": 5.0, "stddev": 0.5},), ({"dtype": "float64"},), ({"dtype": "int32"},)], digits=3)
def truncated(tf: Any, options: dict[str, Any]) -> Any:
    """Types, means and deviations of truncated normal numbers."""
    return run_twice(tf, tf.truncated_normal([60], seed=4, **options))


@case(*[(shape,) for shape in ([], [0], [3, 0, 2], [1000], [-1], 5, [2.5], "a", [[2]])], digits=4)
def shaped(tf: Any, shape: Any) -> Any:
    """Accepted shapes."""
    return tf.random_uniform(shape, seed=1), tf.random_normal(shape, seed=1)


@case(*[(value, *seeds) for value in (np.arange(12), np.arange(10).reshape(5, 2), ["a", "b", "c"])
        for seeds in ((None, 1), (3, None), (3, 1), (None, 0))],
      (np.zeros([0, 2]), None, 1), (3, None, 1), ([1], None, 1))  # fmt: skip
def shuffled(tf: Any, value: Any, graph_seed: int | None, seed: int | None) -> Any:
    """Rows in another order."""
    tf.set_random_seed(graph_seed)
    return run_twice(tf, tf.random_shuffle(value, seed=seed))


@case(*[(graph, seed) for graph in (None, 0, 5, 2**40) for seed in (None, 0, -3, 2**33)])
def seeds_of(tf: Any, graph_seed: int | None, seed: int | None) -> Any:
    """`get_seed` in a graph without operations."""
    tf.set_random_seed(graph_seed)
    return [None if part is None else int(part) for part in tf.get_seed(seed)]


@case(("a",), (1.5,), ([1],))
def seed_of_the_wrong_type(tf: Any, seed: Any) -> Any:
    """Values that cannot be a seed."""
    return tf.random_uniform([2], seed=seed)


@case(
    *[(name, {}) for name in ("random_uniform", "random_normal", "truncated_normal")],
    *[(name, {}) for name in ("glorot_uniform", "glorot_normal", "variance_scaling")],
    *[("variance_scaling", {"mode": mode}) for mode in ("fan_out", "fan_avg", "bogus")],
    *[("variance_scaling", {"distribution": d}) for d in ("uniform", "untruncated_normal", "x")],
    ("variance_scaling", {"scale": -1.0}),
    digits=4,
)
def initial_values(tf: Any, name: str, options: dict[str, Any]) -> Any:
    """The values of initializers."""
    initializer = getattr(tf, f"{name}_initializer", None) or getattr(tf.initializers, name)
    return tf.get_variable("v", [3, 4], initializer=initializer(seed=5, **options))
