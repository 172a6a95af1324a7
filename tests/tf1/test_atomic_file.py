"""A file is replaced completely or not at all, and keeps its mode."""

import functools
import os
import stat
import threading

import numpy as np
import pytest

import headrace as hr
import headrace.tf1 as tf
from headrace.core import errors
from headrace.io.atomic_file import AtomicFile
from headrace.io.records import TFRecordWriter
from headrace.tf1.tensor_bundle import BundleReader, write_bundle


def write_record(path):
    with TFRecordWriter(path) as writer:
        writer.write(b"x")


def write_file(path):
    with tf.Graph().as_default(), tf.Session() as session:
        session.run(tf.write_file(os.fspath(path), b"x"))


def write_checkpoint(path):
    with tf.Graph().as_default(), tf.Session() as session:
        tf.Variable(1.0, name="v").load(2.0, session)
        tf.train.Saver().save(session, path.with_suffix(""), latest_filename="list")


def write_list(path):
    tf.train.update_checkpoint_state(path.parent, "m", latest_filename=path.name)


def export(path):
    tf.train.export_meta_graph(path)


WRITERS = {
    "records": (write_record, "file"),
    "write_file": (write_file, "file"),
    "the list of checkpoints": (write_list, "checkpoint"),
    "the data of a checkpoint": (write_checkpoint, "m.data-00000-of-00001"),
    "the index of a checkpoint": (write_checkpoint, "m.index"),
    "the graph": (export, "m.meta"),
}
every_writer = pytest.mark.parametrize(("write", "name"), WRITERS.values(), ids=WRITERS)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@every_writer
def test_replaced_file_keeps_its_mode(tmp_path, write, name):
    path = tmp_path / name
    write(path)
    assert mode(path) == 0o666 & ~current_umask()
    for bits in (0o600, 0o664):
        path.chmod(bits)
        inode = path.stat().st_ino
        write(path)
        assert mode(path) == bits
        assert path.stat().st_ino != inode, "the file was written in place"


def current_umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


@every_writer
def test_link_in_place_of_the_temporary_file_is_not_followed(tmp_path, write, name):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    path = tmp_path / "directory" / name
    path.parent.mkdir()
    for guess in (f"{name}.tmp-{os.getpid()}", f"{name}.tmp", f"{name}.tmp{os.getpid()}"):
        (path.parent / guess).symlink_to(victim)
    write(path)
    assert victim.read_text() == "mine"
    assert path.is_file()
    assert not path.is_symlink()


@every_writer
def test_link_is_kept_and_its_target_replaced(tmp_path, write, name):
    path = tmp_path / name
    path.symlink_to("target")
    write(path)
    assert path.is_symlink()
    assert (tmp_path / "target").stat().st_size > 0


@every_writer
def test_file_that_cannot_be_renamed_leaves_nothing_behind(tmp_path, write, name):
    (tmp_path / name).mkdir()
    with pytest.raises(errors.FailedPreconditionError, match=f"{name}; Is a directory"):
        write(tmp_path / name)
    assert os.listdir(tmp_path) == [name]


def test_file_appears_when_it_is_published(tmp_path):
    path = tmp_path / "a"
    with AtomicFile(path) as file:
        file.write(b"one")
        file.sync()
        assert not path.exists()
        file.publish()
        assert path.read_bytes() == b"one"
        for call in (lambda: file.write(b""), file.sync, file.publish):
            with pytest.raises(errors.FailedPreconditionError, match="a: the file is closed"):
                call()


@pytest.mark.parametrize("is_shared", [True, False], ids=["one saver", "a saver for each thread"])
def test_threads_saving_into_one_directory_leave_valid_files(tmp_path, is_shared):
    tf.Variable([1.0] * 1000, name="v")
    savers = [tf.train.Saver(max_to_keep=2)] * 3
    if not is_shared:
        savers = [tf.train.Saver(max_to_keep=2) for _ in savers]
    # With one saver, two threads write the same prefixes. Several savers need one prefix each.
    names = ("a", "a", "b") if is_shared else ("a", "b", "c")

    def save(saver, name):
        for step in range(6):
            saver.save(session, tmp_path / name, step)

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        jobs = [functools.partial(save, *pair) for pair in zip(savers, names, strict=True)]
        assert errors_of(jobs) == []
    kept = {path for saver in savers for path in saver.last_checkpoints}
    ends = ("data-00000-of-00001", "index", "meta")
    expected = {f"{os.path.basename(path)}.{end}" for path in kept for end in ends}
    assert {*os.listdir(tmp_path)} == {"checkpoint", *expected}
    for path in kept:
        assert BundleReader(path).read("v").tolist() == [1.0] * 1000
    state = tf.train.get_checkpoint_state(tmp_path)
    lists = [saver.last_checkpoints for saver in savers]
    assert list(state.all_model_checkpoint_paths) in lists
    assert tf.train.latest_checkpoint(tmp_path) in [paths[-1] for paths in lists]


def test_concurrent_checkpoints_with_the_same_name_leave_a_valid_one(tmp_path):
    sizes = (1, 1000, 20_000)
    for number in range(30):
        prefix = tmp_path / f"m-{number}"
        tensors = [{"a": np.full(size, size), "b": np.full(2, size)} for size in sizes]
        jobs = [functools.partial(write_bundle, prefix, each) for each in tensors]
        assert errors_of(jobs) == []
        reader = BundleReader(prefix)
        result = reader.read("a").tolist()
        assert result in [each["a"].tolist() for each in tensors]
        assert reader.read("b").tolist() == [result[0]] * 2


def errors_of(jobs):
    """Runs functions in threads, all at once, and returns their errors."""
    errors = []
    barrier = threading.Barrier(len(jobs), timeout=30)

    def run(job):
        try:
            barrier.wait()
            job()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    return errors


def test_temporary_file_of_a_killed_writer_is_not_listed(tmp_path):
    file = AtomicFile(tmp_path / "train-0")
    (tmp_path / "train-1").write_bytes(b"whole")
    file.write(b"half")
    [hidden] = {path.name for path in tmp_path.iterdir()} - {"train-1"}
    assert hidden.startswith(".train-0.tmp")
    for paths in (tmp_path, tmp_path / "train-*"):
        assert [example["data"] for example in hr.files(paths)] == [b"whole"]
    assert tf.gfile.Glob(str(tmp_path / "train-*")) == [str(tmp_path / "train-1")]
    file.discard()
