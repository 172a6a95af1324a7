"""Vocabularies: tables from the lines of files, or from vectors."""

import pytest

import headrace.tf1 as tf

lookup = tf.contrib.lookup


@pytest.fixture
def session():
    with tf.Session() as session:
        yield session


@pytest.fixture
def vocabulary(tmp_path):
    path = tmp_path / "words.txt"
    path.write_bytes("x\ny\r\nzoë".encode())
    return path


def lookup_values(session, table, keys):
    values = table.lookup(tf.convert_to_tensor(keys))
    session.run(tf.tables_initializer())
    return session.run(values).tolist()


class TestFiles:
    def test_index_table_maps_words_to_numbers(self, session, vocabulary):
        table = lookup.index_table_from_file(vocabulary)
        assert lookup_values(session, table, ["zoë", "x", "?"]) == [2, 0, -1]
        assert session.run(table.size()) == 3
        (asset,) = tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS)
        assert session.run(asset) == str(vocabulary).encode()

    def test_reverse_table_maps_numbers_to_words(self, session, vocabulary):
        table = lookup.index_to_string_table_from_file(str(vocabulary))
        assert lookup_values(session, table, tf.constant([1, 9], tf.int64)) == [b"y", b"UNK"]

    def test_vocabulary_can_be_read_partially(self, session, vocabulary):
        table = lookup.index_table_from_file(vocabulary, num_oov_buckets=2, vocab_size=2)
        assert lookup_values(session, table, ["y", "x"]) == [1, 0]
        assert session.run(table.lookup(tf.constant(["zoë"])))[0] in (2, 3)

    def test_vocabularies_from_one_file_share_a_table(self, session, vocabulary):
        first, second = (lookup.index_table_from_file(vocabulary) for _ in range(2))
        session.run(first.init)
        assert session.run(second.size()) == 3

    def test_vocabulary_can_have_columns(self, session, tmp_path):
        path = tmp_path / "pairs"
        path.write_text("a,1,0.5\nb,-2,1e3\n")
        for dtype, column, values in (
            (tf.int64, 1, [1, -2]),
            (tf.int32, 1, [1, -2]),
            (tf.float32, 2, [0.5, 1000.0]),
            (tf.float64, 2, [0.5, 1000.0]),
            (tf.string, 2, [b"0.5", b"1e3"]),
        ):
            initializer = tf.lookup.TextFileInitializer(
                path, tf.string, 0, dtype, column, delimiter=","
            )
            default = "" if dtype == tf.string else 0
            table = lookup.HashTable(initializer, default, shared_name=f"{dtype.name}")
            assert lookup_values(session, table, ["a", "b"]) == values

    @pytest.mark.parametrize(
        ("content", "columns", "error", "match"),
        [
            (
                "a\n\nb\n",
                (-2, -1),
                tf.errors.InvalidArgumentError,
                "empty line found at position 3",
            ),
            ("a\t1\nc\n", (0, 1), tf.errors.InvalidArgumentError, r"line 1 \(c\) : expected at"),
            (
                "a\tb\n",
                (0, 1),
                tf.errors.InvalidArgumentError,
                "Field b in line 0 is not",
            ),
            ("a\na\n", (-2, -1), tf.errors.FailedPreconditionError, "different value for same key"),
        ],
    )
    def test_error_for_a_damaged_vocabulary_names_the_line(
        self, session, tmp_path, content, columns, error, match
    ):
        path = tmp_path / "words"
        path.write_text(content)
        initializer = tf.lookup.TextFileInitializer(
            path, tf.string, columns[0], tf.int64, columns[1]
        )
        table = tf.lookup.StaticHashTable(initializer, -1)
        with pytest.raises(error, match=match):
            session.run(table.initializer)
        assert session.run(table.size()) == 0

    def test_missing_or_short_vocabularies_are_rejected(self, session, vocabulary):
        missing = lookup.index_table_from_file(f"{vocabulary}.not")
        with pytest.raises(tf.errors.NotFoundError, match=r"words.txt.not"):
            session.run(missing.init)
        short = lookup.index_table_from_file(vocabulary, vocab_size=5)
        with pytest.raises(tf.errors.InvalidArgumentError, match="expected 5 but got 3"):
            session.run(short.init)

    def test_empty_vocabulary_makes_an_empty_table(self, session, tmp_path):
        (tmp_path / "none").touch()
        table = lookup.index_table_from_file(tmp_path / "none")
        assert lookup_values(session, table, ["a"]) == [-1]


class TestVectors:
    def test_vector_vocabulary_maps_words_to_numbers_and_back(self, session):
        table = lookup.index_table_from_tensor(tf.constant(["x", "y"]))
        assert lookup_values(session, table, ["y", "?"]) == [1, -1]
        back = lookup.index_to_string_table_from_tensor(["x", "y"], default_value="?")
        assert lookup_values(session, back, tf.constant([1, 7], tf.int64)) == [b"y", b"?"]

    def test_vector_vocabulary_can_be_looked_up_directly(self, session):
        number = lookup.string_to_index(tf.constant(["b"]), ["a", "b"])
        text = lookup.index_to_string(tf.constant([0], tf.int64), ["a", "b"])
        session.run(tf.tables_initializer())
        assert session.run([number, text]) == [[1], [b"a"]]


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: lookup.index_table_from_file(""), ValueError, "must be specified"),
        (lambda: lookup.index_table_from_file("f", -1), ValueError, "greater or equal than 0"),
        (lambda: lookup.index_table_from_file("f", vocab_size=0), ValueError, "got 0 for voc"),
        (lambda: lookup.index_table_from_file("f", key_dtype=tf.float32), TypeError, "integer or"),
        (lambda: lookup.index_to_string_table_from_file(""), ValueError, "must be specified"),
        (lambda: lookup.index_to_string_table_from_file("f", 0), ValueError, "greater than 0"),
        (lambda: lookup.index_table_from_tensor(None), ValueError, "must be specified"),
        (lambda: lookup.index_table_from_tensor(["a"], dtype=tf.float32), TypeError, "integer or"),
        (lambda: lookup.index_table_from_tensor([1.5], dtype=tf.int64), ValueError, "integer, got"),
        (lambda: lookup.index_to_string_table_from_tensor(None), ValueError, "must be specified"),
        (
            lambda: tf.lookup.TextFileInitializer("f", tf.string, -1, tf.int64, 1),
            ValueError,
            "`key_dtype` must be int64",
        ),
        (
            lambda: tf.lookup.TextFileInitializer("f", tf.float32, -2, tf.int64, 1),
            ValueError,
            "integer or string",
        ),
        (
            lambda: tf.lookup.TextFileInitializer("f", tf.string, -3, tf.int64, 1),
            ValueError,
            "Invalid key index -3",
        ),
        (
            lambda: tf.lookup.TextFileInitializer("", tf.string, 0, tf.int64, 1),
            ValueError,
            "argument required",
        ),
    ],
)
def test_invalid_arguments_are_rejected_at_once(call, error, match):
    with pytest.raises(error, match=match):
        call()
