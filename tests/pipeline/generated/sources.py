"""Drawn sources: files of every format, arrays and Python's own, with their examples."""

import re
import tarfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from tests.archives import add_members
from tests.pipeline.generated.model import Example

import headrace as hr
from headrace.io.records import TFRecordWriter
from headrace.protos import Example as Message

pa = pq = None
if find_spec("pyarrow"):  # Parquet is an extra.
    import pyarrow as pa
    import pyarrow.parquet as pq

MANY = 10_000
# Who waits longer than this waits for ever.
_PATIENCE_S = 30
NUMBERS = (range(53), range(53, 53), range(53, 97))
# The rows of each row group of Parquet files.
_GROUP_ROWS = 17
_ROW_GROUPS = (17, 17, 17, 2, 17, 17, 10)


@dataclass(frozen=True)
class Source:
    """A source of examples.

    Attributes:
        text: What it is.
        begin: Makes the pipeline, of the directory with files.
        examples: What comes out of it.
        names: The components of each.
        seed: That of a shuffle of all examples.
        lost: The numbers that are dropped behind it.
        sizes: How many examples each file has; None without files.
        ending: That of the files if they have pieces; empty if each file is one piece.
        kind: The word for it that tests count; empty for the first word of the text.
        places: The numbers of the file and the record of each example, if they are known.
        pace: Holds examples back that are not needed yet; None for what does not wait.
    """

    text: str
    begin: Callable[[Path], hr.Pipeline]
    examples: list[Example]
    names: frozenset[str] = frozenset({"n"})
    seed: int | None = None
    lost: frozenset[int] = frozenset()
    sizes: Sequence[int] | None = tuple(map(len, NUMBERS))
    ending: str = ""
    kind: str = ""
    places: Sequence[tuple[int, int]] | None = None
    pace: "Pace | None" = None


# Words for sources that not every stage can follow.
ONCE = "iterable once"
SPLIT = "split"
# The ending of files of which some records are damaged.
DAMAGED = "damaged"
IN_PROCESSES = "iterable in processes"


def draw_source(random: Random) -> Source:
    """Draws a source."""
    source = random.choice(_SOURCES)(random)
    if source.places is None or random.random() > 0.2:
        return source
    part = _split(random, source)
    try:
        part.begin(Path("nowhere"))
    except ValueError:  # A shuffle of all examples, of a source that is not reached by numbers.
        return source
    return part


