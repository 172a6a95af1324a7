"""Learning-rate schedules, moving averages, tensor descriptions, and newer names for files."""

from pathlib import Path
from typing import Any

from tensorflow_comparison.table import case

_STEPS = (0, 1, 3, 4, 7, 10, 19, 20, 21, 65)


@case(
    *[
        (name, arguments, options)
        for name in ("exponential_decay", "natural_exp_decay", "inverse_time_decay")
        for arguments in ((10, 0.5), (4, 0.96))
        for options in ({}, {"staircase": True})
    ],
    ("polynomial_decay", (10,), {}),
    ("polynomial_decay", (10, 0.01), {"power": 2.0}),
    ("polynomial_decay", (10, 0.01), {"power": 0.5, "cycle": True}),
    ("cosine_decay", (20,), {}),
    ("cosine_decay", (20, 0.25), {}),
    ("cosine_decay_restarts", (4,), {}),
    ("cosine_decay_restarts", (4, 1.0, 0.5), {}),
    ("cosine_decay_restarts", (4,), {"t_mul": 1.5, "m_mul": 0.8, "alpha": 0.1}),
    ("linear_cosine_decay", (20,), {}),
    ("linear_cosine_decay", (20,), {"num_periods": 3.5, "alpha": 0.2, "beta": 0.01}),
    ("noisy_linear_cosine_decay", (20,), {"initial_variance": 0.0}),
    digits=5,
)
def rates(tf: Any, name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Each decay at several steps, also in float64 if TensorFlow supports that."""
    step = tf.placeholder(tf.int64, [])
    decay = getattr(tf.train, name)
    fetches = [decay(0.1, step, *arguments, name="rate", **options)]
    if "cosine" not in name and "cycle" not in options:
        fetches.append(decay(tf.constant(0.1, tf.float64), step, *arguments, **options))
    names = [rate.name for rate in fetches if not name.startswith("cosine")]
    with tf.Session() as session:
        return names, [session.run(fetches, {step: number}) for number in _STEPS]


@case(
    ("int64", [3, 10], [1.0, 0.5, 0.25]),
    ("int32", [4], [1, 2]),
    ("float32", [3.5, 7.0, 20.0], [1.0, 0.5, 0.25, 0.125]),
    ("int32", [10, 3], [1.0, 0.5, 0.25]),
    ("float32", [3], [1.0, 2.0]),
    ("int64", [3, 10], [1.0, 2]),
)
def rates_of_phases(tf: Any, dtype: str, boundaries: list[Any], values: list[Any]) -> Any:
    """Piecewise constants, with boundaries that do not increase or have another type."""
    step = tf.placeholder(dtype, [])
    rate = tf.train.piecewise_constant(step, boundaries, values)
    with tf.Session() as session:
        return [session.run(rate, {step: number}) for number in _STEPS]


@case(*[(name,) for name in ("exponential_decay", "polynomial_decay", "cosine_decay")])
def rates_without_a_step(tf: Any, name: str) -> Any:
    """A missing step."""
    return getattr(tf.train, name)(0.1, None, 10, 0.5)


@case(
    *[(updates, debias) for updates in (None, 0, 7) for debias in (False, True)],
    digits=5,
)
def averages(tf: Any, num_updates: int | None, debias: bool) -> Any:
    """The average of a variable, and of another tensor, which starts at 0."""
    with tf.variable_scope("layer"):
        weights = tf.get_variable("w", initializer=[1.0, 2.0])
    total = tf.reduce_sum([1.0, 2.5], name="total")
    average = tf.train.ExponentialMovingAverage(0.9, num_updates, debias, name="mean")
    before = average.average_name(weights), average.average(weights)
    step = weights.assign_add([1.0, -0.5])
    with tf.control_dependencies([step]):
        update = average.apply([weights, total])
    names = sorted(variable.name for variable in tf.global_variables())
    kept = sorted((name, v.name) for name, v in average.variables_to_restore().items())
    watched = [variable.name for variable in tf.moving_average_variables()]
    fetches = [average.average(weights), average.average(total)]
    rows = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(update)
            rows.append(session.run(fetches))
    return before, names, kept, watched, update.name, average.average_name(total), rows


@case()
def averages_of_all(tf: Any) -> Any:
    """All trainable variables. A second call adds no variables."""
    tf.Variable(1.0, name="a")
    tf.Variable(2, name="b", trainable=False)
    average = tf.train.ExponentialMovingAverage(0.5)
    first, second = average.apply(), average.apply()
    names = [variable.name for variable in tf.global_variables()]
    return names, first.name, second.name, average.average(tf.global_variables()[1])


@case()
def averages_of_integers(tf: Any) -> Any:
    """Only floats can be averaged."""
    return tf.train.ExponentialMovingAverage(0.5).apply([tf.Variable(3)])


@case(([None], [3]), ([2, None], [2, 3]), (None, [4]), ([2], [3]), ([2], None))
def specs(tf: Any, first: Any, second: Any) -> Any:
    """Compatible and incompatible shapes."""
    one, other = tf.TensorSpec(first, tf.int32, "n"), tf.TensorSpec(second, tf.int32, "n")
    tensor = tf.placeholder(tf.int32, second, name="p")
    common = one.most_specific_compatible_type(other)
    return [
        one.is_compatible_with(other),
        one.is_compatible_with(tensor),
        one == other,
        one == tf.TensorSpec(first, tf.int32, "n"),
        tf.TensorSpec.from_tensor(tensor).name,
        tf.TensorSpec.from_spec(one, name="m").name,
        str(common.shape.rank),
        tf.TensorSpec([2]).dtype.name,
    ]


@case(with_files=True)
def newer_names_of_files(tf: Any, directory: Path) -> Any:
    """`tf.io.gfile`."""
    files = tf.io.gfile
    top = str(directory)
    files.makedirs(f"{top}/a/b")
    files.mkdir(f"{top}/c")
    with files.GFile(f"{top}/a/f.txt", "w") as file:
        file.write("text")
    files.copy(f"{top}/a/f.txt", f"{top}/c/g.txt")
    files.rename(f"{top}/a/f.txt", f"{top}/c/g.txt", overwrite=True)
    walked = [*files.walk(top), *files.walk(f"{top}/none")]
    seen = sorted((path.removeprefix(top), sorted(d), sorted(f)) for path, d, f in walked)
    results = [path.removeprefix(top) for path in files.glob(f"{top}/*/g.txt")]
    facts = files.isdir(f"{top}/c"), files.exists(f"{top}/a/f.txt"), files.stat(top + "/c/g.txt")
    files.remove(f"{top}/c/g.txt")
    files.rmtree(f"{top}/a")
    return seen, results, facts[:2], facts[2].length, files.listdir(top)


@case(*[(operation,) for operation in ("listdir", "remove", "rmtree", "stat", "rename", "copy")])
def newer_names_of_no_file(tf: Any, operation: str) -> Any:
    """Errors of files that do not exist."""
    arguments = ["/no/such/file"] + ["/no/other"] * (operation in {"rename", "copy"})
    return getattr(tf.io.gfile, operation)(*arguments)


@case(("SAME",), ("VALID",), ("FULL",))
def patches(tf: Any, padding: str) -> Any:
    """`tf.image.extract_patches`."""
    images = tf.reshape(tf.range(2 * 5 * 6 * 2), [2, 5, 6, 2])
    return tf.image.extract_patches(images, [1, 3, 2, 1], [1, 2, 2, 1], [1, 1, 2, 1], padding)
