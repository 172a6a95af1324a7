"""The recommended number of readers, as text."""

import pytest

from headrace.read_service import Loads, advice


@pytest.mark.parametrize(
    ("loads", "text", "num_readers"),
    [
        (
            Loads(10, 3, 0.4, 0.97),
            "trainers wait 40% of the time and readers work 97% of it: add 2 readers",
            5,
        ),
        (
            Loads(10, 9, 0.1, 0.97),
            "trainers wait 10% of the time and readers work 97% of it: add 1",
            10,
        ),
        (Loads(10, 2, 1.0, 1.0), "add 2 readers", 4),
        (Loads(10, 4, 0.0, 0.3), "readers work 30% of it: you can remove 2 readers", 2),
        (Loads(10, 4, 0.01, 0.0), "you can remove 3 readers", 1),
        (Loads(10, 4, 0.02, 0.7), "the number of readers is right", 4),
        (Loads(10, 4, 0.5, 0.2), "more readers would not help, because the transfer", 4),
        (
            Loads(0.5, 4, 1.0, 1.0),
            "not enough measurements yet; call it again after more batches",
            4,
        ),
    ],
)
def test_advice_names_a_number_of_readers(loads, text, num_readers):
    result = advice(loads)
    assert text in result.text
    assert result.num_readers == num_readers
