"""Writes small files of every format and reads them: `numbers_of_formats(directory)`.

This runs with an installed wheel, so it needs only NumPy and the standard library. Formats that
other packages write are left out if the package isn't installed, and reported as such.
"""

import json
import struct
import tarfile
import wave
import zipfile
from collections.abc import Callable, Iterator
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

import headrace as hr

NUMBERS = range(24)
"""The numbers in the files of each format."""

_SCALE = 8
"""The difference between the colours of successive images, so that JPEG can't mix them up."""


@hr.native
def _number(example: Any) -> Any:
    return {"n": hr.ops.string_to_number(example["text"], "int64")}


@hr.native
def _raw_number(example: Any) -> Any:
    return {"n": hr.ops.reshape(hr.ops.decode_raw(example["record"], "int64"), [])}


@hr.native
def _colour(example: Any) -> Any:
    image = hr.ops.decode_image(example["data"], channels=1)
    return {"n": hr.ops.reduce_max(hr.ops.cast(image, "int64"))}


@hr.native
def _loudness(example: Any) -> Any:
    return {"n": hr.ops.reduce_max(hr.ops.decode_audio(example["data"]))}


def _values(pipe: Any, window: int | None = None) -> list[Any]:
    batches = pipe.shuffle(seed=1, window=window).batch(5)
    return np.concatenate([batch["n"] for batch in batches]).tolist()


def _lines() -> bytes:
    return "".join(f"{n}\n" for n in NUMBERS).encode()


def _text(directory: Path, compress: Callable[[bytes], bytes] = bytes) -> list[Any]:
    path = directory / "numbers.txt"
    path.write_bytes(compress(_lines()))
    # Compressed files have no random access, so they can't be shuffled without a window.
    return _values(hr.text_lines(path).map(_number), window=10)


def _compressed(module: str) -> Callable[[Path], list[Any]]:
    return lambda directory: _text(directory, import_module(module).compress)


def _zstd_frame(data: bytes) -> bytes:
    """Returns a frame with a single uncompressed block (RFC 8878)."""
    header = b"\x28\xb5\x2f\xfd\x20" + bytes([len(data)])
    return header + (len(data) << 3 | 1).to_bytes(3, "little") + data


def _csv(directory: Path) -> list[Any]:
    path = directory / "numbers.csv"
    path.write_text("n,text\n" + "".join(f'{n},"a\nb"\n' for n in NUMBERS))
    return _values(hr.csv(path, {"n": int}))


def _json_lines(directory: Path) -> list[Any]:
    path = directory / "numbers.jsonl"
    path.write_text("".join(json.dumps({"n": n}) + "\n" for n in NUMBERS))
    return _values(hr.json_lines(path, {"n": int}))


def _json_array(directory: Path) -> list[Any]:
    path = directory / "numbers.json"
    path.write_text(json.dumps([{"n": n} for n in NUMBERS]))
    return _values(hr.json_array(path, {"n": int}))


def _arrays(_directory: Path) -> list[Any]:
    return _values(hr.arrays({"n": np.arange(len(NUMBERS))}))


def _tfrecords(directory: Path) -> list[Any]:
    import_module("google.protobuf")
    hr.arrays({"n": np.arange(len(NUMBERS))}).write(str(directory / "numbers.tfrecord"))
    return _values(hr.tfrecords(directory / "numbers.tfrecord").parse({"n": int}))


def _webdataset(directory: Path) -> list[Any]:
    path = directory / "numbers.tar"
    with tarfile.open(path, "w") as archive:
        for n in NUMBERS:
            member = tarfile.TarInfo(f"{n:03}.text")
            data = b"%d" % n
            member.size = len(data)
            archive.addfile(member, BytesIO(data))
    return _values(hr.webdataset(path).map(_number))


def _fixed_length_records(directory: Path) -> list[Any]:
    path = directory / "numbers.fixed"
    path.write_bytes(np.array(NUMBERS, "<i8").tobytes())
    return _values(hr.fixed_length_records(path, 8).map(_raw_number))


def _tokens(directory: Path) -> list[Any]:
    path = directory / "numbers.npy"
    np.save(path, np.array([*NUMBERS, 0], np.int32))
    return [example["tokens"][0] for example in hr.tokens(path, length=2).shuffle(seed=1)]


def _journal(directory: Path) -> list[Any]:
    with hr.Journal(directory / "journal") as journal:
        journal.append([{"n": n} for n in NUMBERS])
    return [example["n"] for example in hr.journal(directory / "journal")]


