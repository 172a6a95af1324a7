"""The batches in transit to a trainer are limited in bytes, and arrive in order."""

from headrace.read_service import Window


def ask(window, num_readers=1):
    for number in window.to_ask(num_readers):
        window.asked(number, f"batch {number}")
    return list(window.under_way)


def test_one_batch_per_reader_is_requested_until_the_size_is_known():
    assert ask(Window(0, 1, 1000), num_readers=4) == [0, 1, 2, 3]
    assert ask(Window(1, 2, 1000), num_readers=4) == [1, 3]
    assert ask(Window(1, 3, 1000), num_readers=1) == [1]


def test_as_many_batches_are_requested_as_fit_the_budget():
    window = Window(1, 2, 1000)
    ask(window)
    window.take(240)
    assert ask(window) == [3, 5, 7, 9]
    window.take(500)
    assert ask(window) == [5, 7, 9], "those that were asked for come"
    window.take(100)
    window.take(100)
    assert ask(window) == [9, 11]
    assert (window.next_number, window.end, window.expected_bytes) == (9, 13, 500)


def test_one_batch_is_requested_however_large_it_is():
    window = Window(0, 1, 10)
    ask(window)
    window.take(1000)
    assert ask(window) == [1]
    assert ask(Window(0, 1, 0)) == [0]


def test_number_of_small_batches_in_flight_is_limited():
    window = Window(0, 1, 1 << 30)
    ask(window)
    window.take(1)
    assert len(ask(window, num_readers=2)) == 16


def test_repeated_request_keeps_its_place():
    window = Window(0, 1, 1000)
    ask(window)
    window.take(300)
    assert ask(window) == [1, 2, 3]
    window.asked(2, "again")
    assert window.under_way == {1: "batch 1", 2: "again", 3: "batch 3"}
    assert window.end == 4


def test_large_batches_stop_counting_after_a_while():
    window = Window(0, 1, 1000)
    ask(window)
    window.take(900)
    for _ in range(20):
        ask(window)
        window.take(100)
    assert window.expected_bytes == 100


def test_small_fast_batches_are_requested_together():
    window = Window(0, 1, 1 << 30)
    ask(window, num_readers=2)
    window.take(1000)
    assert window.together(2) == 1, "it is not known how long they take"
    window.came(1, 0.0001)
    assert window.together(2) == 16
    assert len(ask(window, num_readers=2)) == 8 * 16 * 2
    for _ in range(31):
        window.take(1000)
        assert window.to_ask(2) == []
    window.take(1000)
    assert len(window.to_ask(2)) == 32, "as many again as come together from each reader"


def test_slow_or_large_batches_are_requested_one_at_a_time():
    window = Window(0, 1, 1 << 30)
    ask(window)
    window.take(1000)
    window.came(4, 0.1)
    assert window.together(1) == 1
    window.came(4, 0.01)
    assert window.together(1) == 8
    ask(window)
    window.take(4 << 20)
    assert window.together(1) == 1


def test_two_groups_of_batches_fit_the_budget():
    window = Window(0, 1, 10_000)
    ask(window)
    window.take(1000)
    window.came(1, 0.0001)
    assert window.together(1) == 5
    assert len(ask(window)) == 10
