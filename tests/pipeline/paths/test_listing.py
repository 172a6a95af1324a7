"""Directories and patterns: all files are found, or an error names the directory."""

import glob
import os
import shutil
from pathlib import Path

import pytest
from tests.cli.files import call
from tests.privileges import unprivileged

import headrace as hr
from headrace.core import errors
from headrace.pipeline.paths.listing import files_below, files_in, matching

# Includes links to a file, to a sibling and a parent directory, to themselves, and to nothing.
LINKS = {
    "link": "a/1.txt",
    "a/beside": "../b",
    "b/up": "..",
    "b/self": "self",
    "nowhere.txt": "gone",
}
NAMES = (
    *("a/1.txt", "a/2.txt", "a/.hidden.txt", "b/1.txt", "b/c/d/3.txt", "b/c/[x].txt"),
    *(".hidden/1.txt", "top.txt", "A.txt"),
)
PATTERNS = (
    *(
        "*",
        "*.txt",
        "[a-b]",
        "*/1.txt",
        "a/*",
        "./*.txt",
        "?/?.txt",
        "a//*.txt",
        "*/",
        "no/*",
        "*/.*",
    ),
    *(
        ".*/*",
        "b/c/[[]x].txt",
        "b/c/[!x].txt",
        "b/c/*/*.txt",
        "*/c/*/",
        "top.txt/*",
        "b/**",
        "a/**/*",
    ),
    *("b/c/**/3.txt", "b/c/**/**/*.txt", "**b", "a/[", "[]a]*"),
)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Some files and links."""
    for name in NAMES:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{name}\n")
    for name, target in LINKS.items():
        (tmp_path / name).symlink_to(target)
    tmp_path.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def forbidden(here):
    """A directory without permission to list it."""
    shutil.rmtree("a")
    path = here / "b" / "forbidden"
    path.mkdir(mode=0)
    with unprivileged():
        yield "b/forbidden"


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("is_absolute", [False, True])
def test_pattern_matches_the_same_files_as_glob(here, pattern, is_absolute):
    if "**" in pattern:
        # Python follows such links in circles.
        Path("b/up").unlink()
    text = f"{here}/{pattern}" if is_absolute else pattern
    expected = {path for path in glob.glob(text, recursive=True) if not os.path.isdir(path)}
    assert matching(text) == sorted(expected)


def test_linked_file_is_listed_once_under_its_real_name(here):
    results = ["a/1.txt", "b/1.txt"]
    assert matching("**/1.txt") == results
    assert [path for path in files_below("") if path.endswith("1.txt")] == results
    assert "link" not in files_below("")
    Path("c").symlink_to("b")
    assert matching("*/1.txt") == results
    assert matching("c/1.txt") == matching("c/1.*") == ["c/1.txt"]


def test_file_reachable_only_by_links_is_listed_under_the_first_link(here):
    Path("x/y").mkdir(parents=True)
    for name, target in {
        "x/q": "../a",
        "x/p": "../a",
        "x/y/z": "../../b/c",
        "x/up": "../x",
    }.items():
        Path(name).symlink_to(target)
    assert files_below("x") == [
        "x/p/1.txt",
        "x/p/2.txt",
        "x/p/beside/1.txt",
        "x/p/beside/self",
        *(f"x/p/beside/c/{name}" for name in ("[x].txt", "d/3.txt")),
    ]
    assert matching("x/**/3.txt") == ["x/p/beside/c/d/3.txt"]


def test_links_above_the_directory_are_not_followed(here):
    # The directory that is listed is inside the target of the link.
    assert files_below("b") == ["b/1.txt", "b/self", "b/c/[x].txt", "b/c/d/3.txt"]
    Path("b/c/d/top").symlink_to(here.parent)
    assert files_below("b/c") == ["b/c/[x].txt", "b/c/d/3.txt"]


def test_marker_files_of_tools_are_skipped(here):
    directory = here / "spark"
    directory.mkdir()
    (directory / "_temporary").mkdir()
    data = ["_mine.txt", "part-0.txt"]
    left = [
        "_SUCCESS",
        "_metadata",
        "_committed_12",
        "part-1.txt._COPYING_",
        "_temporary/x",
        ".crc",
    ]
    for name in (*data, *left):
        (directory / name).write_text("x\n")
    assert files_in("spark") == files_below("spark") == [f"spark/{name}" for name in data]
    assert matching("spark/*") == [f"spark/{name}" for name in data]
    assert matching("spark/_S*") == ["spark/_SUCCESS"]
    assert len(list(hr.text_lines("spark"))) == 2


def test_files_come_before_files_in_subdirectories():
    shutil.rmtree("a")
    assert list(files_below(".")) == [
        *("./A.txt", "./link", "./nowhere.txt", "./top.txt"),
        *("./b/1.txt", "./b/self", "./b/c/[x].txt", "./b/c/d/3.txt"),
    ]


@pytest.mark.parametrize("pattern", ["b/*/*.txt", "b/**/*.txt", "[b]/forbidden/*"])
def test_unlistable_directory_is_an_error(forbidden, pattern):
    text = f"{forbidden}; Permission denied. Its files would be missing from the data. Make"
    with pytest.raises(errors.PermissionDeniedError, match=text):
        list(hr.text_lines(pattern))


def test_file_in_a_forbidden_directory_is_not_reported_as_missing(forbidden):
    with pytest.raises(errors.PermissionDeniedError, match=f"{forbidden}/x; Permission denied"):
        list(hr.text_lines(f"{forbidden}/x"))


def test_image_folder_names_an_unlistable_directory(forbidden):
    with pytest.raises(errors.PermissionDeniedError, match=forbidden):
        list(hr.image_folder("."))


def test_verify_names_an_unlistable_directory(here):
    # The modules of the command are loaded before permissions are dropped.
    assert call("verify", "top.txt").exit_code == 0
    here.joinpath("b", "forbidden").mkdir(mode=0)
    with unprivileged():
        done = call("verify", "b")
    assert done.exit_code == 1
    assert "b/forbidden; Permission denied" in done.stderr


def test_dangling_link_in_a_directory_is_not_skipped():
    with pytest.raises(errors.NotFoundError, match=r"nowhere\.txt; No such file"):
        list(hr.text_lines("."))
