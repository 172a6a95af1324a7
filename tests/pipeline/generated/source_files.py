"""Files of every format for random sources."""

import bz2
import gzip
import json
import lzma
import re
import tarfile
import zipfile
from bisect import bisect
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from itertools import accumulate, cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from tests import tfds_files
from tests.archives import add_members
from tests.pipeline.run_lengths import compressed

import headrace as hr
from headrace.io.records import TFRecordWriter
from headrace.protos import Example as Message

pa = pq = None
if find_spec("pyarrow"):  # Parquet is an extra.
    import pyarrow as pa
    import pyarrow.parquet as pq
    from tests import lerobot_files


NUMBERS = (range(53), range(53, 53), range(53, 97))
# The rows of each row group of Parquet files.
_GROUP_ROWS = 17
ROW_GROUPS = (17, 17, 17, 2, 17, 17, 10)
# The extension of files with some damaged records.
DAMAGED = "damaged"
# The directory of files with nested data, and the extension of files that have pieces.
ROWS = "rows"
ROWS_OF_ARRAYS = "rows.json"
# The directory of Parquet files with large values, and the bytes of the values.
LARGE = "large"
_LARGE_BYTES = (100, 20_000, 150_000, 400_000)
# The directories of data sets of TFDS: one with examples, and one with episodes.
TFDS = "tfds"
EPISODES = "episodes"
# The directory of a data set of Pascal VOC, and the height and width of images with masks.
VOC = "voc"
CANVAS = [5, 100]
# The directory of a data set of LeRobot. Its tables are the files that are not empty.
ROBOT = "robot"
# The numbers of frames of its episodes.
_FRAMES = (20, 1, 32, 9, 20, 15)
# The numbers of steps of successive episodes.
_STEPS = (3, 0, 5, 1)
# The directories of compressed copies of files.
COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
}
_COMPRESSED = ("tfrecord", "txt", "csv", "jsonl", "json", "fixed", "tar")


@cache
def layouts() -> dict[str, list[tuple[list[int], int]]]:
    """The bytes at which the records of each file begin, and its size, by the ending."""
    with TemporaryDirectory() as name:
        directory = Path(name)
        write_files(directory)
        layouts = {
            ending: [(begins(path), path.stat().st_size) for path in sorted(directory.glob(names))]
            for ending, (names, begins) in _BEGINS.items()
        }
    assert all(sum(len(begins) for begins, _ in layout) == len(ALL) for layout in layouts.values())
    return layouts


def _begins_of_matches(pattern: bytes) -> Callable[[Path], list[int]]:
    return lambda path: [matches.start() for matches in re.finditer(pattern, path.read_bytes())]


def _begins_of_records(path: Path) -> list[int]:
    raw, begins, position = path.read_bytes(), [], 0
    while position < len(raw):
        begins.append(position)
        position += 12 + int.from_bytes(raw[position : position + 8], "little") + 4
    return begins


def _begins_of_samples(path: Path) -> list[int]:
    with tarfile.open(path) as archive:
        return [member.offset for member in archive if member.name.endswith(".n")]


_BEGINS: dict[str, tuple[str, Callable[[Path], list[int]]]] = {
    "txt": ("*.txt", _begins_of_matches(rb"(?m)^\d+$")),
    "csv": ("*.csv", _begins_of_matches(rb"(?m)^\d+,")),
    "jsonl": ("*.jsonl", _begins_of_matches(rb"(?m)^\{")),
    "json": ("*.json", _begins_of_matches(rb"\{")),
    "fixed": ("*.fixed", lambda path: list(range(0, path.stat().st_size, 8))),
    "tokens": ("*.tokens", lambda path: list(range(0, path.stat().st_size - 16, 8))),
    "tfrecord": ("*.tfrecord", _begins_of_records),
    ROWS: ("rows/*.jsonl", _begins_of_matches(rb"(?m)^\{")),
    ROWS_OF_ARRAYS: ("rows/*.json", _begins_of_matches(rb'\{"n": (?=\d+, "list")')),
    DAMAGED: ("damaged/*.tfrecord", _begins_of_records),
    "tar": ("*.tar", _begins_of_samples),
    TFDS: ("tfds/*.tfrecord-*", _begins_of_records),
}


