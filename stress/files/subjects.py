"""Real files to damage, how to read each, and the permitted results."""

import bisect
import functools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from tests.io.storage.server import Server

import headrace as hr
import headrace.tf1 as tf
from headrace.cli.file_kinds import files_of
from headrace.protos import Example
from headrace.tf1 import checkpoint
from stress.collecting import DATA_ERRORS
from stress.files.formats import FORMATS, Format, number_in

__all__ = ["Subject", "listings", "pipelines", "subjects"]

NUM_EXAMPLES = 60
_SIDE = 24


@dataclass
class Subject:
    """A kind of file to damage, and how to read it.

    Attributes:
        name: The name in figures and failures.
        file: The path to damage. Related files are in the same directory.
        read: Yields the contents, and raises an error for damage.
        is_covered: Whether a checksum covers the file, so that only the written values are
            permitted.
        is_at_end: Whether the checksum is at the end of the file, so that the error follows the
            values.
        may_be_cut: Whether a truncated file may count as complete.
        ends: The offset at which each value ends, if values are stored in sequence without
            compression. Values before the damage must be read.
        may_end: Whether the file may end at such an offset without an error.
        slack_bytes: The number of bytes after such an offset that also count as the end.
        errors: The permitted exceptions.
        is_named: Whether the error must name the file.
        hides: System errors that count as a missing file, as in TensorFlow.
    """

    name: str
    file: Path
    read: Callable[[], Iterator[Any]]
    is_covered: bool
    is_at_end: bool = False
    may_be_cut: bool = False
    ends: list[int] = field(default_factory=list)
    may_end: bool = False
    slack_bytes: int = 0
    errors: tuple[type[BaseException], ...] = DATA_ERRORS
    is_named: bool = True
    hides: tuple[str, ...] = ()

    def num_intact(self, changed: int) -> int:
        """Returns how many values end before the first changed byte."""
        return bisect.bisect_right(self.ends, changed)

    def may_end_at(self, length: int) -> bool:
        """Returns whether a file of this length may count as complete."""
        number = bisect.bisect_right([0, *self.ends], length) - 1
        return self.may_end and length - [0, *self.ends][number] <= self.slack_bytes


def subjects(directory: Path, server: Server) -> list[Subject]:
    """Writes a file of each kind, and returns the files with their readers.

    Args:
        directory: Where the files are written.
        server: Serves a file that is partly kept in the cache on disk.
    """
    outputs = [*pipelines(directory, NUM_EXAMPLES), *_of_readers(directory)]
    outputs += [*_images(directory), *_tensors(directory), _session(directory)]
    return [*outputs, _events(directory), _state(directory), _kept(directory, server)]


def pipelines(directory: Path, count: int) -> Iterator[Subject]:
    """Writes a file of each format with some examples, and yields how pipelines read it."""
    for kind in FORMATS.values():
        if not kind.is_whole:
            yield from _of_pipelines(kind, directory, count)


def _of_pipelines(kind: Format, directory: Path, count: int) -> Iterator[Subject]:
    path = directory / kind.name
    path.write_bytes(kind.encode(range(count)))
    pipe = kind.read([str(path)])

    def numbers(pipeline: hr.pipeline.Pipeline) -> Iterator[int | None]:
        with iter(pipeline) as examples:
            yield from map(kind.number_of, examples)

    ends = _ends(kind, count)
    plain = kind.name == "tfrecord"
    yield Subject(
        kind.name,
        path,
        lambda: numbers(pipe),
        kind.is_covered,
        is_at_end=kind.name in ("text.gz", "text.bz2", "tar.gz"),
        ends=ends,
        may_end=plain,
        errors=(*DATA_ERRORS, OSError, ValueError) if kind.name == "parquet" else DATA_ERRORS,
    )
    if kind.name in ("tfrecord", "text", "csv", "jsonl", "tar", "fixed"):
        # The file is scanned first, so errors for damage are raised before the first example.
        yield Subject(
            f"{kind.name}, all shuffled",
            path,
            lambda: iter(
                sorted(numbers(pipe.shuffle(seed=1)), key=lambda n: -1 if n is None else n)
            ),
            kind.is_covered,
            may_end=plain,
        )


