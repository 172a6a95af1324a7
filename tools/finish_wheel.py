"""Makes a wheel ready to publish: `finish_wheel.py WHEEL TARGET DIRECTORY`.

WHEEL is a wheel that maturin built for the Rust target TARGET. The finished wheel in DIRECTORY
differs from it as follows:

- `LINKED.txt` contains the licences of the linked crates.
- The SBOM doesn't name directories of this machine, and has neither a time nor a random number.
- With musl, the extension needs the C library by the name that musllinux prescribes.
- On Linux, the extension is stripped. Its symbols and line tables are in DIRECTORY/symbols. To use
  them, copy the file next to the extension, where debuggers and Rust's backtraces look for it.
- Files are sorted, have the time in `SOURCE_DATE_EPOCH` and are compressed at the highest level. So
  the same build gives the same bytes.

Prints the path of the finished wheel.
"""

import csv
import io
import json
import os
import subprocess
import sys
import time
import zipfile
from base64 import urlsafe_b64encode
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).parents[1]
_FIRST_TIME = 315_532_800
"""The start of 1980, the first time that zip archives can express."""


def finish(wheel: Path, target: str, directory: Path) -> Path:
    """Writes the finished wheel to `directory`, and returns its path."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
        [info] = folder.glob("*.dist-info")
        licences = info / "licenses" / "LINKED.txt"
        licences.parent.mkdir(exist_ok=True)
        command = [sys.executable, ROOT / "tools" / "licences.py", target, licences]
        subprocess.run(command, check=True)
        for path in info.glob("sboms/*.json"):
            path.write_text(sbom_without_place(path.read_text("utf-8")), "utf-8")
        if "linux" in target:
            [extension] = folder.glob("headrace/_native*.so")
            if target.endswith("musl"):
                rename_musl(extension, target.partition("-")[0])
            symbols = directory / "symbols" / f"{wheel.stem}.debug"
            symbols.parent.mkdir(parents=True, exist_ok=True)
            split_symbols(extension, symbols)
        (info / "RECORD").unlink()
        finished = directory / wheel.name
        pack(folder, info.name, finished)
    return finished


def sbom_without_place(text: str) -> str:
    """Returns an SBOM in CycloneDX's JSON without directories, times and random numbers."""
    cargo_home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    for path, name in ((ROOT, "/headrace"), (cargo_home, "/cargo")):
        text = text.replace(path.as_posix(), name)
    content = json.loads(text)
    content.pop("serialNumber", None)
    content.get("metadata", {}).pop("timestamp", None)
    return json.dumps(_sorted(content), indent=1) + "\n"


def _sorted(value: Any) -> Any:
    """Returns JSON with its lists in an order that doesn't depend on how they were made."""
    if isinstance(value, dict):
        return {key: _sorted(item) for key, item in value.items()}
    if isinstance(value, list):
        return sorted(map(_sorted, value), key=json.dumps)
    return value


def rename_musl(extension: Path, cpu: str) -> None:
    """Renames the C library that the extension needs to the name in the standard for musllinux.

    zig names it `libc.so`. musl's loader accepts both names, but auditwheel doesn't.
    """
    names = ["libc.so", f"libc.musl-{cpu}.so.1"]
    subprocess.run(["patchelf", "--replace-needed", *names, extension], check=True)


def split_symbols(extension: Path, symbols: Path) -> None:
    """Moves the symbols and line tables of an extension for Linux to their own file.

    This uses Rust's own `objcopy`, which supports all processors.
    """
    host = _output("rustc", "--print", "host-tuple")
    root = Path(_output("rustc", "--print", "sysroot"))
    objcopy = root / "lib" / "rustlib" / host / "bin" / "rust-objcopy"
    environment = {**os.environ, "LD_LIBRARY_PATH": str(root / "lib")}
    for arguments in (
        ["--only-keep-debug", "--compress-debug-sections=zlib", extension, symbols],
        ["--strip-all", extension],
        [f"--add-gnu-debuglink={symbols}", extension],
    ):
        subprocess.run([objcopy, *arguments], check=True, env=environment)


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def pack(folder: Path, info: str, wheel: Path) -> None:
    """Packs a directory into a wheel. The files of the folder `info` come last."""
    moment = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), _FIRST_TIME))
    paths = sorted(
        (path for path in folder.rglob("*") if path.is_file()),
        key=lambda path: (path.is_relative_to(folder / info), path),
    )
    record = io.StringIO()
    rows = csv.writer(record, lineterminator="\n")
    wheel.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(wheel, "w") as archive:

        def add(name: str, data: bytes) -> None:
            entry = zipfile.ZipInfo(name, moment[:6])
            entry.external_attr = (0o100755 if name.endswith(".so") else 0o100644) << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED, compresslevel=9)

        for path in paths:
            name, data = path.relative_to(folder).as_posix(), path.read_bytes()
            digest = urlsafe_b64encode(sha256(data).digest()).rstrip(b"=").decode()
            rows.writerow([name, f"sha256={digest}", len(data)])
            add(name, data)
        rows.writerow([f"{info}/RECORD", "", ""])
        add(f"{info}/RECORD", record.getvalue().encode())


if __name__ == "__main__":
    print(finish(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])))