def write_files(directory: Path) -> None:
    """Writes the files that the sources read."""
    for index, numbers in enumerate(NUMBERS):
        _write_records(directory / f"{index}.tfrecord", numbers)
        _write_records(directory / f"{index}.gz", numbers, "GZIP")
        (directory / f"{index}.txt").write_text("".join(f"{n}\n" for n in numbers))
        table = "n,text\n" + "".join(f'{n},"text\n{n}"\n' for n in numbers)
        (directory / f"{index}.csv").write_text(table)
        objects = "".join(f'{{"n": {n}, "list": {list_of(n)}}}\n\n' for n in numbers)
        (directory / f"{index}.jsonl").write_text(objects)
        objects = [{"n": n, "list": list_of(n)} for n in numbers]
        (directory / f"{index}.json").write_text(json.dumps(objects, indent=index or None))
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
            columns["list"] = pa.array([list_of(n) for n in numbers], pa.list_(pa.int64()))
            # Every third is null.
            columns["some"] = pa.array([n if n % 3 else None for n in numbers], pa.int64())
            columns["half"] = pa.array([n / 2 for n in numbers], pa.float32())
            columns["name"] = pa.array(map(name_of, numbers), pa.string())
            table = pa.table(columns)
            with pa.ipc.new_file(directory / f"{index}.arrow", table.schema) as writer:
                writer.write_table(table, max_chunksize=_GROUP_ROWS)
            _write_large(directory / LARGE / f"{index}.parquet", numbers)
            if index == 0:
                _write_robot(directory / ROBOT)
        _write_rows(directory / ROWS / str(index), numbers)
        for ending in _COMPRESSED:
            name = f"{index}.{ending}"
            for kind, compress in COMPRESSIONS.items():
                (directory / kind).mkdir(exist_ok=True)
                (directory / kind / name).write_bytes(compress((directory / name).read_bytes()))
    _damage(directory / "damaged" / "0.tfrecord")
    _write_data_sets(directory)
    _write_annotations(directory)
    with zipfile.ZipFile(directory / "images.zip", "w") as archive:
        for n, image in enumerate(sorted((directory / "images").rglob("*.png"))):
            method = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)[n % 2]
            archive.write(image, str(image.relative_to(directory / "images")), method)


def _write_data_sets(directory: Path) -> None:
    integer = tfds_files.tensor("int64")
    features = {"n": integer, "list": tfds_files.sequence(integer), "text": tfds_files.text()}
    shards = [[{"n": n, "list": list_of(n), "text": f"text {n}"} for n in of] for of in NUMBERS]
    tfds_files.write_data_set(directory / TFDS, features, {"train": shards})
    steps = {"steps": tfds_files.dataset(tfds_files.features_dict(features))}
    episodes = [[{"steps": episode} for episode in _episodes(shard)] for shard in shards]
    tfds_files.write_data_set(directory / EPISODES, steps, {"train": episodes})


def _episodes(steps: list[Any]) -> list[list[Any]]:
    episodes, lengths = [], cycle(_STEPS)
    while steps:
        length = next(lengths)
        episodes.append(steps[:length])
        steps = steps[length:]
    return episodes


def episode_ids() -> list[int]:
    """The number of each number's episode, among the episodes of all files."""
    episodes = [episode for numbers in NUMBERS for episode in _episodes(list(numbers))]
    return [number for number, episode in enumerate(episodes) for _ in episode]


def boxes_of(n: int) -> list[list[int]]:
    """Boxes in an image (x, y, width and height). Some images have none."""
    return [[n, k, k + 1, 2] for k in range(n % 4)]


def outline_of(box: Sequence[int]) -> list[list[int]]:
    """The polygon of a box."""
    x, y, width, height = box
    return [[x, y, x + width, y, x + width, y + height, x, y + height]]


def _runs_of(box: Sequence[int]) -> list[int]:
    """The run lengths of a box, column by column."""
    x, y, width, height = box
    between = CANVAS[0] - height
    runs = [x * CANVAS[0] + y, *[height, between] * width]
    return [*runs[:-1], CANVAS[0] * CANVAS[1] - sum(runs[:-1])]


def _write_annotations(directory: Path) -> None:
    """Writes the boxes of the images as a COCO file, as text files and as XML files."""
    entries: dict[str, list[Any]] = {"images": [], "annotations": [], "categories": []}
    entries["categories"] = [{"id": k, "name": f"class {k}"} for k in (3, 5)]
    for folder in ("Annotations", "ImageSets/Main", "JPEGImages"):
        (directory / VOC / folder).mkdir(parents=True)
    for n in ALL:
        [path] = directory.glob(f"images/*/{n:03}.png")
        name = path.relative_to(directory / "images")
        height, width = CANVAS
        image = {"id": n, "file_name": str(name), "height": height, "width": width}
        entries["images"].append(image)
        for k, box in enumerate(boxes_of(n)):
            runs = _runs_of(box)
            forms: list[Any] = [outline_of(box)]
            forms += [{"size": CANVAS, "counts": counts} for counts in (runs, compressed(runs))]
            more = {"segmentation": forms[k % 3], "keypoints": [n, k, 1 + k % 2], "iscrowd": k % 2}
            entries["annotations"].append({"image_id": n, "category_id": 5, "bbox": box, **more})
        labels = (directory / "labels" / name).with_suffix(".txt")
        labels.parent.mkdir(parents=True, exist_ok=True)
        if boxes_of(n):
            labels.write_text("".join(f"1 0.5 0.{n:03} 0.25 0.5\n" for _ in boxes_of(n)))
        _write_voc(directory / VOC, n, path.read_bytes())
    (directory / "boxes.coco").write_text(json.dumps(entries))
    names = "".join(f"{n:03}\n" for n in ALL)
    (directory / VOC / "ImageSets/Main/all.txt").write_text(names)


