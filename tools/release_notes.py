"""Prints a release's section of the changelog: `release_notes.py TAG`.

The tag must be `v` followed by the version in `Cargo.toml`. If it's empty (before the tag is
pushed), the section of that version is printed without this check.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def release_notes(tag: str, root: Path = ROOT) -> str:
    """Returns the text between the version's heading and the next one.

    Raises:
        ValueError: If the tag and the version differ, or the changelog has no such section.
    """
    version = tomllib.loads((root / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    if tag not in ("", f"v{version}"):
        raise ValueError(f"the tag is {tag}, but Cargo.toml has version {version}. Change one.")
    changelog = (root / "CHANGELOG.md").read_text()
    pattern = rf"^## {re.escape(version)}\b[^\n]*\n(.*?)(?=^## |\Z)"
    section = re.search(pattern, changelog, re.M | re.S)
    if section is None:
        raise ValueError(f"CHANGELOG.md has no section '## {version}'. Add one.")
    if tag and "not yet published" in section.group(0).splitlines()[0]:
        raise ValueError(f"CHANGELOG.md calls {version} not yet published. Remove that.")
    return section.group(1).strip() + "\n"


if __name__ == "__main__":
    sys.stdout.write(release_notes(sys.argv[1] if len(sys.argv) > 1 else ""))
