"""Every path argument accepts a `pathlib.Path`, with the same result as its text."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headrace.tf1 as tf
import headrace.tf1.queues as eager
from headrace.io import records

NAME = "números.txt"


class Files:
    """A directory with a file of lines, one of records, an event file and a checkpoint."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.lines = directory / NAME
        self.lines.write_text("1\n2\n")
        self.records = directory / "records"
        with tf.python_io.TFRecordWriter(str(self.records)) as writer:
            writer.write(b"record")
        self.logs = directory / "logs"
        with tf.summary.FileWriter(str(self.logs)) as writer:
            writer.add_summary(tf.Summary(), 1)
        self.variable = tf.Variable(3.0, name="v")
        self.saver = tf.train.Saver([self.variable])
        self.checkpoint = directory / "model"
        self.session = tf.Session()
        self.session.run(self.variable.initializer)
        self.saver.save(self.session, str(self.checkpoint))


def run(fetches: Any, **kwargs: Any) -> Any:
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        return session.run(fetches, **kwargs)


def through(queue: Any, vals: Any, method: str = "enqueue") -> Any:
    with tf.Session() as session:
        session.run(getattr(queue, method)(vals))
        return session.run(queue.dequeue())


def read_lines(names: Any) -> list[bytes]:
    """Reads all lines of files with queue runners."""
    queue = tf.train.string_input_producer(names, num_epochs=1, shuffle=False)
    line = tf.TextLineReader().read(queue).value
    results = []
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        while not coord.should_stop():
            try:
                results.append(session.run(line))
            except tf.errors.OutOfRangeError:
                coord.request_stop()
        coord.join(threads)
    return results


def strings() -> Any:
    return tf.FIFOQueue(3, [tf.string], [[]])


def fed(value: Any) -> Any:
    tensor = tf.placeholder(tf.string)
    return run(tf.identity(tensor), feed_dict={tensor: value})


def write(files: Files, kind: Callable[..., Any], path: Any) -> Any:
    with kind(path) as writer:
        writer.write(b"abc")
    return Path(path).stat().st_size


def eager_through(value: Any) -> Any:
    queue = eager.FIFOQueue(3, [tf.string], [[]])
    queue.enqueue(value)
    return queue.dequeue()


def copied(files: Files, as_given: Callable[[Path], Any]) -> str:
    tf.gfile.Copy(as_given(files.lines), as_given(files.directory / "b"), overwrite=True)
    tf.gfile.Rename(as_given(files.directory / "b"), as_given(files.directory / "c"), True)
    text = tf.gfile.GFile(as_given(files.directory / "c")).read()
    tf.gfile.Remove(as_given(files.directory / "c"))
    return text


def make_directories(files: Files, as_given: Callable[[Path], Any]) -> list[bool]:
    path = as_given(files.directory / "new")
    tf.gfile.MkDir(path)
    tf.gfile.MakeDirs(as_given(files.directory / "new" / "er"))
    results = [tf.gfile.IsDirectory(path), tf.gfile.Exists(path)]
    tf.gfile.DeleteRecursively(path)
    return [*results, tf.gfile.Exists(path)]


def saved(files: Files, as_given: Callable[[Path], Any]) -> Any:
    prefix = files.saver.save(files.session, as_given(files.checkpoint), latest_filename="list")
    files.session.run(files.variable.assign(0.0))
    files.saver.restore(files.session, as_given(files.checkpoint))
    return prefix, files.session.run(files.variable), files.saver.last_checkpoints


def listed(files: Files, as_given: Callable[[Path], Any]) -> Any:
    checkpoint, directory = as_given(files.checkpoint), as_given(files.directory)
    tf.train.update_checkpoint_state(directory, checkpoint, [checkpoint], latest_filename="l")
    files.saver.recover_last_checkpoints([checkpoint])
    state = tf.train.get_checkpoint_state(directory, "l")
    return list(state.all_model_checkpoint_paths), files.saver.last_checkpoints