def _write_voc(root: Path, n: int, image: bytes) -> None:
    objects = ""
    for x, y, width, height in boxes_of(n):
        # Pixels count from 1, and the last one belongs to the box.
        edges = {"xmin": x + 1, "ymin": y + 1, "xmax": x + width, "ymax": y + height}
        box = "".join(f"<{edge}>{value}</{edge}>" for edge, value in edges.items())
        objects += f"<object><name>dog</name><bndbox>{box}</bndbox></object>"
    (root / f"Annotations/{n:03}.xml").write_text(f"<annotation>{objects}</annotation>")
    (root / f"JPEGImages/{n:03}.jpg").write_bytes(image)


def _write_robot(root: Path) -> None:
    """Writes episodes of frames. Each table has as many as there are numbers in other files."""
    rows = [{**row, "n": row["index"]} for row in lerobot_files.rows_of(_FRAMES)]
    features = {"n": {"dtype": "int64", "shape": [1], "names": None}}
    lerobot_files.write_data_set(root, _FRAMES, (), features, rows, row_group_size=_GROUP_ROWS)


def frames_around(n: int, offsets: Sequence[int]) -> list[int]:
    """The frames around a frame, within its episode."""
    ends = list(accumulate(_FRAMES))
    episode = bisect(ends, n)
    first, last = ends[episode] - _FRAMES[episode], ends[episode] - 1
    return [min(max(n + offset, first), last) for offset in offsets]


def name_of(n: int) -> str:
    """A string, which is empty for some numbers."""
    return f"{n} " * (n % 4)


def _write_large(path: Path, numbers: range) -> None:
    path.parent.mkdir(exist_ok=True)
    values = pa.array(map(large_of, numbers), pa.binary())
    columns = {"n": pa.array(numbers, pa.int64()), "large": values}
    pq.write_table(pa.table(columns), path, row_group_size=_GROUP_ROWS, compression="none")


def large_of(n: int) -> bytes:
    """A value that is larger than the other values of its row. Row groups have some megabytes."""
    return b"%d" % n * (_LARGE_BYTES[n % len(_LARGE_BYTES)] // len(str(n)))


def _write_rows(path: Path, numbers: range) -> None:
    """Writes nested data as JSON lines, Parquet and Arrow."""
    path.parent.mkdir(exist_ok=True)
    rows = list(map(row_of, numbers))
    lines = "".join(f"{json.dumps(row)}\n" for row in rows)
    path.with_suffix(".jsonl").write_text(lines)
    path.with_suffix(".json").write_text(json.dumps(rows))
    if pq is None:
        return
    number, text = pa.int64(), pa.string()
    turn = pa.struct({"role": text, "n": number})
    schema = {
        "n": number,
        "list": pa.list_(number),
        "deep": pa.list_(pa.list_(number)),
        "some": number,
        "meta": pa.struct({"lang": text, "more": pa.struct({"m": number})}),
        "chat": pa.struct({"turns": pa.list_(turn), "end": text}),
    }
    table = pa.Table.from_pylist(rows, pa.schema(schema))
    pq.write_table(table, path.with_suffix(".parquet"), row_group_size=_GROUP_ROWS)
    with pa.ipc.new_file(path.with_suffix(".arrow"), table.schema) as writer:
        writer.write_table(table, max_chunksize=_GROUP_ROWS)


def row_of(n: int) -> dict[str, Any]:
    """A row of nested data. Its lists of lists have the same lengths as others."""
    turns = [{"role": "user" if k % 2 == 0 else None, "n": n + k} for k in range(n % 4)]
    return {
        "n": n,
        "list": list_of(n),
        "deep": [[n, n + 1, n + 2], [-n, 0, 1]],
        # Every third is null.
        "some": n if n % 3 else None,
        "meta": {"lang": "en" if n % 2 else "é", "more": {"m": n * n}},
        "chat": None if n % 7 == 3 else {"turns": turns, "end": "." * (n % 3)},
    }


def list_of(n: int) -> list[int]:
    return list(range(n, n + n % 5))


def _write_records(path: Path, numbers: range, compression: str = "") -> None:
    path.parent.mkdir(exist_ok=True)
    with TFRecordWriter(path, hr.TFRecordOptions(compression) if compression else None) as writer:
        for n in numbers:
            message = Message()
            message.features.feature["n"].int64_list.value.append(n)
            message.features.feature["list"].int64_list.value.extend(list_of(n))
            message.features.feature["text"].bytes_list.value.append(b"text %d" % n)
            writer.write(message.SerializeToString())


def has_damage(n: int) -> bool:
    return n % 19 == 7


def _damage(path: Path) -> None:
    _write_records(path, range(97))
    raw = bytearray(path.read_bytes())
    position = 0
    for n in range(97):
        length = int.from_bytes(raw[position : position + 8], "little")
        if has_damage(n):
            raw[position + 12] ^= 1
        position += 12 + length + 4
    path.write_bytes(raw)


ALL = [n for numbers in NUMBERS for n in numbers]