def _write_images(directory: Path, extension: str) -> Path:
    encode = {"png": hr.ops.encode_png, "jpg": hr.ops.encode_jpeg}[extension]
    pixels = np.repeat(np.array(NUMBERS, np.uint8) * _SCALE, 16 * 16).reshape(-1, 16, 16, 1)
    files = hr.arrays({"x": pixels}).map(hr.native(lambda example: {"data": encode(example["x"])}))
    for n, example in enumerate(files):
        path = directory / "images" / "ab"[n % 2] / f"{n:03}.{extension}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(example["data"])
    return directory / "images"


def _images(extension: str) -> Callable[[Path], list[Any]]:
    def read(directory: Path) -> list[Any]:
        colours = _values(hr.image_folder(_write_images(directory, extension)).map(_colour))
        return [round(colour / _SCALE) for colour in colours]

    return read


def _zip_archive(directory: Path) -> list[Any]:
    root = _write_images(directory, "png")
    with zipfile.ZipFile(directory / "images.zip", "w") as archive:
        for path in sorted(root.rglob("*.png")):
            archive.write(path, path.relative_to(root))
    colours = _values(hr.files(str(directory / "images.zip/**/*.png")).map(_colour))
    return [colour // _SCALE for colour in colours]


def _sounds(directory: Path) -> list[Any]:
    for n in NUMBERS:
        path = directory / "sounds" / "ab"[n % 2] / f"{n:03}.wav"
        path.parent.mkdir(parents=True, exist_ok=True)
        with wave.open(str(path), "wb") as file:
            file.setparams((1, 2, 8000, 0, "NONE", ""))
            file.writeframes(np.full(800, n * 1000, "<i2").tobytes())
    values = _values(hr.audio_folder(directory / "sounds").map(_loudness))
    return [round(value * 32.768) for value in values]


def _coco(directory: Path) -> list[Any]:
    root = _write_images(directory, "png")
    names = [str(path.relative_to(root)) for path in sorted(root.rglob("*.png"), key=_stem)]
    content = {
        "images": [{"id": n, "file_name": name} for n, name in enumerate(names)],
        "annotations": [{"image_id": n, "category_id": 1, "bbox": [n, 0, 5, 5]} for n in NUMBERS],
        "categories": [{"id": 1, "name": "thing"}],
    }
    (directory / "boxes.json").write_text(json.dumps(content))
    pipe = hr.coco(root, directory / "boxes.json")
    return [example["boxes"][0, 0] for example in pipe.shuffle(seed=1)]


def _stem(path: Path) -> str:
    return path.stem


def _parquet(directory: Path) -> list[Any]:
    pyarrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"n": list(NUMBERS)}), directory / "numbers.parquet")
    return _values(hr.parquet(directory / "numbers.parquet"))


def _arrow(directory: Path) -> list[Any]:
    pyarrow = import_module("pyarrow")
    table = pyarrow.table({"n": list(NUMBERS)})
    with pyarrow.ipc.new_file(str(directory / "numbers.arrow"), table.schema) as writer:
        writer.write_table(table)
    return _values(hr.arrow(directory / "numbers.arrow"))


def _bare_tokens(directory: Path) -> list[Any]:
    path = directory / "numbers.bin"
    path.write_bytes(struct.pack(f"<{len(NUMBERS) + 1}H", *NUMBERS, 0))
    pipe = hr.tokens(path, length=2, dtype=np.uint16)
    return [example["tokens"][0] for example in pipe.shuffle(seed=1)]


FORMATS: dict[str, Callable[[Path], list[Any]]] = {
    "arrays": _arrays,
    "text": _text,
    "text, gzip": _compressed("gzip"),
    "text, bzip2": _compressed("bz2"),
    "text, xz": _compressed("lzma"),
    "text, zstd": lambda directory: _text(directory, _zstd_frame),
    "CSV": _csv,
    "JSON lines": _json_lines,
    "JSON array": _json_array,
    "TFRecord": _tfrecords,
    "WebDataset": _webdataset,
    "fixed-length records": _fixed_length_records,
    "tokens, .npy": _tokens,
    "tokens, .bin": _bare_tokens,
    "journal": _journal,
    "PNG": _images("png"),
    "JPEG": _images("jpg"),
    "zip": _zip_archive,
    "WAV": _sounds,
    "COCO": _coco,
    "Parquet": _parquet,
    "Arrow": _arrow,
}


def try_formats(directory: Path) -> Iterator[tuple[str, str]]:
    """Yields the name of each format, and "read" or the package that is missing.

    Raises:
        AssertionError: If the numbers that were read differ from those that were written.
    """
    for name, read in FORMATS.items():
        folder = directory / name.replace(" ", "_")
        folder.mkdir()
        try:
            numbers = read(folder)
        except ModuleNotFoundError as error:
            yield name, f"not tried, no {error.name}"
            continue
        assert sorted(map(int, numbers)) == list(NUMBERS), (name, numbers)
        yield name, "read"