def _ends(kind: Format, count: int) -> list[int]:
    """Returns the end offset of each example in a file of the format, if that is defined."""
    if kind.name not in ("tfrecord", "text", "csv", "jsonl", "fixed") or count > NUM_EXAMPLES:
        return []
    return [len(kind.encode(range(number + 1))) for number in range(count)]


def _of_readers(directory: Path) -> Iterator[Subject]:
    """Readers of the TensorFlow 1 API."""
    for name, compression in (("tfrecord", ""), ("tfrecord.gz", "GZIP"), ("tfrecord.zlib", "ZLIB")):
        path = directory / name
        kind = FORMATS[name]
        yield Subject(
            f"{name}, tf_record_iterator",
            path,
            lambda path=path, how=compression: _iterated(path, how),  # type: ignore[misc]
            True,
            may_be_cut=bool(compression),
            ends=_ends(kind, NUM_EXAMPLES),
            # As in TensorFlow, an incomplete header counts as the end.
            may_end=not compression,
            slack_bytes=11,
        )
    options = tf.python_io.TFRecordOptions(tf.python_io.TFRecordCompressionType.GZIP)
    yield _read_by(directory / "tfrecord", tf.TFRecordReader, _record_number, True)
    yield _read_by(
        directory / "tfrecord.gz", lambda: tf.TFRecordReader(options=options), _record_number, True
    )
    yield _read_by(directory / "text", tf.TextLineReader, number_in, False)


def _iterated(path: Path, compression: str) -> Iterator[int | None]:
    return map(_record_number, tf.python_io.tf_record_iterator(path, compression))


def _record_number(record: bytes) -> int | None:
    try:
        example = Example.FromString(record)
    except ValueError:
        return None
    return number_in(b"".join(example.features.feature["text"].bytes_list.value))


def _read_by(
    path: Path, make: Callable[[], Any], number_of: Callable[[bytes], int | None], covered: bool
) -> Subject:
    graph = tf.Graph()
    with graph.as_default():
        names = tf.FIFOQueue(1, [tf.string], [[]])
        reader = make()
        feed, close = names.enqueue(str(path)), names.close()
        value = reader.read(names).value

    def numbers() -> Iterator[int | None]:
        with tf.Session(graph=graph) as session:
            session.run(feed)
            session.run(close)
            while True:
                try:
                    record = session.run(value)
                except tf.errors.OutOfRangeError:
                    return
                yield number_of(record)

    name = f"{path.name}, {reader.__class__.__name__}"
    kind = FORMATS[path.name]
    may_end = path.name == "tfrecord"
    return Subject(
        name,
        path,
        numbers,
        covered,
        may_be_cut=path.name == "tfrecord.gz",
        ends=_ends(kind, NUM_EXAMPLES),
        may_end=may_end,
        slack_bytes=11,
    )


def _images(directory: Path) -> Iterator[Subject]:
    """Encoded images, decoded by an operation and by a pipeline. PNG chunks have checksums."""
    for name in ("png", "jpeg", "gif", "bmp", "tiff", "webp"):
        path = directory / f"image.{name}"
        _picture().save(path, name.upper())
        is_covered = name == "png"
        # TensorFlow 1 sessions can read neither TIFF nor WebP.
        if name not in ("tiff", "webp"):
            yield Subject(
                f"{name}, decode_image",
                path,
                lambda path=path: _decoded(path),  # type: ignore[misc]
                is_covered,
                errors=(tf.errors.InvalidArgumentError, tf.errors.ResourceExhaustedError),
                is_named=False,
            )
        pipe = hr.files(str(path)).map(hr.native(_decode)).select("image")
        yield Subject(
            f"{name}, pipeline",
            path,
            lambda pipe=pipe: (_frozen(example["image"]) for example in pipe),  # type: ignore[misc]
            is_covered,
        )


