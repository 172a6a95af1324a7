"""Savers and checkpoints: each library reads the other's files, which are equal byte for byte."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tensorflow_comparison.table import case, generated

VALUES: dict[str, Any] = {
    "whole": np.arange(6, dtype=np.int32).reshape(2, 3),
    "scope/fraction": np.float32(2.5),
    "text": np.array([b"a", b"", b"\xff" * 200], object),
    "empty": np.zeros([0, 4], np.float64),
    "truth": np.array([True, False]),
    "long": np.array([2**40, -1]),
    "byte": np.arange(3, dtype=np.uint8),
    "complex": np.array([1 + 2j], np.complex64),
    "half": np.array([0.5], np.float16),
}

Use = Callable[[Any, Any, Any, Path], Any]


def variables_of(tf: Any, values: dict[str, Any]) -> dict[str, Any]:
    """A variable for each value."""
    return {name: tf.Variable(value, name=name) for name, value in values.items()}


def attempt(tf: Any, use: Callable[[], Any]) -> Any:
    """Returns the result of a call, or its error."""
    try:
        return use()
    except tf.errors.OpError as error:
        return "error", error.error_code
    except (KeyError, OSError, RuntimeError, TypeError, ValueError) as error:
        return "error", type(error).__name__


def contents(directory: Path) -> Any:
    """All files below a directory except graphs. The directory's name is removed from texts."""
    results = []
    for path in sorted(directory.rglob("*")):
        is_read = path.is_file() and path.suffix != ".meta"
        data = path.read_bytes().replace(bytes(directory), b"DIRECTORY") if is_read else b""
        results.append((str(path.relative_to(directory)), data))
    return results


def read(tf: Any, prefix: Path) -> Any:
    """The results of a checkpoint reader and of related functions."""
    reader = tf.train.NewCheckpointReader(str(prefix))
    shapes = reader.get_variable_to_shape_map()
    kinds = reader.get_variable_to_dtype_map()
    return (
        sorted((name, list(shape)) for name, shape in shapes.items()),
        sorted((name, kind.name) for name, kind in kinds.items()),
        [(name, np.asarray(reader.get_tensor(name))) for name in sorted(shapes)],
        [(name, list(shape)) for name, shape in tf.train.list_variables(str(prefix))],
        [np.asarray(tf.train.load_variable(str(prefix), name)) for name in sorted(shapes)],
        [reader.has_tensor("whole"), reader.has_tensor("no")],
    )


@case(with_files=True)
def written(tf: Any, directory: Path) -> Any:
    """A checkpoint with every type."""
    variables_of(tf, VALUES)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(session, str(directory / "model"), global_step=7)
    return Path(path).name, contents(directory), read(tf, directory / "model-7")


@generated("checkpoints", with_files=True)
def exchanged(tf: Any, values: dict[str, Any], files: dict[str, bytes], directory: Path) -> Any:
    """Reads and restores files written by headrace, and writes the same bytes again."""
    for name, data in files.items():
        (directory / name).write_bytes(data)
    variables = variables_of(tf, {name: np.zeros_like(value) for name, value in values.items()})
    saver = tf.train.Saver()
    with tf.Session() as session:
        saver.restore(session, str(directory / "given"))
        restored = [session.run(variables[name]) for name in sorted(variables)]
        saver.save(session, str(directory / "again"), write_state=False)
    return restored, read(tf, directory / "given"), contents(directory)


def _restored(values: dict[str, Any], **options: Any) -> Use:
    """Restores the checkpoint into other variables, and returns their values."""

    def use(tf: Any, session: Any, saved: Any, directory: Path) -> Any:
        with tf.Graph().as_default(), tf.Session() as other:
            variables = variables_of(tf, values)
            saver = tf.train.Saver(**options)
            saver.restore(other, str(directory / "model"))
            return [other.run(variables[name]) for name in sorted(variables)]

    return use


def _renamed(tf: Any, session: Any, saved: Any, directory: Path) -> Any:
    with tf.Graph().as_default(), tf.Session() as other:
        mine = tf.Variable([0, 0], name="mine", dtype=tf.int64)
        left = tf.Variable(3, name="left")
        tf.train.Saver({"long": mine}).restore(other, str(directory / "model"))
        return other.run([mine, tf.report_uninitialized_variables()]), left.name


def _damaged(suffix: str, position: int) -> Use:
    def use(tf: Any, session: Any, saved: Any, directory: Path) -> Any:
        path = directory / f"model.{suffix}"
        data = bytearray(path.read_bytes())
        data[position] ^= 0xFF
        path.write_bytes(data)
        return _restored({"whole": VALUES["whole"] * 0})(tf, session, saved, directory)

    return use


