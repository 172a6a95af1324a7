"""Characters of strings (`tensorflow_comparison/cases/characters.py` has more cases)."""

import numpy as np
import pytest

import headrace.tf1 as tf

BROKEN = b"a\xffb\xe2\x82\x01"


@pytest.fixture
def run():
    with tf.Session() as session:
        yield session.run


class TestDecode:
    def test_decoding_a_scalar_returns_a_vector(self, run):
        points = tf.strings.unicode_decode("h\u00e9 \u4e16\U0001f600", "UTF-8")
        assert (points.dtype, points.shape.as_list()) == (tf.int32, [None])
        assert run(points).tolist() == [0x68, 0xE9, 0x20, 0x4E16, 0x1F600]

    def test_decoding_a_vector_returns_a_row_per_string(self, run):
        points = tf.strings.unicode_decode(["ab", "", "\u00e9"], "UTF-8")
        assert points.shape.as_list() == [3, None]
        assert run(points).to_list() == [[97, 98], [], [0xE9]]

    def test_offsets_count_bytes(self, run):
        points, offsets = tf.strings.unicode_decode_with_offsets(
            ["h\u00e9\u4e16\U0001f600!", ""], "UTF-8"
        )
        assert run(offsets).to_list() == [[0, 1, 3, 6, 10], []]
        assert offsets.dtype == tf.int64
        assert run(points.row_lengths()).tolist() == [5, 0]

    @pytest.mark.parametrize(
        ("rules", "points", "offsets"),
        [
            ({}, [97, 0xFFFD, 98, 0xFFFD, 1], [0, 1, 2, 3, 5]),
            ({"replacement_char": 63}, [97, 63, 98, 63, 1], [0, 1, 2, 3, 5]),
            ({"errors": "ignore"}, [97, 98, 1], [0, 2, 5]),
            (
                {"replace_control_characters": True, "replacement_char": 63},
                [97, 63, 98, 63, 63],
                [0, 1, 2, 3, 5],
            ),
            ({"replace_control_characters": True, "errors": "ignore"}, [97, 98], [0, 2]),
        ],
    )
    def test_broken_characters_are_replaced_or_ignored(self, run, rules, points, offsets):
        decoded = tf.strings.unicode_decode_with_offsets(BROKEN, "UTF-8", **rules)
        assert [part.tolist() for part in run(decoded)] == [points, offsets]

    def test_strict_errors_end_the_run(self, run):
        for text, rules in ((BROKEN, {}), ("\n", {"replace_control_characters": True})):
            points = tf.strings.unicode_decode(text, "UTF-8", errors="strict", **rules)
            with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid formatting"):
                run(points)
        assert run(tf.strings.unicode_decode("\n", "UTF-8", errors="strict")).tolist() == [10]

    @pytest.mark.parametrize(
        ("encoding", "text", "points", "offsets"),
        [
            ("UTF-16-BE", "a\U0001f600b".encode("utf-16-be"), [97, 0x1F600, 98], [0, 2, 6]),
            ("UTF-16-BE", b"\xd8\x00\x00b\x00", [0xFFFD, 98, 0xFFFD], [0, 2, 4]),
            ("UTF-32-BE", "a\u4e16".encode("utf-32-be"), [97, 0x4E16], [0, 4]),
            ("ISO-8859-1", b"caf\xe9", [99, 97, 102, 233], [0, 1, 2, 3]),
            ("US-ASCII", b"a\xe9", [97, 0xFFFD], [0, 1]),
            ("SHIFT_JIS", b"a\x82\xa0b", [97, 0x3042, 98], [0, 1, 3]),
            ("UTF-16", b"\xff\xfea\x00", [97], [2]),
            ("UTF-16", b"\x00a", [97], [0]),
            ("UTF-32", b"\x00\x00\xfe\xff\x00\x00\x00a", [97], [4]),
        ],
    )
    def test_other_encodings_are_decoded(self, run, encoding, text, points, offsets):
        decoded = tf.strings.unicode_decode_with_offsets(text, encoding)
        assert [part.tolist() for part in run(decoded)] == [points, offsets]

    def test_ranks_are_kept(self, run):
        strings = tf.placeholder(tf.string, [None, None])
        points = tf.strings.unicode_decode(strings, "UTF-8")
        assert (points.ragged_rank, points.shape.as_list()) == (2, [None, None, None])
        value = run(points, {strings: [["a", "bc", ""], ["", "d", "e"]]})
        assert value.to_list() == [[[97], [98, 99], []], [[], [100], [101]]]
        again = tf.strings.unicode_decode(tf.strings.unicode_split(["ab", "c"], "UTF-8"), "UTF-8")
        assert run(again).to_list() == [[[97], [98]], [[99]]]

    def test_no_strings_yield_no_rows(self, run):
        none = tf.constant([], tf.string)
        assert run(tf.strings.unicode_decode(none, "UTF-8")).to_list() == []
        assert run(tf.strings.unicode_split(none, "UTF-8").to_tensor()).shape == (0, 0)


