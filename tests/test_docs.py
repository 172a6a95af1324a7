"""The documentation's pages: their links and paths exist, and the site contains all pages."""

import re
import tomllib
from pathlib import Path

import pytest
from tools.docs.api import api_pages
from tools.docs.links import anchors_of, broken_links, replace_targets
from tools.docs.op_types import types_of
from tools.docs.resources import foreign_resources

import headrace as hr
from headrace.pipeline import source_functions

TOP = Path(__file__).parents[1]
PAGES = [
    *(TOP / f"{name}.md" for name in ("README", "DESIGN", "CONTRIBUTING", "CHANGELOG", "SECURITY")),
    TOP / "benchmarks" / "RESULTS.md",
    TOP / "llms.txt",
    *sorted((TOP / "docs").rglob("*.md")),
    *(TOP / folder / "README.md" for folder in ("examples", "tests")),
    *sorted(path for top in ("python", "crates") for path in (TOP / top).rglob("README.md")),
]


SETTINGS, NAVIGATION = (TOP / "mkdocs.yml").read_text("utf-8").split("\nnav:\n")

# Folders whose files pages mention. Files that tools write there are not in the repository.
FOLDERS = (
    *("python", "crates", "tests", "tools", "docs", "benchmarks", "stress", "examples"),
    *("tensorflow_comparison", "fuzz", ".github", ".ci"),
)
WRITTEN = ("benchmarks/results", "stress/results")
# Pages for developers name files by the last parts of their paths: `graph/op_def.py`.
OF_CODE = ("DESIGN.md", "CONTRIBUTING.md")

# Programs with the names of TensorFlow 1 take more lines.
WITH_LONG_PROGRAMS = ("tf1/checkpoints", "tf1/errors", "tf1/index")


def is_of_code(page: Path) -> bool:
    """Returns whether a page is for developers of headrace."""
    is_room = page.name == "README.md" and page.parent != TOP
    return page.name in OF_CODE or is_room or page.parent.name == "decisions"


def paths_of_repository() -> list[str]:
    """Returns all files and folders, each with a slash in front."""
    results = [path for folder in FOLDERS for path in (TOP / folder).rglob("*")]
    top = [path for path in TOP.iterdir() if path.is_file() or path.name in FOLDERS]
    return [f"/{path.relative_to(TOP)}" for path in [*top, *results]]


def named_paths(page: Path) -> list[str]:
    """Returns the words in backticks on a page that look like paths in this repository."""
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    words = re.findall(r"`([\w.<>*-]+(?:/[\w.<>*-]+)*/?)`", text)
    return [
        word
        for word in words
        if ("/" in word and word.split("/")[0] in (*FOLDERS, "headrace"))
        or (is_of_code(page) and re.search(r"(\.(rs|py|sh|toml|yml)|/)$", word))
    ]


def missing_paths(names: list[str], paths: str) -> list[str]:
    """Returns the names that are not the end of any path. `<stem>` and `*` match anything."""
    return [
        name
        for name in names
        if not name.startswith(WRITTEN)
        and not re.search(
            "/" + re.sub(r"<\w+>|\\\*", "[^/\n]*", re.escape(name.rstrip("/"))) + "$", paths, re.M
        )
    ]


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if is_of_code(page) or page.is_relative_to(TOP / "docs")],
    ids=lambda page: str(page.relative_to(TOP)),
)
def test_paths_named_on_a_page_exist(page):
    paths = "\n".join(paths_of_repository())
    assert missing_paths(named_paths(page), paths) == []


def test_tests_named_by_tools_exist():
    tools = [*(TOP / ".github").rglob("*.yml"), *(TOP / "tools").glob("*.*"), TOP / ".ci/run"]
    named = {
        name
        for tool in [*tools, TOP / "Makefile"]
        for name in re.findall(r"\btests/[\w/]+(?:\.py)?", tool.read_text("utf-8"))
    }
    assert len(named) > 10
    assert {name for name in named if not (TOP / name).exists()} == set()


def test_missing_paths_are_detected(tmp_path):
    page = tmp_path / "DESIGN.md"
    page.write_text(
        "`graph/op_def.py` `tests/nothing.py` `tools/` `a/b` `tests/ops/<family>/test_<stem>.py`\n"
        "```\n`tests/code.py`\n```\n`crates/*/src/nothing.rs` `nodes/take.rs` `op_undefined.py`\n"
    )
    assert missing_paths(named_paths(page), "\n".join(paths_of_repository())) == [
        "tests/nothing.py",
        "crates/*/src/nothing.rs",
        "op_undefined.py",
    ]


@pytest.mark.parametrize(
    "page",
    [
        page
        for page in PAGES
        if page.is_relative_to(TOP / "docs")
        and f"{page.parent.name}/{page.stem}" not in WITH_LONG_PROGRAMS
    ],
    ids=lambda page: str(page.relative_to(TOP / "docs")),
)
def test_first_program_of_a_page_is_short(page):
    match = re.search(r"^```\w+\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert match is None or len(match[1].splitlines()) <= 20


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(TOP)))
def test_links_are_not_broken(page):
    assert broken_links(page) == []