def _without(suffix: str) -> Use:
    def use(tf: Any, session: Any, saved: Any, directory: Path) -> Any:
        (directory / f"model.{suffix}").unlink()
        is_there = tf.train.checkpoint_exists(str(directory / "model"))
        values = {"whole": VALUES["whole"] * 0}
        return is_there, attempt(tf, lambda: _restored(values)(tf, session, saved, directory))

    return use


def _missing(name: str) -> Use:
    return lambda tf, session, saved, directory: tf.train.NewCheckpointReader(
        str(directory / "model")
    ).get_tensor(name)


USES: list[Use] = [
    _restored(VALUES),
    _restored({"whole": np.zeros([3, 2], np.int32)}),
    _restored({"whole": np.zeros([3, 2], np.int32)}, reshape=True),
    _restored({"whole": np.zeros([4, 2], np.int32)}, reshape=True),
    _restored({"whole": np.zeros([2, 3], np.float32)}),
    _restored({"whole": np.zeros([2, 3], np.int32), "no": 1}),
    _renamed,
    _damaged("index", 0),
    _damaged("index", -1),
    _damaged("data-00000-of-00001", 0),
    _without("index"),
    _without("data-00000-of-00001"),
    _missing("no"),
    _missing("whole"),
    lambda tf, session, saved, directory: saved.restore(session, None),
    lambda tf, session, saved, directory: saved.restore(session, str(directory / "no")),
    lambda tf, session, saved, directory: tf.train.NewCheckpointReader(str(directory / "no")),
    lambda tf, session, saved, directory: len(tf.train.list_variables(str(directory))),
    lambda tf, session, saved, directory: tf.train.load_variable(str(directory), "long"),
    lambda tf, session, saved, directory: tf.train.load_variable(str(directory), "long:0"),
    lambda tf, session, saved, directory: tf.train.load_variable(str(directory), "no"),
    lambda tf, session, saved, directory: tf.train.list_variables(str(directory / "no")),
    lambda tf, session, saved, directory: saved.save(session, str(directory / "x"), "text"),
    lambda tf, session, saved, directory: saved.save(None, str(directory / "x")),
    lambda tf, session, saved, directory: saved.save(session, ""),
]


@case(("",), ("model.index",), with_files=True)
def restored_of_no_checkpoint(tf: Any, name: str, directory: Path) -> Any:
    """Restores a directory and a part of a checkpoint."""
    return with_a_checkpoint(
        tf, directory, lambda _, session, saver, path: saver.restore(session, str(path / name))
    )


@case(with_files=True)
def saved_where_no_directory_is(tf: Any, directory: Path) -> Any:
    """A checkpoint in a directory that does not exist."""
    return with_a_checkpoint(
        tf, directory, lambda _, session, saver, path: saver.save(session, str(path / "no" / "x"))
    )


@case(with_files=True)
def saved_under_no_name(tf: Any, directory: Path) -> Any:
    """A checkpoint with an empty prefix for its files."""
    with contextlib.chdir(directory):
        return with_a_checkpoint(
            tf, directory, lambda _, session, saver, prefix: saver.save(session, "")
        )


@case(*[(number,) for number in range(len(USES))], with_files=True)
def used(tf: Any, number: int, directory: Path) -> Any:
    """Valid and invalid uses of a checkpoint."""
    return with_a_checkpoint(tf, directory, USES[number])


def with_a_checkpoint(tf: Any, directory: Path, use: Use) -> Any:
    """Saves every value and uses the checkpoint."""
    variables_of(tf, VALUES)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        saver = tf.train.Saver()
        saver.save(session, str(directory / "model"))
        return attempt(tf, lambda: use(tf, session, saver, directory))


SAVES: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [
    ({}, [{"global_step": step} for step in range(7)]),
    ({"max_to_keep": 2}, [{"global_step": step} for step in (3, 1, 3, 2)]),
    ({"max_to_keep": None}, [{"global_step": step} for step in (1, 2)]),
    ({"max_to_keep": 0}, [{"global_step": step} for step in (1, 2)]),
    ({"max_to_keep": 1}, [{}, {}, {"global_step": 1}]),
    ({"pad_step_number": True}, [{"global_step": 12}]),
    ({"save_relative_paths": True}, [{"global_step": 1}, {"global_step": 2}]),
    ({}, [{"latest_filename": "mine"}, {"latest_filename": "other", "global_step": 1}]),
    ({}, [{"latest_filename": "a/b"}]),
    ({}, [{"write_state": False}]),
    ({}, [{"write_meta_graph": False}]),
    ({}, [{"meta_graph_suffix": "graph"}]),
    ({}, [{"global_step": np.int64(3)}, {"global_step": 2.5}]),
    ({"keep_checkpoint_every_n_hours": 0}, [{"global_step": step} for step in range(7)]),
]


