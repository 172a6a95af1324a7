"""A program's environment: its command line, messages and text."""

import logging
import subprocess
import sys

import numpy as np
import pytest

import headrace.tf1 as tf
from headrace.tf1.flag_values import ProcessFlags


@pytest.fixture
def flags():
    values = tf.flags.FlagValues()
    tf.flags.DEFINE_integer("steps", 100, "How many steps.", flag_values=values)
    tf.flags.DEFINE_float("rate", 0.5, "The rate.", flag_values=values)
    tf.flags.DEFINE_string("data_dir", None, "Where the data is.", values)
    tf.flags.DEFINE_boolean("fake", False, "Whether to fake it.", values)
    tf.flags.DEFINE_enum("mode", "train", ["train", "eval"], "What to do.", values)
    tf.flags.DEFINE_list("hosts", "a,b", "Whom to ask.", values)
    return values


def test_flags_are_parsed_on_first_use(flags, monkeypatch):
    flags = ProcessFlags(flags)
    monkeypatch.setattr("sys.argv", ["program", "--steps=3", "--rate", "1", "--fake", "rest"])
    assert (flags.steps, flags.rate, flags.data_dir, flags.fake) == (3, 1.0, None, True)
    assert (flags.mode, flags.hosts) == ("train", ["a", "b"])
    flags.steps = 7
    assert (flags.steps, flags["steps"].default) == (7, 100)
    assert "steps" in flags
    assert dir(flags) == sorted(["steps", "rate", "data_dir", "fake", "mode", "hosts"])
    assert len(flags) == 6


def test_command_line_is_parsed(flags):
    line = ["program", "-steps", "0x10", "x", "--nofake", "--hosts=", "--mode=eval", "--", "--y"]
    assert flags(line) == ["program", "x", "--y"]
    assert (flags.steps, flags.fake, flags.hosts, flags.mode) == (16, False, [], "eval")
    assert flags(["program", "--fake=1", "--other=3", "x"], known_only=True) == [
        *("program", "--other=3", "x"),
    ]
    assert flags.fake


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        (["--steps=a"], tf.flags.IllegalFlagValueError, "--steps=a: invalid literal"),
        (["--fake=maybe"], tf.flags.IllegalFlagValueError, "Non-boolean argument"),
        (["--mode=test"], tf.flags.IllegalFlagValueError, "one of <train|eval>"),
        (["--other"], tf.flags.UnrecognizedFlagError, "Unknown command line flag 'other'"),
        (["--nosteps"], tf.flags.UnrecognizedFlagError, "Unknown command line flag 'nosteps'"),
        (["--steps"], tf.flags.Error, "Missing value for flag --steps"),
    ],
)
def test_invalid_command_line_is_an_error(flags, words, error, message):
    with pytest.raises(error) as caught:
        flags(["program", *words])
    assert message in str(caught.value)


def test_incorrect_uses_of_flags_are_rejected(flags):
    with pytest.raises(tf.flags.DuplicateFlagError, match=r"'steps' is defined twice.*How many"):
        tf.flags.DEFINE_integer("steps", 1, "Again.", flag_values=flags)
    with pytest.raises(tf.flags.IllegalFlagValueError, match="Expect argument to be a str"):
        tf.flags.DEFINE_integer("other", 1.5, "Half.", flag_values=flags)
    with pytest.raises(tf.flags.UnrecognizedFlagError, match="'other'"):
        flags.other = 3
    with pytest.raises(AttributeError, match="other"):
        _ = flags.other
    tf.flags.mark_flag_as_required("data_dir", flags)
    with pytest.raises(
        tf.flags.IllegalFlagValueError, match="data_dir=None: Flag --data_dir must have a value"
    ):
        flags(["program"])


def test_help_is_printed(flags, capsys):
    with pytest.raises(SystemExit):
        ProcessFlags(flags)(["program", "--help"])
    assert "--data_dir: Where the data is." in capsys.readouterr().out
    assert ProcessFlags(flags)(["program", "--", "--help"]) == ["program", "--help"]


