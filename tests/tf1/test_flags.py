"""Flags of several values, in ranges, and conditions on flags."""

import pytest

import headrace.tf1 as tf

flags = tf.flags


@pytest.fixture
def values():
    return flags.FlagValues()


@pytest.mark.parametrize(
    ("define", "words", "expected"),
    [
        (lambda v: flags.DEFINE_multi_string("a", None, "", v), [], None),
        (lambda v: flags.DEFINE_multi_string("a", "x", "", v), [], ["x"]),
        (lambda v: flags.DEFINE_multi_string("a", ["x"], "", v), ["--a=1", "--a", "2"], ["1", "2"]),
        (lambda v: flags.DEFINE_multi_integer("a", [3, "4"], "", flag_values=v), [], [3, 4]),
        (lambda v: flags.DEFINE_multi_integer("a", 3, "", flag_values=v), ["--a=5"], [5]),
        (lambda v: flags.DEFINE_multi_float("a", 3, "", flag_values=v), ["--a=1e3"], [1000.0]),
        (lambda v: flags.DEFINE_multi_enum("a", "x", ["x", "y"], "", v), ["--a=y"], ["y"]),
        (lambda v: flags.DEFINE_multi_enum("a", "x", ["X"], "", v, False), ["--a=x"], ["X"]),
        (lambda v: flags.DEFINE_spaceseplist("a", "x  y", "", flag_values=v), [], ["x", "y"]),
        (
            lambda v: flags.DEFINE_spaceseplist("a", None, "", True, v),
            ["--a=p,q r"],
            ["p", "q", "r"],
        ),
        (lambda v: flags.DEFINE_integer("a", 1, "", 0, 5, v, short_name="s"), ["-s", "4"], 4),
        (
            lambda v: flags.DEFINE_string(
                flag_name="a", default_value="x", docstring="What.", flag_values=v
            ),
            [],
            "x",
        ),
    ],
)
def test_values_can_be_lists_or_ranges(values, define, words, expected):
    define(values)
    values(["program", *words])
    assert values.a == expected


@pytest.mark.parametrize(
    ("define", "word", "message"),
    [
        (lambda v: flags.DEFINE_multi_integer("a", 3, "", 1, flag_values=v), "0", "positive"),
        (lambda v: flags.DEFINE_multi_enum("a", "x", ["x"], "", v), "z", "one of <x>"),
        (lambda v: flags.DEFINE_integer("a", 3, "", 1, 5, v), "9", r"9 is not .* range \[1, 5\]"),
        (lambda v: flags.DEFINE_integer("a", 3, "", 0, flag_values=v), "-1", "a non-negative int"),
        (lambda v: flags.DEFINE_integer("a", -3, "", None, -1, v), "0", "a negative integer"),
        (lambda v: flags.DEFINE_integer("a", -3, "", None, 0, v), "1", "a non-positive integer"),
        (
            lambda v: flags.DEFINE_integer("a", 3, "", 3, flag_values=v),
            "2",
            "not integer >= 3",
        ),
        (
            lambda v: flags.DEFINE_float("a", 3, "", 0.5, flag_values=v),
            "0.1",
            "not number >= 0.5",
        ),
        (lambda v: flags.DEFINE_float("a", 3, "", None, 7, v), "8", "8.0 is not number <= 7"),
    ],
)
def test_values_out_of_range_are_rejected(values, define, word, message):
    define(values)
    with pytest.raises(flags.IllegalFlagValueError, match=message):
        values(["program", f"--a={word}"])


@pytest.fixture
def two(values):
    flags.DEFINE_integer("a", None, "", flag_values=values)
    flags.DEFINE_string("b", None, "", values)
    return values


def refused(values, *words):
    with pytest.raises(flags.IllegalFlagValueError) as caught:
        values(["program", *words])
    return str(caught.value)


def test_error_names_all_missing_required_flags(two):
    flags.mark_flags_as_required(["a", "b"], two)
    missing = "Flag --b must have a value other than None."
    assert refused(two) == (
        f"flag --a=None: Flag --a must have a value other than None.\nflag --b=None: {missing}"
    )
    assert refused(two, "--a=1") == f"flag --b=None: {missing}"
    assert two(["program", "--b=x", "rest"]) == ["program", "rest"]
    with pytest.raises(KeyError, match="c"):
        flags.mark_flag_as_required("c", two)


def test_flags_can_exclude_each_other(two):
    flags.mark_flags_as_mutual_exclusive(["a", "b"], flag_values=two)
    two(["program"])
    two(["program", "--a=1"])
    words = "flags a=1, b=2: At most one of (a, b) must have a value other than None."
    assert refused(two, "--b=2") == words
    with pytest.raises(flags.ValidationError, match="Flag --a is not Boolean"):
        flags.mark_bool_flags_as_mutual_exclusive(["a", "b"], flag_values=two)


def test_bool_flags_can_exclude_each_other(values):
    for name in "ab":
        flags.DEFINE_bool(name, False, "", values)
    flags.mark_bool_flags_as_mutual_exclusive(["a", "b"], required=True, flag_values=values)
    assert refused(values) == "flags a=False, b=False: Exactly one of (a, b) must be True."
    values(["program", "--a"])


def test_validators_also_run_when_flags_are_set(two):
    flags.register_validator("a", lambda value: value is None or value > 1, "too small", two)

    @flags.multi_flags_validator(["a", "b"], "not both", two)
    def _(values_by_name):
        return None in values_by_name.values()

    @flags.validator("b", flag_values=two)
    def _(value):
        if value == "x":
            raise flags.ValidationError("no x")
        return True

    two(["program", "--a=3"])
    for name, value, words in (("a", 0, "--a=0: too small"), ("b", "y", "a=3, b=y: not both")):
        with pytest.raises(flags.IllegalFlagValueError, match=words):
            setattr(two, name, value)
    assert (two.a, two.b) == (3, None)
    two.a = None
    with pytest.raises(flags.IllegalFlagValueError, match="--b=x: no x"):
        two.b = "x"


def test_pointless_default_causes_a_warning(values):
    flags.DEFINE_integer("a", 3, "", flag_values=values)
    with pytest.warns(UserWarning, match="non-None default"):
        flags.mark_flag_as_required("a", values)
    with pytest.warns(UserWarning, match="non-None default"):
        flags.mark_flags_as_mutual_exclusive(["a"], flag_values=values)


def test_defaults_can_change_and_flags_can_be_deleted(two):
    two.set_default("b", "x")
    two(["program", "--a=1"])
    two.set_default("a", 7)
    assert (two.a, two["a"].default, two.b) == (1, 7, "x")
    assert two.get_flag_value("b", "y") == "x"
    assert list(two) == ["a", "b"]
    del two.a
    assert list(two) == ["b"]
    with pytest.raises(AttributeError):
        del two.a


def test_flags_can_be_read_without_parsing_a_command_line(two, monkeypatch):
    monkeypatch.setattr("sys.argv", ["program", "--a=1"])
    two.mark_as_parsed()
    assert two.a is None
