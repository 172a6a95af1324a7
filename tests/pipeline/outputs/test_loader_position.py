import pytest

from headrace.pipeline.outputs.loader_position import LoaderPosition


def loaded(epoch, state=None, set_epoch=None, offset=0):
    position = LoaderPosition()
    before = LoaderPosition().state_at(epoch, state)
    position.load({**before, "set_epoch": set_epoch, "offset": offset})
    return position


def test_each_epoch_follows_the_previous_one():
    position = LoaderPosition()
    position.advance(0, is_alone=True)
    assert position.epoch == 1
    position.set_epoch(7)
    assert position.epoch == 7


def test_loop_counting_from_0_after_a_resume_continues_at_the_epoch_of_the_state():
    position = loaded(3, {"place": [1]})
    position.set_epoch(0)
    assert (position.epoch, position.resumed) == (3, {"place": [1]})
    position.advance(3, is_alone=True)
    position.set_epoch(1)
    assert position.epoch == 4


def test_loop_that_continues_counting_keeps_its_epoch_numbers():
    position = loaded(3, {"place": [1]}, set_epoch=3)
    position.set_epoch(3)
    position.advance(3, is_alone=True)
    position.set_epoch(4)
    assert (position.epoch, position.offset) == (4, 0)


def test_later_epoch_skips_the_rest_of_the_state_with_a_warning(caplog):
    position = loaded(1, {"place": [1]})
    position.set_epoch(5)
    assert (position.epoch, position.resumed) == (5, None)
    assert (
        "the rest of epoch 1 is skipped, although the loaded state is in the middle" in caplog.text
    )


@pytest.mark.parametrize(("is_alone", "offset"), [(True, 3), (False, 2)])
def test_finished_epoch_is_skipped_only_by_a_single_loop(is_alone, offset):
    position = loaded(2, {"place": [1]})
    position.set_epoch(0)
    position.advance(3, is_alone)
    assert (position.epoch, position.offset) == (4, offset)


def test_unused_state_is_returned_again():
    position = loaded(3, {"place": [1]}, set_epoch=1, offset=2)
    assert position.state() == {
        "epoch": 3,
        "batches": '{"place":[1]}',
        "set_epoch": 1,
        "offset": 2,
    }


def test_loop_still_in_the_previous_epoch_is_detected():
    position = LoaderPosition()
    position.set_epoch(0)
    position.advance(0, is_alone=False)
    assert position.is_in_previous()
    position.set_epoch(1)
    assert not position.is_in_previous()