# Each takes a function that returns a path unchanged or as text.
USES: dict[str, Callable[[Files, Callable[[Path], Any]], Any]] = {
    "read_file": lambda f, p: run(tf.read_file(p(f.lines))),
    "write_file": lambda f, p: (run(tf.write_file(p(f.directory / "w"), "x")), len(list_of(f))),
    "matching_files": lambda f, p: run(tf.matching_files(p(f.lines))).tolist(),
    "matching_files, list": lambda f, p: run(tf.matching_files([p(f.lines)] * 2)).tolist(),
    "match_filenames_once": lambda f, p: run(tf.train.match_filenames_once(p(f.lines))).tolist(),
    "string_input_producer": lambda f, p: read_lines([p(f.lines)]),
    "string_input_producer, tuple": lambda f, p: read_lines((p(f.lines), p(f.lines))),
    "enqueue": lambda f, p: through(strings(), p(f.lines)),
    "enqueue, list": lambda f, p: through(strings(), [p(f.lines)]),
    "enqueue_many": lambda f, p: through(strings(), [[p(f.lines)]], "enqueue_many"),
    "feed": lambda f, p: fed(p(f.lines)),
    "feed, list": lambda f, p: fed([p(f.lines), "a"]).tolist(),
    "headrace.tf1.queues": lambda f, p: eager_through(p(f.lines)),
    "TFRecordWriter": lambda f, p: write(f, tf.python_io.TFRecordWriter, p(f.directory / "r")),
    "headrace.io.records": lambda f, p: write(f, records.TFRecordWriter, p(f.directory / "r")),
    "tf_record_iterator": lambda f, p: list(tf.python_io.tf_record_iterator(p(f.records))),
    "GFile": lambda f, p: tf.gfile.GFile(p(f.lines)).read(),
    "FastGFile": lambda f, p: tf.gfile.FastGFile(p(f.lines)).name,
    "Open": lambda f, p: tf.gfile.Open(p(f.lines)).size(),
    "Copy, Rename, Remove": copied,
    "MkDir, MakeDirs, DeleteRecursively": make_directories,
    "ListDirectory": lambda f, p: tf.gfile.ListDirectory(p(f.directory)),
    "Glob": lambda f, p: [tf.gfile.Glob(p(f.lines)), tf.gfile.Glob([p(f.lines)])],
    "Walk": lambda f, p: next(tf.gfile.Walk(p(f.directory)))[:2],
    "Stat": lambda f, p: tf.gfile.Stat(p(f.lines)).length,
    "FileWriter": lambda f, p: tf.summary.FileWriter(p(f.logs)).get_logdir(),
    "summary_iterator": lambda f, p: [
        event.step for event in tf.train.summary_iterator(p(next(f.logs.iterdir())))
    ],
    "Saver": saved,
    "states": listed,
    "latest_checkpoint": lambda f, p: tf.train.latest_checkpoint(p(f.directory)),
    "checkpoint_exists": lambda f, p: tf.train.checkpoint_exists(p(f.checkpoint)),
    "get_checkpoint_mtimes": lambda f, p: len(tf.train.get_checkpoint_mtimes([p(f.checkpoint)])),
    "NewCheckpointReader": lambda f, p: tf.train.NewCheckpointReader(p(f.checkpoint)).get_tensor(
        "v"
    ),
    "load_checkpoint": lambda f, p: tf.train.load_checkpoint(p(f.directory)).has_tensor("v"),
    "load_variable": lambda f, p: tf.train.load_variable(p(f.checkpoint), "v"),
    "list_variables": lambda f, p: tf.train.list_variables(p(f.checkpoint)),
    "export_meta_graph": lambda f, p: tf.train.export_meta_graph(p(f.directory / "g")).graph_def,
    "Saver.export_meta_graph": lambda f, p: f.saver.export_meta_graph(p(f.directory / "g")),
    "remove_checkpoint": lambda f, p: (
        tf.train.remove_checkpoint(p(f.checkpoint)),
        tf.train.checkpoint_exists(f.checkpoint),
    ),
}


def list_of(files: Files) -> list[str]:
    return sorted(path.name for path in files.directory.iterdir())


@pytest.mark.parametrize("use", USES.values(), ids=USES)
@pytest.mark.filterwarnings("ignore:unclosed file")
def test_path_object_is_equivalent_to_its_text(use, tmp_path):
    with tf.Graph().as_default():
        of_the_path = use(Files(tmp_path), lambda path: path)
    with tf.Graph().as_default():
        assert of_the_path == use(Files(tmp_path), str)


def test_path_is_not_accepted_as_a_tensor():
    with pytest.raises(TypeError, match="PosixPath"):
        tf.constant(Path("a"))
    with pytest.raises(TypeError, match="Expected a string"):
        run(tf.placeholder(tf.string, name="p"), feed_dict={"p:0": 3.5})