def _picture() -> Any:
    pixels = np.random.default_rng(3).integers(0, 255, (_SIDE, _SIDE, 3), np.uint8)
    return Image.fromarray(pixels)


def _decode(example: Any) -> Any:
    return {"image": hr.ops.decode_image(example["data"])}


def _decoded(path: Path) -> Iterator[Any]:
    graph, contents, image = _decoder()
    with tf.Session(graph=graph) as session:
        yield _frozen(session.run(image, {contents: path.read_bytes()}))


@functools.cache
def _decoder() -> Any:
    graph = tf.Graph()
    with graph.as_default():
        contents = tf.placeholder(tf.string, [])
        return graph, contents, tf.image.decode_image(contents)


def _frozen(array: Any) -> Any:
    """Converts an array to a comparable form."""
    content = array.tolist() if array.dtype == object else array.tobytes()
    return array.dtype.str, array.shape, content


def _tensors(directory: Path) -> Iterator[Subject]:
    """Checkpoints of `Saver`: the index, and the data."""
    graph = tf.Graph()
    prefix = str(directory / "model")
    with graph.as_default(), tf.Session() as session:
        draws = np.random.default_rng(3)
        for number in range(8):
            tf.Variable(draws.normal(size=[number, 5]).astype(np.float32), name=f"v{number}")
        tf.Variable([b"some", b"strings"], name="s")
        saver = tf.train.Saver()
        session.run(tf.global_variables_initializer())
        saver.save(session, prefix, write_meta_graph=False)
        variables = tf.global_variables()

    def restored() -> Iterator[Any]:
        with tf.Session(graph=graph) as session:
            saver.restore(session, prefix)
            yield [_frozen(np.asarray(value)) for value in session.run(variables)]

    def loaded() -> Iterator[Any]:
        reader = tf.train.load_checkpoint(prefix)
        names = sorted(reader.get_variable_to_shape_map())
        yield [(name, _frozen(np.asarray(reader.get_tensor(name)))) for name in names]

    for end in ("index", "data-00000-of-00001"):
        path = Path(f"{prefix}.{end}")
        yield Subject(f"checkpoint {end}, Saver.restore", path, restored, True)
        yield Subject(f"checkpoint {end}, load_checkpoint", path, loaded, True)


def _session(directory: Path) -> Subject:
    """A checkpoint of a session: queues, a reader, a variable, random numbers."""
    text, path = directory / "text", directory / "session"
    graph = tf.Graph()
    with graph.as_default():
        names = tf.FIFOQueue(2, [tf.string], [[]])
        lines = tf.RandomShuffleQueue(20, 1, [tf.string], [[]], seed=1)
        fill = [
            names.enqueue(str(text)),
            *[lines.enqueue(tf.TextLineReader().read(names).value)] * 9,
        ]
        line, noise = lines.dequeue(), tf.random_uniform([], seed=3)
        variable = tf.Variable(np.arange(50.0), name="v")
    with tf.Session(graph=graph) as session:
        session.run(variable.initializer)
        for step in fill:
            session.run(step)
        session.run([line, noise])
        checkpoint.save(session, path)

    def restored() -> Iterator[Any]:
        with tf.Session(graph=graph) as session:
            checkpoint.restore(session, path)
            values = [session.run([line, noise]) for _ in range(7)]
            yield (
                [(text, number.tobytes()) for text, number in values],
                session.run(variable).tobytes(),
            )

    return Subject("checkpoint of a session", path, restored, True)


def _events(directory: Path) -> Subject:
    writer = tf.summary.FileWriter(str(directory / "events"))
    for step in range(40):
        value = tf.Summary.Value(tag="loss", simple_value=step / 3)
        writer.add_summary(tf.Summary(value=[value]), step)
    writer.close()
    [path] = (directory / "events").iterdir()

    def events() -> Iterator[Any]:
        for event in tf.train.summary_iterator(str(path)):
            yield event.SerializeToString()

    ends = []
    data, at = path.read_bytes(), 0
    while at < len(data):
        at += 16 + int.from_bytes(data[at : at + 8], "little")
        ends.append(at)
    return Subject("event file", path, events, True, ends=ends, may_end=True, slack_bytes=11)


