import re

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
    ],
)
def test_matches_are_replaced(run, text, pattern, rewrite, expected):
    assert run(tf.regex_replace(text, pattern, rewrite)).decode() == expected


def test_only_the_first_match_may_be_replaced(run, hidden):
    result = tf.strings.regex_replace(["hello", "world"], "[lo]+", "_", replace_global=False)
    assert result.shape == [2]
    assert run(result).tolist() == [b"he_", b"w_rld"]
    assert run(tf.regex_replace("abc", hidden("b"), hidden("x"))) == b"axc"


def test_bytes_that_are_no_text_pass(run):
    assert run(tf.regex_replace(b"\xff\xfea", "a", "b")) == b"\xff\xfeb"


def test_a_whole_string_matches_or_not(run):
    result = tf.strings.regex_full_match(["abc", "ab", "xabc", "ab\n"], "ab.*")
    assert (result.dtype, result.shape) == (tf.bool, [4])
    assert run(result).tolist() == [True, True, False, False]
    assert run(tf.strings.regex_full_match("a", "a|b"))


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda h: tf.regex_replace("a", "(", "b"), IAE, "Invalid pattern: (, error: "),
        (lambda h: tf.regex_replace("a", "[[:no:]]", "b"), IAE, "Invalid pattern: [[:no:]]"),
        (lambda h: tf.regex_replace("a", r"\p{L}", "b"), IAE, r"Invalid pattern: \p{L}"),
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
def test_patterns_that_are_not_valid_are_named(run, hidden, make, error, words):
    with pytest.raises(error, match=re.escape(words)):
        run(make(hidden))