@case(*SAVES, with_files=True)
def saved(tf: Any, options: dict[str, Any], calls: list[dict[str, Any]], directory: Path) -> Any:
    """The files left by several saves, and their list."""
    tf.Variable(1, name="v")
    saver = tf.train.Saver(**options)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for call in calls:
            path = attempt(tf, lambda call=call: saver.save(session, f"{directory}/model", **call))
    names = sorted(item.name for item in directory.iterdir())
    result = tf.train.latest_checkpoint(str(directory))
    state = tf.train.get_checkpoint_state(str(directory))
    paths = [state.model_checkpoint_path, *state.all_model_checkpoint_paths] if state else []
    kept = [path, result or "", *saver.last_checkpoints, *paths]
    return names, [str(item).replace(str(directory), "DIRECTORY") for item in kept]


VAR_LISTS: list[Callable[[Any, Any, Any], Any]] = [
    lambda tf, a, b: None,
    lambda tf, a, b: [a],
    lambda tf, a, b: (a, b),
    lambda tf, a, b: {"x": a, "y/z": b},
    lambda tf, a, b: [],
    lambda tf, a, b: {},
    lambda tf, a, b: [a, a],
    lambda tf, a, b: {"x": 3},
    lambda tf, a, b: a,
    lambda tf, a, b: [tf.constant(1)],
    lambda tf, a, b: {"x": a, "y": a},
]


@case()
def of_a_number(tf: Any) -> Any:
    """A saver of a value that is not a variable."""
    return tf.train.Saver([3]).last_checkpoints


@case(*[(number,) for number in range(len(VAR_LISTS))], with_files=True)
def of_variables(tf: Any, number: int, directory: Path) -> Any:
    """The variables that a saver saves, and their names."""
    first, second = tf.Variable([1, 2], name="a"), tf.Variable(2.5, name="b", trainable=False)
    tf.Variable(3, name="local", collections=[tf.GraphKeys.LOCAL_VARIABLES])
    saver = tf.train.Saver(VAR_LISTS[number](tf, first, second))
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        saver.save(session, str(directory / "model"))
    return read(tf, directory / "model")


@case(("nothing",), ("not set",), ("empty",), ("later",), ("finalized",))
def savers(tf: Any, what: str) -> Any:
    """Savers without variables, with variables that have no values, and of a finalized graph."""
    if what in ("nothing", "empty"):
        return tf.train.Saver(allow_empty=what == "empty").last_checkpoints
    saver = tf.train.Saver(defer_build=True) if what == "later" else None
    tf.Variable(1, name="v")
    if saver is None:
        saver = tf.train.Saver()
    with tf.Session() as session:
        if what == "finalized":
            tf.get_default_graph().finalize()
        elif what == "later":
            saver.build()
        return saver.save(session, "/nowhere/model" if what == "later" else "/tmp/model")


STATES: list[dict[str, Any]] = [
    {"model_checkpoint_path": "model-1"},
    {"model_checkpoint_path": "model-1", "all_model_checkpoint_paths": ["model-0", "model-1"]},
    {"model_checkpoint_path": "model-2", "all_model_checkpoint_paths": ["model-0", "model-1"]},
    {"model_checkpoint_path": "/abs/model-1", "all_model_checkpoint_paths": ["/abs/model-1"]},
    {"model_checkpoint_path": "model-1", "latest_filename": "mine"},
    {"model_checkpoint_path": 'quo"te'},
    {"model_checkpoint_path": "\u00e9"},
]


@case(*[(state,) for state in STATES], with_files=True)
def states(tf: Any, state: dict[str, Any], directory: Path) -> Any:
    """The file that lists the checkpoints."""
    tf.train.update_checkpoint_state(str(directory), **state)
    names = [state.get("latest_filename"), None, "no"]
    results = [tf.train.get_checkpoint_state(str(directory), name) for name in names]
    paths = [
        [item.model_checkpoint_path, *item.all_model_checkpoint_paths] if item else None
        for item in results
    ]
    latest = tf.train.latest_checkpoint(str(directory))
    return contents(directory), str(paths).replace(str(directory), "DIRECTORY"), latest


@case(
    ("",),
    ("# only a comment",),
    ("model_checkpoint_path: 'x'",),
    ('model_checkpoint_path: "a"\nall_model_checkpoint_paths: "b"\n# c\n',),
    with_files=True,
)
def states_by_hand(tf: Any, text: str, directory: Path) -> Any:
    """Handwritten lists of checkpoints."""
    return listed(tf, text, directory)


@case(("junk",), ("other: 1",), ('model_checkpoint_path: "mod',), with_files=True)
def states_that_are_damaged(tf: Any, text: str, directory: Path) -> Any:
    """Damaged lists of checkpoints."""
    return listed(tf, text, directory)


def listed(tf: Any, text: str, directory: Path) -> Any:
    """The contents of a list of checkpoints."""
    (directory / "checkpoint").write_text(text)
    state = tf.train.get_checkpoint_state(str(directory))
    paths = [state.model_checkpoint_path, *state.all_model_checkpoint_paths] if state else None
    return str(paths).replace(str(directory), "DIRECTORY")
