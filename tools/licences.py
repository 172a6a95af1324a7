"""Writes the licences of all code linked into the extension: `licences.py TARGET FILE`.

Cargo lists the crates, and each crate contains its licence files. If a crate has no licence file,
only the licence's name is listed. If a crate offers a choice, we choose Apache-2.0, which is also
headrace's licence, and leave out the others. We keep licences of code that a crate copied from
elsewhere. We leave out the text of the GPL if there is a choice, and the manual of the Independent
JPEG Group, which only requires programs to state that they use its code.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
CHOSEN = "Apache-2.0"
OFFERED = re.compile(r"LICEN[CS]E(-(0BSD|APACHE|BOOST|BSD|ISC|MIT|ZLIB))?(\.md|\.txt)?")
"""Names of files in a crate's top directory that contain alternative licences."""
PATTERNS = ("LICEN[CS]E*", "COPYING*", "NOTICE*", "UNLICENSE*")
HEAD = """\
headrace's extension is linked with the following crates. If a crate offers a choice of licences, we
use it under Apache-2.0. Its text is in the file LICENSE next to this one.

This software is based in part on the work of the Independent JPEG Group.
The source of symphonia, under MPL-2.0, is at https://github.com/pdeljanov/Symphonia.
"""
TERMS = "TERMS AND CONDITIONS FOR USE, REPRODUCTION, AND DISTRIBUTION"
TERMS_END = "END OF TERMS AND CONDITIONS"
"""The lines around the terms of Apache-2.0."""


def runs_in_compiler(package: dict[str, Any]) -> bool:
    """Returns whether a package is a macro. Macros are not linked."""
    return any("proc-macro" in target["kind"] for target in package["targets"])


def linked(target: str) -> list[dict[str, Any]]:
    """Returns the packages linked into the extension, sorted by name."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    command += ["--filter-platform", target]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    metadata = json.loads(done.stdout)
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    packages = {package["id"]: package for package in metadata["packages"]}
    waiting = [key for key, package in packages.items() if package["name"] == "headrace-python"]
    results: set[str] = set()
    while waiting:
        key = waiting.pop()
        if key in results:
            continue
        if runs_in_compiler(packages[key]):
            continue
        results.add(key)
        for dependency in nodes[key]["deps"]:
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                waiting.append(dependency["pkg"])
    others = [packages[key] for key in results if packages[key]["source"] is not None]
    return sorted(others, key=lambda package: (package["name"], package["version"]))


def may_choose(package: dict[str, Any]) -> bool:
    """Returns whether Apache-2.0 is one of several licences that a package offers."""
    offered = re.split(r" OR |/", package["license"] or "")
    return len(offered) > 1 and CHOSEN in offered


def texts(package: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields the licence files of a package and of sources that it contains."""
    directory = Path(package["manifest_path"]).parent
    paths = {path for pattern in PATTERNS for path in directory.rglob(pattern)}
    if may_choose(package):
        paths -= {path for path in directory.iterdir() if OFFERED.fullmatch(path.name)}
    for path in sorted(paths):
        if path.is_file() and path.suffix in ("", ".md", ".txt"):
            text = path.read_text("utf-8", "replace").strip()
            if "GPL" in (package["license"] or "GPL") or "GNU GENERAL PUBLIC LICENSE" not in text:
                yield str(path.relative_to(directory)), text


def pattern_of_terms() -> re.Pattern[str]:
    """Returns a pattern that matches the terms of Apache-2.0 with any line breaks."""
    text = (ROOT / "LICENSE").read_text("utf-8")
    terms = text[text.index(TERMS) : text.index(TERMS_END) + len(TERMS_END)]
    return re.compile(r"\s+".join(map(re.escape, terms.split())))


def main() -> None:
    """Writes the file."""
    target, path = sys.argv[1:]
    terms = pattern_of_terms()
    seen: dict[str, str] = {}
    lines = [HEAD]
    for package in linked(target):
        title = f"{package['name']} {package['version']}"
        lines += ["=" * 80, f"{title}: {package['license'] or 'see its file'}", ""]
        for name, text in texts(package):
            words = " ".join(text.split())
            if words in seen:
                lines += [f"{name}: the same as of {seen[words]}", ""]
            else:
                seen[words] = f"{title}, {name}"
                lines += [f"{name}:", "", terms.sub("(The terms that LICENSE has.)", text), ""]
    Path(path).write_text("\n".join(lines), "utf-8")


if __name__ == "__main__":
    main()