def sizes_of_pieces(source: Source, block_bytes: int | None) -> Sequence[int]:
    """The number of examples of each piece of the files."""
    if block_bytes is None or not source.ending:
        return source.sizes or ()
    sizes: list[int] = []
    for begins, num_bytes in _layouts()[source.ending]:
        pieces = [0] * max(1, -(-num_bytes // block_bytes))
        for begin in begins:
            pieces[begin // block_bytes] += 1
        sizes.extend(pieces)
    return sizes


@cache
def _layouts() -> dict[str, list[tuple[list[int], int]]]:
    """The bytes at which the records of each file begin, and its size, by the ending."""
    with TemporaryDirectory() as name:
        directory = Path(name)
        write_files(directory)
        layouts = {
            ending: [(begins(path), path.stat().st_size) for path in sorted(directory.glob(names))]
            for ending, (names, begins) in _BEGINS.items()
        }
    assert all(sum(len(begins) for begins, _ in layout) == len(_ALL) for layout in layouts.values())
    return layouts


def _begins_of_matches(pattern: bytes) -> Callable[[Path], list[int]]:
    return lambda path: [found.start() for found in re.finditer(pattern, path.read_bytes())]


def _begins_of_records(path: Path) -> list[int]:
    raw, begins, place = path.read_bytes(), [], 0
    while place < len(raw):
        begins.append(place)
        place += 12 + int.from_bytes(raw[place : place + 8], "little") + 4
    return begins


def _begins_of_samples(path: Path) -> list[int]:
    with tarfile.open(path) as archive:
        return [member.offset for member in archive if member.name.endswith(".n")]


_BEGINS: dict[str, tuple[str, Callable[[Path], list[int]]]] = {
    "txt": ("*.txt", _begins_of_matches(rb"(?m)^\d+$")),
    "csv": ("*.csv", _begins_of_matches(rb"(?m)^\d+,")),
    "jsonl": ("*.jsonl", _begins_of_matches(rb"(?m)^\{")),
    "fixed": ("*.fixed", lambda path: list(range(0, path.stat().st_size, 8))),
    "tokens": ("*.tokens", lambda path: list(range(0, path.stat().st_size - 16, 8))),
    "tfrecord": ("*.tfrecord", _begins_of_records),
    DAMAGED: ("damaged/*.tfrecord", _begins_of_records),
    "tar": ("*.tar", _begins_of_samples),
}


def keys_of(seed: int, places: Sequence[tuple[int, int]]) -> list[int]:
    """The numbers by which records are divided, as the documentation of the engine says it."""
    return [_mixed(_mixed(seed, record), file) for file, record in places]


def _mixed(one: int, other: int) -> int:
    # The finalizer of SplitMix64.
    mask, golden = (1 << 64) - 1, 0x9E3779B97F4A7C15
    mixed = ((one ^ (other * golden & mask)) + golden) & mask
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9 & mask
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB & mask
    return mixed ^ (mixed >> 31)


def write_files(directory: Path) -> None:
    """Writes the files that the sources read."""
    for index, numbers in enumerate(NUMBERS):
        _write_records(directory / f"{index}.tfrecord", numbers)
        _write_records(directory / f"{index}.gz", numbers, "GZIP")
        (directory / f"{index}.txt").write_text("".join(f"{n}\n" for n in numbers))
        table = "n,text\n" + "".join(f'{n},"text\n{n}"\n' for n in numbers)
        (directory / f"{index}.csv").write_text(table)
        objects = "".join(f'{{"n": {n}, "list": {_list(n)}}}\n\n' for n in numbers)
        (directory / f"{index}.jsonl").write_text(objects)
        (directory / f"{index}.fixed").write_bytes(np.array(numbers, "<i8").tobytes())
        tokens = np.array([*numbers, 0, 0], "<i8")
        (directory / f"{index}.tokens").write_bytes(tokens.tobytes())
        with tarfile.open(directory / f"{index}.tar", "w") as archive:
            for n in numbers:
                add_members(archive, ((f"{n:03}.n", b"%d" % n), (f"{n:03}.txt", b"x" * (n % 7))))
        for n in numbers:
            image = directory / "images" / "ab"[index // 2] / f"{n:03}.png"
            image.parent.mkdir(parents=True, exist_ok=True)
            image.write_bytes(b"%d" % n)
            sound = directory / "sounds" / "xy"[index // 2] / f"{n:03}.flac"
            sound.parent.mkdir(parents=True, exist_ok=True)
            sound.write_bytes(b"%d" % n)
        if pq is not None:
            columns = {"n": pa.array(numbers, pa.int64())}
            pq.write_table(
                pa.table(columns), directory / f"{index}.parquet", row_group_size=_GROUP_ROWS
            )
            columns["list"] = pa.array([_list(n) for n in numbers], pa.list_(pa.int64()))
            # Every third is null.
            columns["some"] = pa.array([n if n % 3 else None for n in numbers], pa.int64())
            table = pa.table(columns)
            with pa.ipc.new_file(directory / f"{index}.arrow", table.schema) as writer:
                writer.write_table(table, max_chunksize=_GROUP_ROWS)
    _damage(directory / "damaged" / "0.tfrecord")


def _list(n: int) -> list[int]:
    return list(range(n, n + n % 5))


def _write_records(path: Path, numbers: range, compression: str = "") -> None:
    path.parent.mkdir(exist_ok=True)
    with TFRecordWriter(path, hr.TFRecordOptions(compression) if compression else None) as writer:
        for n in numbers:
            message = Message()
            message.features.feature["n"].int64_list.value.append(n)
            message.features.feature["list"].int64_list.value.extend(_list(n))
            message.features.feature["text"].bytes_list.value.append(b"text %d" % n)
            writer.write(message.SerializeToString())


def _is_damaged(n: int) -> bool:
    return n % 19 == 7


def _damage(path: Path) -> None:
    _write_records(path, range(97))
    raw = bytearray(path.read_bytes())
    place = 0
    for n in range(97):
        length = int.from_bytes(raw[place : place + 8], "little")
        if _is_damaged(n):
            raw[place + 12] ^= 1
        place += 12 + length + 4
    path.write_bytes(raw)


_ALL = [n for numbers in NUMBERS for n in numbers]
_WHOLE = [{"n": n, "list": _list(n), "text": b"text %d" % n} for n in _ALL]


def _only(*names: str) -> list[Example]:
    return [{name: example[name] for name in names} for example in _WHOLE]


_PLACES = [(file, record) for file, of in enumerate(NUMBERS) for record in range(len(of))]


def _origins(ending: str) -> list[tuple[str, int]]:
    return [(f"{i}{ending}", k) for i, numbers in enumerate(NUMBERS) for k in range(len(numbers))]


def _records(random: Random, ending: str = "tfrecord") -> Source:
    features: dict[str, Any] = {"list": hr.Ragged(int), "n": int, "text": bytes}
    names = random.choice([("n",), ("list", "n"), ("list", "n", "text")])

    def begin(directory: Path) -> hr.Pipeline:
        compression = "gzip" if ending == "gz" else "auto"
        records = hr.tfrecords(directory / f"*.{ending}", compression)
        return records.parse({name: features[name] for name in names})

    text = f"tfrecords(*.{ending}).parse{names}"
    pieces = "" if ending == "gz" else ending
    return Source(text, begin, _only(*names), frozenset(names), ending=pieces, places=_PLACES)


def _with_origin(random: Random) -> Source:
    def begin(directory: Path) -> hr.Pipeline:
        records = hr.tfrecords(directory / "*.tfrecord").with_origin().parse({"n": int})
        return records.map(_base_name)

    examples = [
        {"n": n, "file": file, "record_number": number}
        for n, (file, number) in zip(_ALL, _origins(".tfrecord"), strict=True)
    ]
    names = frozenset({"n", "file", "record_number"})
    text = "tfrecords(*.tfrecord).with_origin()"
    return Source(text, begin, examples, names, ending="tfrecord")


def _base_name(example: Example) -> Example:
    return {
        "n": example["n"],
        "file": example["file"].rpartition("/")[2],
        "record_number": example["record_number"],
    }


def _damaged(random: Random) -> Source:
    seed = random.choice([None, None, random.randrange(2**20)])

    def begin(directory: Path) -> hr.Pipeline:
        records = hr.tfrecords(directory / "damaged")
        shuffled = records if seed is None else records.shuffle(seed=seed)
        return shuffled.parse({"n": int}).skip_errors(MANY)

    shuffle = "" if seed is None else f".shuffle(seed={seed})"
    examples: list[Example] = [{"n": n} for n in range(97)]
    lost = frozenset(filter(_is_damaged, range(97)))
    text = f"tfrecords(damaged){shuffle}.skip_errors()"
    return Source(text, begin, examples, seed=seed, lost=lost, sizes=(97,), ending=DAMAGED)


def _lines(random: Random) -> Source:
    def begin(directory: Path) -> hr.Pipeline:
        return hr.text_lines(directory / "*.txt").map(_number_of_text)

    return Source("text_lines(*.txt)", begin, _only("n"), ending="txt", places=_PLACES)


def _number_of_text(example: Example) -> Example:
    return {"n": int(example["text"])}


def _csv(random: Random) -> Source:
    def begin(directory: Path) -> hr.Pipeline:
        return hr.csv(directory / "*.csv", {"n": int, "text": bytes})

    examples = [{"n": n, "text": b"text\n%d" % n} for n in _ALL]
    return Source("csv(*.csv)", begin, examples, frozenset({"n", "text"}), ending="csv")


def _json(random: Random) -> Source:
    def begin(directory: Path) -> hr.Pipeline:
        return hr.json_lines(directory / "*.jsonl", {"n": int, "list": hr.Ragged(int)})

    names = frozenset({"n", "list"})
    return Source("json_lines(*.jsonl)", begin, _only("n", "list"), names, ending="jsonl")


@hr.native
def _decoded(example):
    return {"n": hr.ops.reshape(hr.ops.decode_raw(example["record"], "int64"), [])}


def _fixed(random: Random) -> Source:
    def begin(directory: Path) -> hr.Pipeline:
        return hr.fixed_length_records(directory / "*.fixed", 8).map(_decoded)

    text = "fixed_length_records(*.fixed)"
    return Source(text, begin, _only("n"), ending="fixed", places=_PLACES)


def _tokens(random: Random) -> Source:
    def begin(directory: Path) -> hr.Pipeline:
        return hr.tokens(directory / "*.tokens", 3, np.int64, stride=1).map(_first_token)

    text = "tokens(*.tokens)"
    return Source(text, begin, _only("n"), ending="tokens", places=_PLACES)


def _first_token(example: Example) -> Example:
    return {"n": int(example["tokens"][0])}


def _archive(random: Random) -> Source:
    def begin(directory: Path) -> hr.Pipeline:
        return hr.webdataset(directory / "*.tar").map(_number_of_member)

    return Source("webdataset(*.tar)", begin, _only("n"), ending="tar")


def _number_of_member(example: Example) -> Example:
    return {"n": int(example["n"])}


def _folder(random: Random) -> Source:
    return random.choice([_images, _sounds])()


def _images() -> Source:
    def begin(directory: Path) -> hr.Pipeline:
        return hr.image_folder(directory / "images").map(_number_of_image)

    return Source("image_folder(images)", begin, _only("n"), sizes=(1,) * 97)


def _sounds() -> Source:
    def begin(directory: Path) -> hr.Pipeline:
        return hr.audio_folder(directory / "sounds").map(_number_of_image)

    return Source("audio_folder(sounds)", begin, _only("n"), sizes=(1,) * 97)


def _number_of_image(example: Example) -> Example:
    return {"n": int(example["data"])}


def _files(random: Random) -> Source:
    def begin(directory: Path) -> hr.Pipeline:
        return hr.files(directory / "images" / "*" / "*.png").map(_number_of_image)

    return Source("files(images)", begin, _only("n"), sizes=(1,) * 97)


def _parquet(random: Random) -> Source:
    seed = random.choice([None, None, random.randrange(2**20)])

    def begin(directory: Path) -> hr.Pipeline:
        rows = hr.parquet(directory / "*.parquet")
        return rows if seed is None else rows.shuffle(seed=seed)

    shuffle = "" if seed is None else f".shuffle(seed={seed})"
    text = f"parquet(*.parquet){shuffle}"
    places = _PLACES if seed is None else None
    return Source(text, begin, _only("n"), seed=seed, places=places, sizes=_ROW_GROUPS)


def _parquet_where(random: Random) -> Source:
    """Rows that meet a condition, which leaves some row groups out."""
    least = random.choice([0, 20, 60, 97])

    def begin(directory: Path) -> hr.Pipeline:
        return hr.parquet(directory / "*.parquet", {"n": int}, [("n", ">=", least)])

    rows = [n for n in _ALL if n >= least]
    groups = _groups()
    sizes = [sum(n >= least for n in group) for group in groups if group[-1] >= least]
    text = f"parquet(*.parquet, n >= {least})"
    return Source(text, begin, [{"n": n} for n in rows], sizes=sizes)


def _groups() -> list[list[int]]:
    """Returns the numbers of each row group."""
    groups, first = [], 0
    for size in _ROW_GROUPS:
        groups.append(_ALL[first : first + size])
        first += size
    return groups


def _arrow(random: Random) -> Source:
    """Arrow files with lists, a mask and a default."""
    seed = random.choice([None, None, random.randrange(2**20)])
    names = random.choice([("n",), ("list", "n"), ("n", "some", "some_mask")])

    def begin(directory: Path) -> hr.Pipeline:
        types = {"n": int, "list": hr.Ragged(int), "some": hr.Nullable(int)}
        columns = {name: types[name] for name in names if name in types}
        defaults = {"some": -1} if "some" in names else None
        rows = hr.arrow(directory / "*.arrow", columns, defaults=defaults)
        return rows if seed is None else rows.shuffle(seed=seed)

    whole = [
        {"n": n, "list": _list(n), "some": n if n % 3 else -1, "some_mask": n % 3 != 0}
        for n in _ALL
    ]
    examples = [{name: example[name] for name in names} for example in whole]
    shuffle = "" if seed is None else f".shuffle(seed={seed})"
    text = f"arrow(*.arrow){names}{shuffle}"
    places = _PLACES if seed is None else None
    return Source(
        text, begin, examples, frozenset(names), seed=seed, places=places, sizes=_ROW_GROUPS
    )


def _arrays(random: Random) -> Source:
    count = random.choice([0, 1, 7, 60, 100, 130])
    has_rows = random.random() < 0.3
    arrays: dict[str, Any] = {"n": np.arange(count)}
    if has_rows:
        arrays["row"] = np.arange(count * 3).reshape(count, 3)
    examples: list[Example] = [
        {"n": n, "row": [3 * n, 3 * n + 1, 3 * n + 2]} if has_rows else {"n": n}
        for n in range(count)
    ]
    text = f"arrays({count}{', rows of three' if has_rows else ''})"
    names, places = frozenset(arrays), [(0, record) for record in range(count)]
    return Source(
        text, lambda directory: hr.arrays(arrays), examples, names, sizes=None, places=places
    )


class _Rows:
    """Rows by number: dicts, tuples or numbers, one by one or in blocks."""

    def __init__(self, count: int, makes: str, is_damaged: bool = False) -> None:
        self.count, self.makes, self.is_damaged = count, makes, is_damaged

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, number: int) -> Any:
        if not 0 <= number < self.count:
            raise IndexError(number)
        if self.is_damaged and _is_damaged(number):
            raise ValueError(f"row {number} is damaged")
        return {"dict": {"n": number}, "tuple": (number,), "number": number}[self.makes]


class _Blocks(_Rows):
    def __getitems__(self, numbers: list[int]) -> list[Any]:
        return [self[number] for number in numbers]


def _indexed(random: Random) -> Source:
    kind, makes = random.choice([_Rows, _Blocks]), random.choice(["dict", "tuple", "number"])
    count, num_threads = random.choice([0, 1, 30, 150]), random.choice([1, 1, 3])
    # Rarely in processes, which take time to start.
    num_processes = 2 if random.random() < 0.03 else 0
    is_damaged, seed = random.random() < 0.2, random.choice([None, None, random.randrange(2**20)])
    rows = kind(count, makes, is_damaged)
    names = None if makes == "dict" else ["n"]

    def begin(directory: Path) -> hr.Pipeline:
        callers = (1, num_processes) if num_processes else (num_threads, 0)
        found = hr.indexed(rows, *callers, names)
        if seed is not None:
            found = found.shuffle(seed=seed)
        return found.skip_errors(MANY) if is_damaged else found

    callers = f", num_processes={num_processes}" if num_processes else f", {num_threads}"
    shuffle = "" if seed is None else f".shuffle(seed={seed})"
    return Source(
        f"indexed({kind.__name__}({count}, {makes}){callers}){shuffle}"
        f"{'.skip_errors()' * is_damaged}",
        begin,
        [{"n": n} for n in range(count)],
        seed=seed,
        lost=frozenset(n for n in range(count) if is_damaged and _is_damaged(n)),
        sizes=None,
        places=None if is_damaged or seed is not None else [(0, n) for n in range(count)],
    )


def _yielded(count: int) -> Iterator[Example]:
    return ({"n": n} for n in range(count))


class _Counter:
    """An iterator that can be resumed."""

    def __init__(self, count: int) -> None:
        self.count, self.next = count, 0

    def __iter__(self) -> "_Counter":
        return self

    def __next__(self) -> Example:
        if self.next == self.count:
            raise StopIteration
        self.next += 1
        return {"n": self.next - 1}

    def state(self) -> int:
        return self.next

    def restore(self, state: int) -> None:
        self.next = state


def _slow(count: int) -> Iterator[Example]:
    """Blocks end where a source takes its time."""
    for n in range(count):
        if n % 11 == 3:
            time.sleep(0.002)
        yield {"n": n}


class Pace:
    """The number of examples that an iterator may give; it waits for more."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._most = MANY

    def allow(self, most: int) -> None:
        """Allows so many examples altogether."""
        with self._changed:
            self._most = most
            self._changed.notify_all()

    def wait(self, number: int) -> None:
        """Waits until the example `number`, counted from 0, is allowed."""
        with self._changed:
            if not self._changed.wait_for(lambda: number < self._most, _PATIENCE_S):
                raise TimeoutError(f"the next item needs example {number}, expected fewer")


class _Once:
    """A factory of one iterator, which can be read once: what is lost of it does not come again."""

    def __init__(self, count: int, pace: Pace) -> None:
        self._iterator = self._examples(count, pace)

    def __call__(self) -> Iterator[Example]:
        return self._iterator

    @staticmethod
    def _examples(count: int, pace: Pace) -> Iterator[Example]:
        for n in range(count):
            pace.wait(n)
            yield {"n": n}


class _Shifted:
    """An iterator whose numbers are larger, and which keeps a state if that does."""

    def __init__(self, iterator: Any, more: int) -> None:
        self._iterator, self._more = iterator, more
        if hasattr(iterator, "state"):
            self.state, self.restore = iterator.state, iterator.restore

    def __iter__(self) -> "_Shifted":
        return self

    def __next__(self) -> Example:
        return {"n": next(self._iterator)["n"] + self._more}


def _part(worker: int, num_workers: int, makes: Any, counts: Sequence[int]) -> Iterator[Example]:
    """Numbers of a worker, which do not come from another one."""
    assert num_workers == len(counts)
    return _Shifted(makes(counts[worker]), 1000 * worker)


def _parts(random: Random) -> Source:
    """Iterators in two worker processes, whose examples come in turn."""
    counts = random.choice([(1, 0), (0, 30), (30, 12), (7, 90)])
    makes = random.choice([_yielded, _Counter, _slow])
    parts = [[1000 * worker + n for n in range(count)] for worker, count in enumerate(counts)]
    numbers = [part[n] for n in range(max(counts)) for part in parts if n < len(part)]
    factory = partial(_part, makes=makes, counts=counts)
    return Source(
        f"iterable({makes.__name__}, {counts}, num_processes=2)",
        lambda directory: hr.iterable(factory, num_processes=2),
        [{"n": n} for n in numbers],
        sizes=None,
        kind=IN_PROCESSES,
        places=[(0, record) for record in range(len(numbers))],
    )


def _iterable(random: Random) -> Source:
    # Rarely in processes, which take time to start.
    share = random.random()
    if share < 0.02:
        return _parts(random)
    num_processes = int(share < 0.04)
    count = random.choice([1, 30, 150])
    makes = random.choice([_yielded, _Counter, _slow])
    return Source(
        f"iterable({makes.__name__}, {count}{', num_processes=1' * num_processes})",
        lambda directory: hr.iterable(partial(makes, count), num_processes),
        [{"n": n} for n in range(count)],
        sizes=None,
        kind=IN_PROCESSES if num_processes else "",
        places=[(0, record) for record in range(count)],
    )


def _once(random: Random) -> Source:
    count, pace = random.choice([0, 1, 30, 150]), Pace()
    return Source(
        f"iterable(once, {count})",
        lambda directory: hr.iterable(_Once(count, pace)),
        [{"n": n} for n in range(count)],
        sizes=None,
        kind=ONCE,
        pace=pace,
    )


def _split(random: Random, source: Source) -> Source:
    """A part of a source, the other examples of which are dropped behind it."""
    assert source.places is not None
    seed, number = random.randrange(2**20), random.randrange(2)
    share = random.choice([0.2, 0.5, 0.7])
    order = random.choice([None, None, random.randrange(2**20)])

    def begin(directory: Path) -> hr.Pipeline:
        part = source.begin(directory).split(share, 1 - share, seed=seed)[number]
        return part if order is None else part.shuffle(seed=order)

    keys = keys_of(seed, source.places)
    in_first = {n for n, key in enumerate(keys) if key < round(share * 2**64)}
    lost = [e["n"] for n, e in enumerate(source.examples) if (n in in_first) == (number == 1)]
    shuffle = "" if order is None else f".shuffle(seed={order})"
    return replace(
        source,
        text=f"{source.text}.split({share}, seed={seed})[{number}]{shuffle}",
        begin=begin,
        seed=order,
        lost=frozenset(lost),
        kind=SPLIT,
    )


_SOURCES: list[Callable[[Random], Source]] = [
    _records,
    _records,
    partial(_records, ending="gz"),
    _with_origin,
    _damaged,
    _lines,
    _csv,
    _json,
    _fixed,
    _tokens,
    _archive,
    _folder,
    _files,
    _arrays,
    _arrays,
    _arrays,
    _indexed,
    _indexed,
    _iterable,
    _iterable,
    _once,
    _once,
    *([_parquet, _parquet_where, _arrow] if pq is not None else []),
]
