"""Writes the licences of everything that is linked into the extension: `licences.py FILE`.

Cargo knows the crates; their licences are the files that they come with. A crate that comes with
none is listed with the name of its licence. The text of the GPL is left out where one may choose
another licence.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PATTERNS = ("LICEN[CS]E*", "COPYING*", "NOTICE*", "UNLICENSE*", "README.ijg")


def linked(target: str) -> list[dict[str, Any]]:
    """Returns the packages that the extension is linked with, sorted by name."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    command += ["--filter-platform", target]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    metadata = json.loads(done.stdout)
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    packages = {package["id"]: package for package in metadata["packages"]}
    waiting = [key for key, package in packages.items() if package["name"] == "headrace-native"]
    found: set[str] = set()
    while waiting:
        key = waiting.pop()
        if key in found:
            continue
        found.add(key)
        for dependency in nodes[key]["deps"]:
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                waiting.append(dependency["pkg"])
    others = [packages[key] for key in found if packages[key]["source"] is not None]
    return sorted(others, key=lambda package: (package["name"], package["version"]))


def texts(package: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields the files with licences of a package and of the sources in it."""
    directory = Path(package["manifest_path"]).parent
    paths = {path for pattern in PATTERNS for path in directory.rglob(pattern)}
    for path in sorted(paths):
        if path.is_file() and path.suffix in ("", ".md", ".txt", ".ijg"):
            text = path.read_text("utf-8", "replace").strip()
            if "GPL" in (package["license"] or "GPL") or "GNU GENERAL PUBLIC LICENSE" not in text:
                yield str(path.relative_to(directory)), text


def main() -> None:
    """Writes the file."""
    target, path = sys.argv[1:]
    seen: dict[str, str] = {}
    lines = ["headrace's extension is linked with what follows.", ""]
    for package in linked(target):
        title = f"{package['name']} {package['version']}"
        lines += ["=" * 80, f"{title}: {package['license'] or 'see its file'}", ""]
        for name, text in texts(package):
            words = " ".join(text.split())
            if words in seen:
                lines += [f"{name}: the same as of {seen[words]}", ""]
            else:
                seen[words] = f"{title}, {name}"
                lines += [f"{name}:", "", text, ""]
    Path(path).write_text("\n".join(lines), "utf-8")


if __name__ == "__main__":
    main()
