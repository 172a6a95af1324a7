"""Finished wheels are reproducible and don't name this machine's directories."""

import csv
import json
import zipfile
from base64 import urlsafe_b64encode
from hashlib import sha256
from pathlib import Path

import pytest
from tools.finish_wheel import ROOT, pack, sbom_without_place

INFO = "headrace-0.1.0.dist-info"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {
        f"{INFO}/WHEEL": b"Tag: any\n",
        "headrace/b.py": b"b",
        "headrace/_native.so": b"x" * 99,
    }
    for name, data in files.items():
        path = tmp_path / "unpacked" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return tmp_path / "unpacked"


def test_record_lists_every_file_with_its_digest_and_comes_last(
    folder: Path, tmp_path: Path
) -> None:
    pack(folder, INFO, tmp_path / "a.whl")
    with zipfile.ZipFile(tmp_path / "a.whl") as archive:
        names = archive.namelist()
        rows = list(csv.reader(archive.read(f"{INFO}/RECORD").decode().splitlines()))
        for name, digest, size in rows[:-1]:
            data = archive.read(name)
            expected = urlsafe_b64encode(sha256(data).digest()).decode().rstrip("=")
            assert (digest, size) == (f"sha256={expected}", str(len(data)))
    assert names == ["headrace/_native.so", "headrace/b.py", f"{INFO}/WHEEL", f"{INFO}/RECORD"]
    assert [row[0] for row in rows] == names
    assert rows[-1] == [f"{INFO}/RECORD", "", ""]


def test_wheel_does_not_depend_on_file_times(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    pack(folder, INFO, tmp_path / "a.whl")
    for path in folder.rglob("*.py"):
        path.chmod(0o600)
        path.touch()
    pack(folder, INFO, tmp_path / "b.whl")
    assert (tmp_path / "a.whl").read_bytes() == (tmp_path / "b.whl").read_bytes()


def test_sbom_omits_paths_times_and_random_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARGO_HOME", "/home/me/cargo")
    content = {
        "serialNumber": "urn:uuid:1",
        "metadata": {"timestamp": "2026-01-01", "component": {"name": "headrace"}},
        "components": [
            {"bom-ref": f"path+file://{ROOT}/crates/python#0.1.0"},
            {"bom-ref": "path+file:///home/me/cargo/a#1"},
        ],
    }
    assert json.loads(sbom_without_place(json.dumps(content))) == {
        "metadata": {"component": {"name": "headrace"}},
        "components": [
            {"bom-ref": "path+file:///cargo/a#1"},
            {"bom-ref": "path+file:///headrace/crates/python#0.1.0"},
        ],
    }