class TestEncode:
    def test_code_points_are_encoded_to_strings(self, run):
        assert run(tf.strings.unicode_encode([104, 0x4E16], "UTF-8")) == "h\u4e16".encode()
        strings = tf.strings.unicode_encode([[97, 98], [99, 100]], "UTF-16-BE")
        assert strings.shape == (2,)
        assert run(strings).tolist() == [b"\0a\0b", b"\0c\0d"]
        deep = tf.strings.unicode_encode(np.full([2, 1, 3], 120, np.int32), "UTF-8")
        assert run(deep).tolist() == [[b"xxx"], [b"xxx"]]

    @pytest.mark.parametrize("texts", [["ab", "", "\u00e9"], [["a"], ["bc"]]])
    def test_encoding_undoes_decoding(self, run, texts):
        points = tf.strings.unicode_decode(texts, "UTF-8")
        again = run(tf.strings.unicode_encode(points, "UTF-8"))
        result = again.to_list() if hasattr(again, "to_list") else again.tolist()
        assert result == np.char.encode(np.array(texts), "utf-8").tolist()

    def test_invalid_code_points_are_replaced_or_rejected(self, run):
        numbers = [97, 0xD800, 0x110000, -1, 98]
        replaced = tf.strings.unicode_encode(numbers, "UTF-8", replacement_char=63)
        ignored = tf.strings.unicode_encode(numbers, "UTF-8", errors="ignore")
        assert run([replaced, ignored]) == [b"a???b", b"ab"]
        with pytest.raises(tf.errors.InvalidArgumentError, match="out of range for Unicode"):
            run(tf.strings.unicode_encode(numbers, "UTF-8", errors="strict"))


class TestSplit:
    def test_strings_are_split_into_characters(self, run):
        characters, offsets = tf.strings.unicode_split_with_offsets(
            ["a\u00e9", "", BROKEN], "UTF-8"
        )
        assert run(characters).to_list() == [
            [b"a", b"\xc3\xa9"],
            [],
            [b"a", b"\xef\xbf\xbd", b"b", b"\xef\xbf\xbd", b"\x01"],
        ]
        assert run(offsets).to_list() == [[0, 1], [], [0, 1, 2, 3, 5]]
        assert run(tf.strings.unicode_split("xy", "UTF-16-BE", "ignore")).tolist() == [
            "\u7879".encode("utf-16-be")
        ]


class TestTranscode:
    def test_transcoding_keeps_the_shape(self, run):
        texts = tf.strings.unicode_transcode([["a\u00e9"], [BROKEN]], "UTF-8", "UTF-16-BE")
        assert texts.shape == (2, 1)
        assert run(texts).tolist() == [[b"\0a\0\xe9"], [b"\0a\xff\xfd\0b\xff\xfd\0\x01"]]
        latin = tf.strings.unicode_transcode(b"\xe9", "ISO-8859-1", "UTF-8")
        assert run(latin) == b"\xc3\xa9"


class TestScript:
    def test_script_numbers_match_icu(self, run):
        points = [ord("a"), ord("1"), 0x3B1, 0x416, 0x4E16, 0x3042, 0x10FFFF, -1, 0x110000]
        scripts = tf.strings.unicode_script(points)
        assert run(scripts).tolist() == [25, 0, 14, 8, 17, 20, 103, -1, -1]
        assert scripts.shape == (9,)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda s: s.unicode_decode("a", "UTF-9"), "Could not create converter .*: UTF-9"),
        (lambda s: s.unicode_decode("a", "hex"), "Could not create converter .*: hex"),
        (lambda s: s.unicode_decode("a", "UTF-8", "loose"), "'errors' of 'loose'"),
        (
            lambda s: s.unicode_decode("a", "UTF-8", replacement_char=-1),
            "got -1, expected the code",
        ),
        (lambda s: s.unicode_encode([1], "UTF-16"), "'output_encoding' of 'UTF-16'"),
        (lambda s: s.unicode_split("a", "latin1"), "'output_encoding' of 'latin1'"),
        (lambda s: s.unicode_transcode("a", "UTF-8", "x"), "'output_encoding' of 'x'"),
        (lambda s: s.unicode_encode(1, "UTF-8"), "rank must be at least 1"),
        (
            lambda s: s.unicode_decode(tf.placeholder(tf.string), "UTF-8"),
            "must be statically known",
        ),
        (lambda s: s.unicode_encode(tf.placeholder(tf.int32), "UTF-8"), "must be statically known"),
    ],
)
def test_invalid_arguments_are_rejected(build, words):
    with pytest.raises(ValueError, match=words):
        build(tf.strings)


def test_wrong_types_are_rejected():
    with pytest.raises(TypeError):
        tf.strings.unicode_decode([1], "UTF-8")
    with pytest.raises(TypeError):
        tf.strings.unicode_encode([1.5], "UTF-8")
