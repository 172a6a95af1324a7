"""The pages of the documentation: their links lead somewhere, and the site has all of them."""

import re
from pathlib import Path

import pytest
from tools.docs.api import api_pages
from tools.docs.links import anchors_of, broken_links, replace_targets
from tools.docs.resources import foreign_resources

TOP = Path(__file__).parents[1]
PAGES = [
    *(TOP / f"{name}.md" for name in ("README", "DESIGN", "CONTRIBUTING", "CHANGELOG", "SECURITY")),
    *sorted((TOP / "docs").rglob("*.md")),
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(TOP)))
def test_links_lead_somewhere(page):
    assert broken_links(page) == []


def test_broken_links_are_found(tmp_path):
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


def test_anchors_are_those_of_code_hosts():
    assert anchors_of("## C++ & [Rust](x.md) - _v_1\n## C++ & Rust - _v_1\n") == {
        "c--rust---_v_1",
        "c--rust---_v_1-1",
    }


def test_targets_are_replaced_outside_code():
    text = "[a](b.md#c)\n```\n[a](b.md)\n```\n[d](https://b.md)\n"
    assert replace_targets(text, str.upper) == text.replace("b.md#c", "B.MD#C")


def test_the_site_has_every_page():
    text = (TOP / "mkdocs.yml").read_text("utf-8")
    listed = set(re.findall(r"\b([\w/]+\.md)$", text, re.MULTILINE))
    pages = {str(path.relative_to(TOP / "docs")) for path in (TOP / "docs").rglob("*.md")}
    assert pages - {"index.md"} <= listed


def test_the_reference_has_every_public_name():
    pages = api_pages()
    assert "`headrace.tfrecords`" in pages["index.md"]
    assert "::: headrace.pipeline.describe.sources.tfrecords" in pages["sources.md"]
    listed = set(re.findall(r"\bapi/([\w/]+\.md)$", (TOP / "mkdocs.yml").read_text(), re.MULTILINE))
    assert set(pages) == listed


def test_what_a_page_fetches_from_other_hosts_is_found():
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