def _state(directory: Path) -> Subject:
    """The state of an iteration, as a file of JSON."""
    path, text = directory / "state.json", directory / "text"
    pipe = hr.text_lines(str(text)).shuffle(window=9, seed=3).epochs(2).batch(4)
    with iter(pipe) as batches:
        for _ in range(7):
            next(batches)
        path.write_text(json.dumps(batches.state()))

    def resumed() -> Iterator[Any]:
        with pipe.resume(json.loads(path.read_bytes())) as batches:
            for batch in batches:
                yield batch["text"].tolist()

    allowed = (*DATA_ERRORS, ValueError, TypeError)
    return Subject("state of a pipeline", path, resumed, True, errors=allowed, is_named=False)


def _kept(directory: Path, server: Server) -> Subject:
    """A cached part of a remote file, which is requested again if it is damaged."""
    kind, cache = FORMATS["text"], directory / "cache"
    server.files["kept"] = kind.encode(range(NUM_EXAMPLES))
    pipe = kind.read([f"{server.url}/kept"]).options(cache_directory=cache)

    def numbers() -> Iterator[int | None]:
        with iter(pipe) as examples:
            yield from map(kind.number_of, examples)

    list(numbers())
    [path] = (path for path in cache.rglob("*") if path.is_file())
    return Subject("part kept on disk", path, numbers, True, errors=())


def listings(directory: Path) -> list[Subject]:
    """Writes directories of files, and returns how to list and read them.

    The `file` of these subjects is the directory.
    """
    root = directory / "tree"
    for name in ("a", "b", "b/inner"):
        path = root / name
        path.mkdir(parents=True)
        for number in range(3):
            path.joinpath(f"{number}.txt").write_text(f"{name} {number}\n")
            _picture().save(path / f"{number}.png")
    graph = tf.Graph()
    with graph.as_default():
        matched = tf.train.match_filenames_once(f"{root}/*/*.txt")

    def lines(pattern: str) -> Iterator[Any]:
        with iter(hr.text_lines(pattern)) as examples:
            for example in examples:
                yield example["text"]

    def contents(path: Path) -> Iterator[Any]:
        with iter(hr.files(path)) as examples:
            for example in examples:
                yield example["path"], example["data"]

    def images() -> Iterator[Any]:
        with iter(hr.image_folder(root)) as examples:
            for example in examples:
                yield example["path"], int(example["label"])

    def matched_once() -> Iterator[Any]:
        with tf.Session(graph=graph) as session:
            session.run(tf.local_variables_initializer())
            yield from sorted(session.run(matched).tolist())

    def walked() -> Iterator[Any]:
        for path, names, files in tf.gfile.Walk(str(root)):
            yield path, sorted(names), sorted(files)

    ways: dict[str, tuple[Callable[[], Iterator[Any]], tuple[str, ...]]] = {
        "a pattern": (lambda: lines(f"{root}/*/*.txt"), ()),
        "a pattern of all below": (lambda: lines(f"{root}/**/*.txt"), ()),
        "a directory": (lambda: contents(root / "b"), ()),
        "image_folder": (images, ()),
        "verify": (lambda: iter(files_of("verify", str(root))), ()),
        "gfile.Glob": (lambda: iter(sorted(tf.gfile.Glob(f"{root}/*/*.txt"))), ("EACCES",)),
        "match_filenames_once": (matched_once, ("EACCES",)),
        "gfile.ListDirectory": (lambda: iter(tf.gfile.ListDirectory(f"{root}/b")), ()),
        "gfile.Walk": (walked, ()),
    }
    return [
        Subject(f"{name}, {path.name}", path, read, True, hides=hides)
        for name, (read, hides) in ways.items()
        for path in (root, root / "b", root / "b" / "inner")
    ]
