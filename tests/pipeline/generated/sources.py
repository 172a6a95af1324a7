"""Random sources of every kind, with their examples."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from tests.pipeline.generated.model import Example
from tests.pipeline.generated.python_sources import arrays, indexed, iterable, journal, once
from tests.pipeline.generated.source import COMPRESSED, LARGE_VALUES, MANY, SPLIT, Source
from tests.pipeline.generated.source_files import (
    ALL,
    CANVAS,
    COMPRESSIONS,
    DAMAGED,
    EPISODES,
    LARGE,
    NUMBERS,
    ROBOT,
    ROW_GROUPS,
    ROWS,
    ROWS_OF_ARRAYS,
    TFDS,
    VOC,
    boxes_of,
    episode_ids,
    frames_around,
    has_damage,
    large_of,
    layouts,
    list_of,
    name_of,
    pq,
    row_of,
)

import headrace as hr


def draw_source(random: Random) -> Source:
    """Draws a source."""
    source = random.choice(_SOURCES)(random)
    if source.positions is None or random.random() > 0.2:
        return source
    order = random.choice([None, None, random.randrange(2**20)])
    part = _split(random, source, order)
    try:
        part.begin(Path("nowhere"))
    except ValueError:  # A shuffle of all examples of a source without random access.
        return source
    return part


def draw_split(random: Random) -> Source:
    """Draws a part of a split of a source with random access."""
    while True:
        source = random.choice(_SOURCES)(random)
        if source.positions is None:
            continue
        try:
            source.begin(Path("nowhere")).shuffle(seed=0)
        except ValueError:
            continue
        return _split(random, source, None)


def sizes_of_pieces(source: Source, block_bytes: int | None) -> Sequence[int]:
    """The number of examples of each piece of the files."""
    if block_bytes is None or not source.ending:
        return source.sizes or ()
    sizes: list[int] = []
    for begins, num_bytes in layouts()[source.ending]:
        pieces = [0] * max(1, -(-num_bytes // block_bytes))
        for begin in begins:
            pieces[begin // block_bytes] += 1
        sizes.extend(pieces)
    return sizes


def keys_of(seed: int, positions: Sequence[tuple[int, int]]) -> list[int]:
    """The hashes that determine splits of records, as documented in the engine."""
    return [_mixed(_mixed(seed, record), file) for file, record in positions]


def _mixed(one: int, other: int) -> int:
    # The finalizer of SplitMix64.
    mask, golden = (1 << 64) - 1, 0x9E3779B97F4A7C15
    mixed = ((one ^ (other * golden & mask)) + golden) & mask
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9 & mask
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB & mask
    return mixed ^ (mixed >> 31)


_WHOLE = [{"n": n, "list": list_of(n), "text": b"text %d" % n} for n in ALL]


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
    return Source(text, begin, _only(*names), frozenset(names), ending=pieces, positions=_PLACES)


def _tfds(random: Random) -> Source:
    """A TFDS data set, or a part of one in random order."""
    seed, first = random.choice([(None, 0), (None, 0), (random.randrange(2**20), 20)])
    split = f"train[{first}:]" if first else "train"

    def begin(directory: Path) -> hr.Pipeline:
        examples = hr.tfds(directory / TFDS, split).select("n", "text")
        return examples if seed is None else examples.shuffle(seed=seed)

    shuffle = "" if seed is None else f".shuffle(seed={seed})"
    text, names = f"tfds({split}){shuffle}", frozenset({"n", "text"})
    return Source(
        text,
        begin,
        _only(*sorted(names)),
        names,
        seed=seed,
        lost=frozenset(range(first)),
        ending=TFDS,
        positions=_PLACES if seed is None else None,
    )


def _steps(random: Random) -> Source:
    """The steps of episodes. They are counted, so that no window reorders their files."""
    names = ("n", "episode_id")

    def begin(directory: Path) -> hr.Pipeline:
        return hr.tfds(directory / EPISODES, steps=True).take(len(ALL)).select(*names)

    examples = [
        dict(zip(names, pair, strict=True)) for pair in zip(ALL, episode_ids(), strict=True)
    ]
    return Source(
        "tfds(episodes, steps=True)",
        begin,
        examples,
        frozenset(names),
        sizes=None,
        kind="tfds steps",
    )


def _with_origin(random: Random) -> Source:
    def begin(directory: Path) -> hr.Pipeline:
        records = hr.tfrecords(directory / "*.tfrecord").with_origin().parse({"n": int})
        return records.map(_base_name)

    examples = [
        {"n": n, "file": file, "record_number": number}
        for n, (file, number) in zip(ALL, _origins(".tfrecord"), strict=True)
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
    lost = frozenset(filter(has_damage, range(97)))
    text = f"tfrecords(damaged){shuffle}.skip_errors()"
    return Source(text, begin, examples, seed=seed, lost=lost, sizes=(97,), ending=DAMAGED)


def _lines(random: Random) -> Source:
    def begin(directory: Path) -> hr.Pipeline:
        return hr.text_lines(directory / "*.txt").map(_number_of_text)

    return Source("text_lines(*.txt)", begin, _only("n"), ending="txt", positions=_PLACES)


def _number_of_text(example: Example) -> Example:
    return {"n": int(example["text"])}


def _csv(random: Random) -> Source:
    def begin(directory: Path) -> hr.Pipeline:
        return hr.csv(directory / "*.csv", {"n": int, "text": bytes})

    examples = [{"n": n, "text": b"text\n%d" % n} for n in ALL]
    return Source("csv(*.csv)", begin, examples, frozenset({"n", "text"}), ending="csv")


def _json(random: Random) -> Source:
    def begin(directory: Path) -> hr.Pipeline:
        return hr.json_lines(directory / "*.jsonl", {"n": int, "list": hr.Ragged(int)})

    names = frozenset({"n", "list"})
    return Source("json_lines(*.jsonl)", begin, _only("n", "list"), names, ending="jsonl")


def _json_array(random: Random) -> Source:
    def begin(directory: Path) -> hr.Pipeline:
        return hr.json_array(directory / "*.json", {"n": int, "list": hr.Ragged(int)})

    names = frozenset({"n", "list"})
    text = "json_array(*.json)"
    return Source(text, begin, _only("n", "list"), names, ending="json", positions=_PLACES)


@hr.native
def _decoded(example):
    return {"n": hr.ops.reshape(hr.ops.decode_raw(example["record"], "int64"), [])}


def _fixed(random: Random) -> Source:
    def begin(directory: Path) -> hr.Pipeline:
        return hr.fixed_length_records(directory / "*.fixed", 8).map(_decoded)

    text = "fixed_length_records(*.fixed)"
    return Source(text, begin, _only("n"), ending="fixed", positions=_PLACES)


def _tokens(random: Random) -> Source:
    def begin(directory: Path) -> hr.Pipeline:
        return hr.tokens(directory / "*.tokens", 3, np.int64, stride=1).map(_first_token)

    text = "tokens(*.tokens)"
    return Source(text, begin, _only("n"), ending="tokens", positions=_PLACES)


def _first_token(example: Example) -> Example:
    return {"n": int(example["tokens"][0])}


def _archive(random: Random) -> Source:
    def begin(directory: Path) -> hr.Pipeline:
        return hr.webdataset(directory / "*.tar").map(_number_of_member)

    return Source("webdataset(*.tar)", begin, _only("n"), ending="tar")


def _number_of_member(example: Example) -> Example:
    return {"n": int(example["n"])}


def _folder(random: Random) -> Source:
    return random.choice(
        [
            *(_images, _sounds, _videos, _coco, _yolo, _pascal_voc, _archived_images),
            *(_archived_files, partial(_coco_objects, random.choice([None, False, True]))),
        ]
    )()


def _images() -> Source:
    def begin(directory: Path) -> hr.Pipeline:
        return hr.image_folder(directory / "images").map(_number_of_image)

    return Source("image_folder(images)", begin, _only("n"), sizes=(1,) * 97)


def _sounds() -> Source:
    def begin(directory: Path) -> hr.Pipeline:
        return hr.audio_folder(directory / "sounds").map(_number_of_image)

    return Source("audio_folder(sounds)", begin, _only("n"), sizes=(1,) * 97)


def _videos() -> Source:
    def begin(directory: Path) -> hr.Pipeline:
        return hr.video_folder(directory / "images", ["png"]).map(_number_of_path)

    return Source("video_folder(images)", begin, _only("n"), sizes=None)


def _number_of_path(example: Example) -> Example:
    return {"n": int(Path(example["video"]).stem)}


def _coco() -> Source:
    def begin(directory: Path) -> hr.Pipeline:
        return hr.coco(directory / "images", directory / "boxes.coco").map(_number_of_coco)

    return Source("coco(images)", begin, _only("n"), sizes=(1,) * 97)


def _number_of_coco(example: Example) -> Example:
    n = int(example["image"])
    edges = [[x, y, x + width, y + height] for x, y, width, height in boxes_of(n)]
    is_right = example["boxes"].tolist() == edges and len(example["labels"]) == len(edges)
    return {"n": n if is_right and example["image_id"] == n else -1}


def _coco_objects(iscrowd: bool | None) -> Source:
    """Masks and keypoints, of all objects, or with or without crowds."""

    def begin(directory: Path) -> hr.Pipeline:
        arguments = directory / "images", directory / "boxes.coco"
        return hr.coco(*arguments, masks=True, keypoints=True, iscrowd=iscrowd).map(
            partial(_number_of_objects, iscrowd=iscrowd)
        )

    text = f"coco(images, masks=True, keypoints=True, iscrowd={iscrowd})"
    return Source(text, begin, _only("n"), sizes=(1,) * 97, kind="coco objects")


def _number_of_objects(example: Example, iscrowd: bool | None) -> Example:
    n = int(example["image"])
    objects = [(k, box) for k, box in enumerate(boxes_of(n)) if iscrowd is None or k % 2 == iscrowd]
    masks = np.zeros((len(objects), *CANVAS), np.uint8)
    for mask, (_, (x, y, width, height)) in zip(masks, objects, strict=True):
        mask[y : y + height, x : x + width] = 1
    is_right = (
        np.array_equal(example["masks"], masks)
        and example["keypoints"].tolist() == [[[n, k]] for k, _ in objects]
        and example["visibility"].tolist() == [[1 + k % 2] for k, _ in objects]
    )
    return {"n": n if is_right else -1}


def _pascal_voc() -> Source:
    def begin(directory: Path) -> hr.Pipeline:
        return hr.pascal_voc(directory / VOC, "all").map(_number_of_voc)

    return Source("pascal_voc(voc)", begin, _only("n"), sizes=(1,) * 97)


def _number_of_voc(example: Example) -> Example:
    n = int(example["image"])
    edges = [[x, y, x + width, y + height] for x, y, width, height in boxes_of(n)]
    is_right = example["boxes"].tolist() == edges and example["image_id"] == f"{n:03}"
    return {"n": n if is_right else -1}


def _yolo() -> Source:
    def begin(directory: Path) -> hr.Pipeline:
        return hr.yolo(directory / "images").map(_number_of_yolo)

    return Source("yolo(images)", begin, _only("n"), sizes=(1,) * 97)


def _number_of_yolo(example: Example) -> Example:
    n = int(example["image"])
    heights = np.full(len(boxes_of(n)), n / 1000, np.float32)
    return {"n": n if np.array_equal(example["boxes"][:, 1], heights) else -1}


def _archived_images() -> Source:
    def begin(directory: Path) -> hr.Pipeline:
        return hr.image_folder(directory / "images.zip").map(_number_of_image)

    text = "image_folder(images.zip)"
    return Source(text, begin, _only("n"), sizes=(1,) * 97, kind="zip archive")


def _archived_files() -> Source:
    def begin(directory: Path) -> hr.Pipeline:
        return hr.files(directory / "images.zip" / "**" / "*.png").map(_number_of_image)

    return Source("files(images.zip)", begin, _only("n"), sizes=(1,) * 97, kind="zip archive")


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
    positions = _PLACES if seed is None else None
    return Source(text, begin, _only("n"), seed=seed, positions=positions, sizes=ROW_GROUPS)


def _parquet_where(random: Random) -> Source:
    """Rows that meet a condition, which skips some row groups."""
    least = random.choice([0, 20, 60, 97])

    def begin(directory: Path) -> hr.Pipeline:
        return hr.parquet(directory / "*.parquet", {"n": int}, [("n", ">=", least)])

    rows = [n for n in ALL if n >= least]
    groups = _groups()
    sizes = [sum(n >= least for n in group) for group in groups if group[-1] >= least]
    text = f"parquet(*.parquet, n >= {least})"
    return Source(text, begin, [{"n": n} for n in rows], sizes=sizes)


_AROUND = (-2, 0, 1)


def _lerobot(random: Random) -> Source:
    """The frames of a robot data set, or windows of them."""
    seed = random.choice([None, None, random.randrange(2**20)])
    window = random.choice([None, {"n": _AROUND}])

    def begin(directory: Path) -> hr.Pipeline:
        frames = hr.lerobot(directory / ROBOT, window, features=["n"])
        frames = frames.select("n") if window is None else frames.map(_frame_of_window)
        return frames if seed is None else frames.shuffle(seed=seed)

    shuffle = "" if seed is None else f".shuffle(seed={seed})"
    tables = [numbers for numbers in NUMBERS if numbers]
    places = [(table, n) for table, of in enumerate(tables) for n in range(len(of))]
    return Source(
        f"lerobot({ROBOT}, {window}){shuffle}",
        begin,
        _only("n"),
        seed=seed,
        positions=places if seed is None else None,
        sizes=ROW_GROUPS if window is None else None,
    )


def _frame_of_window(example: Example) -> Example:
    around = example["n"].tolist()
    n = around[1]
    marks = [n + offset != frame for offset, frame in zip(_AROUND, around, strict=True)]
    is_right = around == frames_around(n, _AROUND) and example["n_is_pad"].tolist() == marks
    return {"n": n if is_right else -1}


def _large(random: Random) -> Source:
    """Rows with values that are larger than the memory of some iterations, or nearly."""
    return Source(
        f"parquet({LARGE}/*.parquet)",
        lambda directory: hr.parquet(directory / LARGE / "*.parquet"),
        [{"n": n, "large": large_of(n)} for n in ALL],
        frozenset({"n", "large"}),
        sizes=ROW_GROUPS,
        kind=LARGE_VALUES,
    )


def _groups() -> list[list[int]]:
    """Returns the numbers of each row group."""
    groups, first = [], 0
    for size in ROW_GROUPS:
        groups.append(ALL[first : first + size])
        first += size
    return groups


def _arrow(random: Random) -> Source:
    """Arrow files with lists, a mask and a default, or of short values and strings."""
    seed = random.choice([None, None, random.randrange(2**20)])
    short = ("half", "n", "name", "some", "some_mask")
    names = random.choice([("n",), ("list", "n"), ("n", "some", "some_mask"), short])

    def begin(directory: Path) -> hr.Pipeline:
        types = {"n": int, "list": hr.Ragged(int), "some": hr.Nullable(int)}
        types |= {"half": np.float32, "name": str}
        columns = {name: types[name] for name in names if name in types}
        defaults = {"some": -1} if "some" in names else None
        rows = hr.arrow(directory / "*.arrow", columns, defaults=defaults)
        return rows if seed is None else rows.shuffle(seed=seed)

    uninterrupted = [
        {
            "n": n,
            "list": list_of(n),
            "some": n if n % 3 else -1,
            "some_mask": n % 3 != 0,
            "half": n / 2,
            "name": name_of(n),
        }
        for n in ALL
    ]
    examples = [{name: example[name] for name in names} for example in uninterrupted]
    shuffle = "" if seed is None else f".shuffle(seed={seed})"
    text = f"arrow(*.arrow){names}{shuffle}"
    positions = _PLACES if seed is None else None
    return Source(
        text, begin, examples, frozenset(names), seed=seed, positions=positions, sizes=ROW_GROUPS
    )


_NESTED: dict[str, Any] = {
    "list": hr.Ragged(int),
    "deep": hr.Ragged(int, ndim=2),
    "some": hr.Nullable(int),
    "meta.lang": str,
    "meta.more.m": int,
    "chat": hr.Json,
}


_ROWS = {"jsonl": ROWS, "json": ROWS_OF_ARRAYS}


def _rows(random: Random) -> Source:
    """Nested data in Parquet, Arrow and JSON: the same for each."""
    ending = random.choice(["jsonl", "json", *(["parquet", "arrow"] if pq is not None else [])])
    names = ["n", *(name for name in _NESTED if random.random() < 0.4)]
    random.shuffle(names)
    seed = random.choice([None, None, random.randrange(2**20)])
    defaults = random.choice([None, {"some": -1}]) if "some" in names else None
    readers = {"jsonl": hr.json_lines, "json": hr.json_array}
    read = {**readers, "parquet": hr.parquet, "arrow": hr.arrow}[ending]

    def begin(directory: Path) -> hr.Pipeline:
        columns = {name: _NESTED.get(name, int) for name in names}
        rows = read(directory / ROWS / f"*.{ending}", columns, defaults=defaults)
        return rows if seed is None else rows.shuffle(seed=seed)

    def example(n: int) -> Example:
        row = row_of(n)
        output: Example = {}
        for name in names:
            outer, *inner = name.split(".")
            output[name] = row[outer]
            for key in inner:
                output[name] = output[name][key]
            if name == "some":
                is_there = output[name] is not None
                output[name] = output[name] if is_there else -1 if defaults else 0
                output["some_mask"] = is_there
        return output

    examples = list(map(example, ALL))
    shuffle = "" if seed is None else f".shuffle(seed={seed})"
    return Source(
        f"rows({ending}, {names}, defaults={defaults}){shuffle}",
        begin,
        examples,
        frozenset(examples[0]),
        seed=seed,
        positions=_PLACES if seed is None else None,
        **({"ending": _ROWS[ending]} if ending in _ROWS else {"sizes": ROW_GROUPS}),
    )


def _compressed(random: Random) -> Source:
    """Compressed files, which are recognised by their first bytes."""
    directory_name = random.choice(list(COMPRESSIONS))
    make = random.choice([_records, _lines, _csv, _json, _json_array, _fixed, _archive])
    source = make(random)
    return replace(
        source,
        text=f"{directory_name}/{source.text}",
        begin=lambda directory: source.begin(directory / directory_name),
        ending="",
        kind=COMPRESSED,
        positions=None,
    )


def _inferred(random: Random) -> Source:
    """Tables whose columns and types are inferred."""
    ending = random.choice(["csv", "jsonl", "json"])
    read = {"csv": hr.csv, "jsonl": hr.json_lines, "json": hr.json_array}[ending]
    values: dict[str, Callable[[int], Any]] = {
        "csv": lambda n: {"n": n, "text": f"text\n{n}"},
        "jsonl": lambda n: {"n": n, "list": list_of(n)},
        "json": lambda n: {"n": n, "list": list_of(n)},
    }
    examples = list(map(values[ending], ALL))
    return Source(
        f"{ending}(*.{ending}, inferred)",
        lambda directory: read(directory / f"*.{ending}"),
        examples,
        frozenset(examples[0]),
        ending=ending,
        kind="inferred",
    )


def _split(random: Random, source: Source, order: int | None) -> Source:
    """A part of a split source, shuffled with a seed if one is given."""
    assert source.positions is not None
    seed, number = random.randrange(2**20), random.randrange(2)
    share = random.choice([0.2, 0.5, 0.7])

    def begin(directory: Path) -> hr.Pipeline:
        part = source.begin(directory).split(share, 1 - share, seed=seed)[number]
        return part if order is None else part.shuffle(seed=order)

    keys = keys_of(seed, source.positions)
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
    _tfds,
    _steps,
    _damaged,
    _lines,
    _csv,
    _json,
    _json_array,
    _fixed,
    _tokens,
    _archive,
    _folder,
    _files,
    arrays,
    arrays,
    arrays,
    indexed,
    indexed,
    iterable,
    iterable,
    journal,
    _rows,
    _rows,
    _compressed,
    _compressed,
    _inferred,
    once,
    once,
    *([_parquet, _parquet_where, _lerobot, _arrow, _large, _large] if pq is not None else []),
]
