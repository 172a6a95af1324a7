"""Plain English: first lines of docstrings, words to avoid, and the width of prose on pages."""

import ast
import functools
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

TOP = Path(__file__).parents[1]
PYTHON = ("python", "tests", "tools", "benchmarks", "torture", "peers", "fuzz/python", "examples")
COLUMNS = 100

# A first line says what a thing is or does; with one of these words it does not.
RIDDLE = re.compile(r"(What|Which|Whether|Where|How|Of|Who|Whom|Whose|That|Those)\b")
# Words to avoid, and words to write instead.
AVOID = {
    r"\bmended\b": "fixed",
    r"\b(stand|stands|stood|standing) for\b": "means, replaces, represents",
    r"\b(leave|leaves|leaving|left) out\b": "skips, omits",
    r"\b(go|goes|went|gone) on\b": "continues, resumes",
    r"\bput off\b": "deferred, lazy",
    r"\banew\b": "again, from the beginning",
    r"(?<!there )\b(is|was) no (?=[a-z])(?!longer|more|less|other|room|way|need|place|one|end|such"
    r"|matter|use|memory|later|earlier|sooner|better|worse|quicker|larger|smaller|faster|slower"
    r"|exception|order)": "is not a",
    r"(?<!there )\b(are|were) no (?=[a-z])(?!longer|more|less|other|place|such|fewer|larger"
    r"|smaller)": "are not",
}
ANY_TO_AVOID = re.compile("|".join(AVOID), re.IGNORECASE)
# Code, and words that are quoted.
QUOTED = re.compile(r"`+[^`]*`+|\"[^\"]*\"")


def python_files() -> list[Path]:
    return [path for folder in PYTHON for path in sorted((TOP / folder).rglob("*.py"))]


@functools.cache
def docstrings(path: Path) -> list[tuple[int, str]]:
    """Returns the line and the text of each docstring."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return [
        (node.body[0].lineno, text)
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, kinds) and (text := ast.get_docstring(node))
    ]


def comments(source: str) -> Iterator[tuple[int, str]]:
    """Yields the line and the text of each comment, without those for tools."""
    # Dividing a file into tokens takes long, and few files need it.
    if not any("#" in line and ANY_TO_AVOID.search(line) for line in source.splitlines()):
        return
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and not re.match(r"#\s*(noqa|type:)", token.string):
            yield token.start[0], token.string


def pages() -> list[Path]:
    """Returns the pages that people write."""
    folders = (TOP, TOP / "docs", TOP / "fuzz", TOP / "benchmarks", TOP / "crates")
    found = [path for folder in folders for path in folder.glob("*.md")]
    found += (TOP / "docs" / "decisions").glob("*.md")
    found += [TOP / folder / "README.md" for folder in ("examples", "tests")]
    found += [page for top in ("python", "crates") for page in (TOP / top).rglob("README.md")]
    return [path for path in found if path.name != "CHANGELOG.md"]


def prose(page: Path) -> Iterator[tuple[int, str]]:
    """Yields number and text of lines, without headings, tables, code, quotes and pictures."""
    is_code = False
    for number, line in enumerate(page.read_text("utf-8").splitlines(), 1):
        if re.match(r"\s*(```|~~~)", line):
            is_code = not is_code
        elif not is_code and not re.match(
            r"\s*(#|\||!\[|\[!\[|<|>|\[[^\]]+\]:|`[^`]*`[.,:;]?$)| {8}", line
        ):
            yield number, line


def faults(lines: Iterable[tuple[int, str]], name: str) -> list[str]:
    """Returns the words to avoid in texts, with their lines."""
    return [
        f"{name}:{number}: '{found[0]}', write: {better}"
        for number, text in lines
        if ANY_TO_AVOID.search(unquoted := QUOTED.sub("", text).replace("\n", " "))
        for words, better in AVOID.items()
        for found in re.finditer(words, unquoted, re.IGNORECASE)
    ]


@pytest.mark.timeout(120)
def test_first_lines_of_docstrings_begin_with_no_question_word():
    found = [
        f"{path.relative_to(TOP)}:{line}: {text.splitlines()[0]}"
        for path in python_files()
        for line, text in docstrings(path)
        if RIDDLE.match(text)
    ]
    assert found == []


def test_first_lines_of_rust_comments_begin_with_no_question_word():
    found = []
    for path in sorted((TOP / "crates").rglob("*.rs")):
        before = ""
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            is_first = re.match(r"\s*//[/!] ", line) and not re.match(r"\s*//[/!]", before)
            if is_first and RIDDLE.match(line.strip()[4:]):
                found.append(f"{path.relative_to(TOP)}:{number}: {line.strip()}")
            before = line
    assert found == []


@pytest.mark.timeout(120)
def test_docstrings_and_comments_have_no_word_to_avoid():
    found = []
    for path in python_files():
        if path != Path(__file__):
            name = str(path.relative_to(TOP))
            found += faults(docstrings(path), name)
            found += faults(comments(path.read_text("utf-8")), name)
    assert found == []


def test_names_of_tests_are_plain():
    found = [
        f"{path.relative_to(TOP)}: {name}"
        for path in sorted((TOP / "tests").rglob("*.py"))
        for name in re.findall(r"def (test_\w*)", path.read_text("utf-8"))
        if {"what", "anew"} & set(name.split("_"))
    ]
    assert found == []


def test_pages_have_no_word_to_avoid():
    assert [fault for page in pages() for fault in faults(prose(page), page.name)] == []


def test_prose_of_pages_is_at_most_100_columns_wide():
    long = [
        f"{page.relative_to(TOP)}:{number}"
        for page in pages()
        for number, line in prose(page)
        if len(line) > COLUMNS
    ]
    assert long == []


def test_the_words_are_found():
    text = "There is no end. It is no number, which\nstands for `mended`, and goes on."
    assert [fault.split("'")[1] for fault in faults(iter([(1, text)]), "")] == [
        "stands for",
        "goes on",
        "is no ",
    ]
