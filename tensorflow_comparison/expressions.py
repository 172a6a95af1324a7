"""Regular expressions, replacements and texts that hypothesis makes up."""

from typing import Any

from hypothesis import strategies as st

LETTERS = [
    "a",
    "b",
    "k",
    "A",
    "K",
    "1",
    "_",
    " ",
    "\n",
    "-",
    "\u00e9",
    "\u00c9",
    "\u212a",
    "\u03bb",
]
NO_TEXT = [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xe0\x80\x80", b"\xf4\xbf\xbf\xbf", b"\0"]

CLASSES = [
    *(
        r"\d",
        r"\D",
        r"\s",
        r"\S",
        r"\w",
        r"\W",
        r"\pL",
        r"\p{Lu}",
        r"\P{Ll}",
        r"\p{^Greek}",
        r"\pC",
    ),
    *("[[:alpha:]]", "[[:^space:]]", "[^[:punct:]]", r"[\d_]", r"[^\W1]", r"[\p{Greek}a]"),
    *(
        "[ab]",
        "[^a]",
        "[a-k]",
        "[^\u00e9]",
        "[]a]",
        "[a-]",
        "[^]-]",
        "[a&&b]",
        r"[\x{d800}-\x{e000}]",
    ),
]
PLACES = ["^", "$", r"\b", r"\B", r"\A", r"\z"]
CHARACTERS = [
    *(
        ".",
        r"\.",
        r"\-",
        r"\_",
        r"\n",
        r"\t",
        r"\x61",
        r"\x{212a}",
        r"\101",
        r"\0",
        r"\C",
        "{",
        "}",
        "]",
    ),
    *(r"\Qa.b\E", r"\Q+\E", "a{,2}", "a{01}", r"\x{d800}"),
]
REPETITIONS = ["*", "+", "?", "*?", "+?", "??", "{2}", "{0,2}", "{1,}?", "{0}", "{2,3}", "{0,}"]
GROUPS = ["(%s)", "(?:%s)", "(?P<name>%s)", "(?i:%s)", "(?s-i:%s)", "(?m:%s)", "(?U:%s)", "(?i)%s"]
ODD = [
    *(
        "(",
        ")",
        "[",
        "*",
        "a**",
        "(?=a)",
        r"\1",
        r"\8",
        r"\Z",
        "\\",
        "[b-a]",
        "[[:no:]]",
        r"\p{No}",
    ),
    *(
        "a{2,1}",
        "a{1001}",
        "(a{40}){40}",
        r"\pX",
        "(?<n>a)",
        "(?P<n n>a)",
        "(?",
        "(?i",
        "(?)",
        r"\pN{2}",
    ),
]


def _joined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.lists(inner, max_size=3).map("".join),
        st.lists(inner, min_size=2, max_size=3).map("|".join),
        st.builds(lambda form, part: form % part, st.sampled_from(GROUPS), inner),
        st.builds(lambda part, sign: f"(?:{part}){sign}", inner, st.sampled_from(REPETITIONS)),
        st.builds(lambda part, sign: f"({part}){sign}", inner, st.sampled_from(REPETITIONS)),
        st.builds(lambda part, sign: part + sign, inner, st.sampled_from(REPETITIONS)),
    )


def expressions() -> st.SearchStrategy[Any]:
    """A pattern, a replacement, and texts; few patterns are invalid."""
    part = st.one_of(*map(st.sampled_from, (LETTERS, LETTERS, CLASSES, PLACES, CHARACTERS)))
    fine = st.recursive(part, _joined, max_leaves=8)
    odd = st.builds(lambda before, wrong: before + wrong, fine, st.sampled_from(ODD))
    pattern = st.integers(0, 9).flatmap(lambda chance: odd if chance == 9 else fine)
    rewrite = st.lists(
        st.sampled_from([r"\0", r"\1", r"\2", r"\\", "<", ">", "\u00e9"]), max_size=4
    )
    letter = st.sampled_from([*(letter.encode() for letter in LETTERS), b"a", b"b", *NO_TEXT])
    text = st.lists(letter, max_size=10).map(b"".join)
    return st.tuples(pattern, rewrite.map("".join), st.lists(text, min_size=3, max_size=6))