def test_error_for_a_duplicate_flag_names_the_defining_program():
    program = (
        "import headrace.tf1 as tf\n"
        "tf.flags.DEFINE_integer('steps', 1, '')\n"
        "tf.flags.DEFINE_integer('steps', 2, '')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert "The flag 'steps' is defined twice. First from -c, second from -c." in done.stderr


def test_app_run_calls_main_with_the_remaining_arguments_and_exits():
    calls = []

    def main(argv):
        calls.append(argv)
        return 3

    with pytest.raises(SystemExit) as ended:
        tf.app.run(main, argv=["program", "--unknown=1", "x"])
    assert ended.value.code == 3
    assert calls == [["program", "--unknown=1", "x"]]
    assert tf.app.flags.FLAGS is tf.flags.FLAGS


def test_messages_are_logged_from_the_chosen_level(caplog):
    before = logging.getLogger("headrace").level
    try:
        tf.logging.set_verbosity(tf.logging.INFO)
        tf.logging.debug("not this")
        tf.logging.info("step %d", 3)
        tf.logging.warn("careful")
        tf.logging.log_if(tf.logging.ERROR, "no", False)
        for step in range(5):
            tf.logging.log_first_n(tf.logging.INFO, "first %d", 2, step)
            tf.logging.log_every_n(tf.logging.INFO, "every %d", 3, step)
        assert tf.logging.get_verbosity() == tf.logging.INFO
        tf.logging.set_verbosity("ERROR")
        tf.logging.warning("not this")
        tf.logging.flush()
    finally:
        logging.getLogger("headrace").setLevel(before)
    texts = ["step 3", "careful", "first 0", "every 0", "first 1", "every 3"]
    assert [record.getMessage() for record in caplog.records] == texts
    assert caplog.records[1].filename == "test_app.py"


def test_text_and_bytes_are_converted():
    compat = tf.compat
    assert compat.as_bytes("\u00e9") == compat.as_bytes(b"\xc3\xa9") == b"\xc3\xa9"
    assert compat.as_text(b"a") == compat.as_str("a") == compat.as_str_any(b"a") == "a"
    assert compat.as_str_any(3) == "3"
    assert isinstance(np.int32(1), compat.integral_types)
    for function in (compat.as_bytes, compat.as_text):
        with pytest.raises(TypeError, match="Expected binary or unicode string, got 3"):
            function(3)


def test_version_switches_of_tensorflow_1_programs_are_accepted():
    tf.disable_v2_behavior()
    tf.disable_eager_execution()
    assert not tf.executing_eagerly()
    assert tf.VERSION.startswith("1.")
    assert tf.__version__ == tf.VERSION


def test_all_flags_are_listed_under_their_private_name(monkeypatch):
    """Programs print them so before they begin."""
    defined = tf.flags.FlagValues()
    values = ProcessFlags(defined)
    tf.flags.DEFINE_integer("size", 3, "", flag_values=defined)
    tf.flags.DEFINE_string("name", "x", "", defined)
    monkeypatch.setattr("sys.argv", ["program", "--size=4", "--other"])
    values._parse_flags()
    assert values.is_parsed()
    listed = getattr(values, "__flags")
    assert {key: flag.value for key, flag in sorted(listed.items())} == {"name": "x", "size": 4}
    assert [f"{key}={flag}" for key, flag in sorted(listed.items())] == ["name=x", "size=4"]
    assert values.flag_values_dict() == {"name": "x", "size": 4}


def test_flags_are_in_the_dictionary_used_by_old_programs():
    defined = tf.flags.FlagValues()
    values = ProcessFlags(defined)
    tf.flags.DEFINE_integer("threads", 3, "How many.", flag_values=defined)
    assert "threads" in values.__dict__["__flags"]
    assert "steps" not in values.__dict__["__flags"]
    assert not values.is_parsed()
