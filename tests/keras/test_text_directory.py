"""Texts from directories, for Keras."""

import pytest
from tests.keras.class_directories import write

import headrace as hr
from headrace.keras import adapter, text_dataset_from_directory


@pytest.fixture
def reviews(tmp_path):
    write(tmp_path / "bad" / "1.txt", "nicht schön".encode())
    write(tmp_path / "good" / "2.TXT", b"fine\r\n")
    write(tmp_path / "good" / "notes.md", b"not read")
    return tmp_path


def test_texts_are_the_raw_bytes_of_the_files(reviews, capsys):
    data = text_dataset_from_directory(reviews, shuffle=False)
    assert capsys.readouterr().out == "Found 2 files belonging to 2 classes.\n"
    assert data.class_names == ["bad", "good"]
    ((texts, labels),) = data
    assert texts.tolist() == ["nicht schön".encode(), b"fine\r\n"]
    assert labels.tolist() == [0, 1]


def test_texts_are_truncated_at_a_byte_limit(reviews):
    data = text_dataset_from_directory(reviews, labels=None, max_length=3, shuffle=False)
    assert next(iter(data)).tolist() == [b"nic", b"fin"]
    data = text_dataset_from_directory(reviews, labels=None, max_length=0, batch_size=None)
    assert list(data) == [b"", b""]


def test_tokenized_texts_can_be_trained_on(reviews):
    data = text_dataset_from_directory(reviews, shuffle=False, label_mode="binary")

    @hr.native
    def lengths(batch):
        return {"n": hr.ops.string_length(batch["text"]), "label": batch["label"]}

    ((n, labels),) = adapter(data.pipeline.map(lengths), x="n")
    assert (n.tolist(), labels.tolist()) == ([12, 6], [[0], [1]])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"max_length": -1}, "max_length is -1, expected None or at least 0"),
        ({"format": "grain"}, "format is 'grain', expected 'tf'"),
        ({"subset": "both"}, "validation_split is None and subset is 'both'"),
    ],
)
def test_errors_name_the_wrong_argument(reviews, arguments, words):
    with pytest.raises(ValueError, match=words):
        text_dataset_from_directory(reviews, **arguments)
