"""Release notes come from the changelog, and a tag must match the version."""

from pathlib import Path

import pytest
from tools.release_notes import release_notes

CHANGELOG = """\
# Changelog

## 0.2.0

- `windows` is new.

## 0.1.0

- The first release.
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "Cargo.toml").write_text('[workspace.package]\nversion = "0.2.0"\n')
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    return tmp_path


def test_notes_match_the_section_of_the_version(root: Path) -> None:
    assert release_notes("v0.2.0", root) == "- `windows` is new.\n"


def test_project_has_notes_for_its_version() -> None:
    assert "### Pipelines" in release_notes("")


def test_mismatched_tag_is_rejected(root: Path) -> None:
    with pytest.raises(ValueError, match=r"the tag is v0\.3\.0, but Cargo\.toml has version 0\.2"):
        release_notes("v0.3.0", root)


def test_version_without_notes_is_rejected(root: Path) -> None:
    (root / "CHANGELOG.md").write_text("# Changelog\n")
    with pytest.raises(ValueError, match=r"no section '## 0\.2\.0'"):
        release_notes("v0.2.0", root)


def test_tag_marked_unpublished_in_the_changelog_is_rejected(root: Path) -> None:
    changelog = CHANGELOG.replace("## 0.2.0", "## 0.2.0 (not yet published)")
    (root / "CHANGELOG.md").write_text(changelog)
    with pytest.raises(ValueError, match="not yet published"):
        release_notes("v0.2.0", root)
