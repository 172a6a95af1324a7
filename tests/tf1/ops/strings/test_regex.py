import re
import subprocess
import sys

import pytest

import headrace.tf1 as tf

IAE = tf.errors.InvalidArgumentError


@pytest.mark.parametrize(
    ("text", "pattern", "rewrite", "expected"),
    [
        ("hello world", "o", "0", "hell0 w0rld"),
        ("abc", "(a)(b)", r"\2\1", "bac"),
        ("abc", "(a)(b)", r"\0\0", "ababc"),
        ("abc", "b", r"\\", "a\\c"),
        ("abc", "b", "$0", "a$0c"),
        ("abc", "b", r"\5", "abc"),
        ("aaa", "", "-", "-a-a-a-"),
        ("abxd", "x*", "-", "-a-b-d-"),
        ("äö", ".", "x", "xx"),
        ("a\nb", ".", "x", "x\nx"),
        ("ABC", "(?i)b", "x", "AxC"),
        ("٣3", r"\d", "#", "٣#"),
        ("ab", "(a)|(b)", r"<\1>", "<a><>"),
        ("a1_", "[[:alpha:]_]", "x", "x1x"),
        ("a1", "[^[:digit:]]", "x", "x1"),
        ("a.b+", r"\Q.b+\E", "x", "ax"),
        ("ab", r"b\z", "x", "ax"),
        (r"\z", r"\\z", "x", "x"),
        ("aλA", r"\p{L}", "L", "LLL"),
        ("aλA", r"\p{Greek}|\p{Lu}", "x", "axx"),
        ("aab", "(?U)a+", "x", "xxb"),
        ("a\nb", "(?m)^", ">", ">a\n>b"),
        ("ab", "(?P<first>a)(?P<second>b)", r"\2\1", "ba"),
    ],
)
def test_matches_are_replaced(run, text, pattern, rewrite, expected):
    assert run(tf.regex_replace(text, pattern, rewrite)).decode() == expected


def test_replacement_can_be_limited_to_the_first_match(run, hidden):
    result = tf.strings.regex_replace(["hello", "world"], "[lo]+", "_", replace_global=False)
    assert result.shape == [2]
    assert run(result).tolist() == [b"he_", b"w_rld"]
    assert run(tf.regex_replace("abc", hidden("b"), hidden("x"))) == b"axc"


def test_non_text_bytes_pass_through(run, hidden):
    assert run(tf.regex_replace(b"\xff\xfea", "a", "b")) == b"\xff\xfeb"
    assert run(tf.regex_replace(b"\xffa.", ".", b"\xfe")) == b"\xff\xfe\xfe"
    assert run(tf.regex_replace(b"\xffa.", ".", hidden(b"\xfe"))) == b"\xff\xfe\xfe"
    assert run(tf.regex_replace(b"\xff\xc3\xa9", r"\C", "x")) == b"xxx"


@pytest.mark.timeout(20)
def test_patterns_that_would_backtrack_are_fast(run, hidden):
    text = "a" * 5_000 + "!"
    for pattern in ("(a+)+$", "(a|a)*b", "(a*)*(a*)*b", "(.*a){20}$"):
        assert run(tf.regex_replace(text, pattern, "x")) == text.encode()
        assert not run(tf.strings.regex_full_match(text, hidden(pattern)))


BESIDE = """
import threading
import headrace.tf1 as tf

text = tf.placeholder(tf.string, [])
result = tf.regex_replace(text, "a*b|a", "x")  # looks for a "b" again after each match
with tf.Session() as session:
    work = threading.Thread(target=session.run, args=(result, {text: b"a" * 10_000}))
    work.start()
    turns = 0
    while work.is_alive():
        turns += 1
    work.join()
print(turns)
"""


def test_python_threads_run_during_a_search():
    done = subprocess.run(
        [sys.executable, "-c", BESIDE], capture_output=True, text=True, timeout=50, check=True
    )
    assert int(done.stdout) > 1_000


def test_python_strings_become_attributes_and_tensors_become_inputs(hidden):
    fixed = tf.regex_replace(["a"], "a", b"b", replace_global=False)
    assert (fixed.op.type, fixed.op.name) == ("StaticRegexReplace", "StaticRegexReplace")
    assert fixed.op.get_attr("replace_global") is False
    assert tf.regex_replace(["a"], "a", hidden("b")).op.type == "RegexReplace"
    assert tf.strings.regex_full_match(["a"], "a").op.type == "StaticRegexFullMatch"
    assert tf.strings.regex_full_match(["a"], hidden("a")).op.type == "RegexFullMatch"


@pytest.mark.parametrize("pattern", ["(a{1000}){1000}", r"\pL{1000}", "a" * 1_000_000, "(" * 10**5])
def test_pattern_that_needs_too_much_memory_is_rejected(run, hidden, pattern):
    for value in (pattern, hidden(pattern)):
        with pytest.raises(
            IAE, match=r"Invalid pattern: .*, error: (invalid repet|pattern too|expr).*Use fewer"
        ):
            run(tf.regex_replace("a", value, "b"))


def test_full_match_compares_whole_strings(run):
    result = tf.strings.regex_full_match(["abc", "ab", "xabc", "ab\n"], "ab.*")
    assert (result.dtype, result.shape) == (tf.bool, [4])
    assert run(result).tolist() == [True, True, False, False]
    assert run(tf.strings.regex_full_match("a", "a|b"))


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda h: tf.regex_replace("a", "(", "b"), IAE, "Invalid pattern: (, error: "),
        (lambda h: tf.regex_replace("a", "[[:no:]]", "b"), IAE, "Invalid pattern: [[:no:]]"),
        (
            lambda h: tf.regex_replace("a", "(?=a)", "b"),
            IAE,
            "Invalid pattern: (?=a), error: invalid perl operator: (?=. Use RE2 syntax",
        ),
        (
            lambda h: tf.regex_replace("a", h(r"(a)\1"), "b"),
            IAE,
            r"Invalid pattern: (a)\1, error: invalid escape sequence: \1. Use RE2 syntax",
        ),
        (lambda h: tf.regex_replace("a", b"\xff", "b"), IAE, "error: invalid UTF-8. Use"),
        (lambda h: tf.regex_replace("a", h(b"\xff"), "b"), IAE, "error: invalid UTF-8. Use"),
        (
            lambda h: tf.regex_replace("a", "a", "b", replace_global=1),
            TypeError,
            "Expected bool for argument 'replace_global' not 1.",
        ),
        (
            lambda h: tf.regex_replace("a", "a", r"\x"),
            IAE,
            r"Invalid rewrite: \x, expected a digit",
        ),
        (lambda h: tf.regex_replace("a", "a", "\\"), IAE, "Invalid rewrite: \\, expected a digit"),
        (lambda h: tf.strings.regex_full_match("a", "("), IAE, "Invalid pattern: (, error: "),
        (
            lambda h: tf.regex_replace("a", h(["a"]), "b"),
            IAE,
            "Pattern must be scalar, but received [1]",
        ),
        (
            lambda h: tf.regex_replace("a", "a", h(["b"])),
            IAE,
            "Rewrite must be scalar, but received [1]",
        ),
        (lambda h: tf.regex_replace("a", ["a"], "b"), ValueError, "Shape must be rank 0 but is"),
    ],
)
def test_error_names_an_invalid_pattern(run, hidden, make, error, words):
    with pytest.raises(error, match=re.escape(words)):
        run(make(hidden))