def test_broken_links_are_detected(tmp_path):
    (tmp_path / "other.md").write_text("# A `word`, and more\n\n## Same\n\n## Same\n")
    page = tmp_path / "page.md"
    page.write_text(
        "# Title\n[a](other.md) [b](missing.md) [c](other.md#a-word-and-more)\n"
        "[d](other.md#nothing)\n"
        "[e](#title) [f](#nothing) ![g](missing.svg) [h](https://example.org/missing)\n"
        "[i](other.md#same-1) [j](other.md#same-2) `x[k](missing)`\n"
        "```python\nf[0](missing)\n# Heading\n```\n[l](#heading)\n"
    )
    assert broken_links(page) == [
        "missing.md",
        "other.md#nothing",
        "#nothing",
        "missing.svg",
        "other.md#same-2",
        "#heading",
    ]


def test_skill_has_front_matter():
    text = (TOP / "docs/skills/headrace/SKILL.md").read_text("utf-8")
    assert re.match(r"---\nname: headrace\ndescription: .*?\n---\n", text, re.DOTALL)


def test_anchors_match_code_hosts():
    assert anchors_of("## C++ & [Rust](x.md) - _v_1\n## C++ & Rust - _v_1\n") == {
        "c--rust---_v_1",
        "c--rust---_v_1-1",
    }


def test_targets_outside_code_are_replaced():
    text = "[a](b.md#c)\n```\n[a](b.md)\n```\n[d](https://b.md)\n"
    assert replace_targets(text, str.upper) == text.replace("b.md#c", "B.MD#C")


def test_site_has_every_page():
    listed = set(re.findall(r"\b([\w/]+\.md)$", NAVIGATION, re.MULTILINE))
    pages = {str(path.relative_to(TOP / "docs")) for path in (TOP / "docs").rglob("*.md")}
    decisions = {name for name in pages if name.startswith("decisions/0")}
    assert pages - decisions <= listed


def test_old_addresses_redirect_to_pages():
    """The build writes a page for each, and fails if its target is missing."""
    moved = dict(re.findall(r"^ {8}([\w/]+\.md): ([\w/]+\.md)$", SETTINGS, re.MULTILINE))
    assert len(moved) > 20
    pages = {str(path.relative_to(TOP / "docs")) for path in (TOP / "docs").rglob("*.md")}
    assert not moved.keys() & pages
    assert set(moved.values()) <= pages


def test_decisions_page_lists_each_decision_once():
    folder = TOP / "docs" / "decisions"
    names = [path.name for path in sorted(folder.glob("0*.md"))]
    assert re.findall(r"\((0[\w-]+\.md)\)", (folder / "index.md").read_text("utf-8")) == names
    numbers = [int(name.split("-")[0]) for name in names]
    assert numbers == list(range(1, len(names) + 1))


def test_reference_has_every_public_name():
    pages = api_pages()
    assert "`hr.tfrecords`" in pages["index.md"]
    assert "::: headrace.pipeline.sources.tfrecords.tfrecords" in pages["sources.md"]
    listed = set(re.findall(r"\bapi/([\w/]+\.md)$", NAVIGATION, re.MULTILINE))
    assert set(pages) == listed


def test_resources_fetched_from_other_hosts_are_detected():
    page = (
        "<script src='https://a.org/x.js'></script><link rel='stylesheet' href='//b.org/x.css'>"
        "<style>@import 'http://c.org/x.css'; p { background: url(https://d.org/x.png) }</style>"
        "<a href='https://e.org'>read</a><link rel='canonical' href='https://f.org'>"
        "<img src='x.png'>"
    )
    assert sorted(foreign_resources(page)) == [
        "//b.org/x.css",
        "http://c.org/x.css",
        "https://a.org/x.js",
        "https://d.org/x.png",
    ]


def test_reference_lists_the_types_of_elementwise_operations():
    result = types_of(hr.ops.abs)
    assert result.startswith(
        "Takes int8, int16, int32, int64, float16, float32, float64, complex64"
    )
    assert "Returns the same type, but float32 for complex64 and float64 for complex128." in result
    assert types_of(hr.ops.less).endswith("Shapes are broadcast as in NumPy.")
    assert types_of(hr.ops.one_hot) == "", "its parameters are no tensors of one type"


def test_every_source_has_a_row_in_the_table_of_sources():
    page = (TOP / "docs/guides/read/index.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)\(", page, re.MULTILINE)
    assert sorted(rows) == sorted(source_functions.__all__)


def test_every_fuzz_target_has_a_program():
    targets = (TOP / "crates/fuzz_targets/src/lib.rs").read_text("utf-8")
    names = re.findall(r'Target \{ name: "(\w+)"', targets)
    programs = tomllib.loads((TOP / "fuzz/Cargo.toml").read_text("utf-8"))["bin"]
    assert sorted(program["name"] for program in programs) == sorted(names)
    assert len(names) > 20
