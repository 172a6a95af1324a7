"""Timers of hooks."""

import pytest

import headrace.tf1 as tf


def test_timer_of_steps_triggers_every_few_steps():
    timer = tf.train.SecondOrStepTimer(every_steps=2)
    assert timer.should_trigger_for_step(5)
    assert timer.update_last_triggered_step(5) == (None, None)
    assert [timer.should_trigger_for_step(step) for step in (5, 6, 7)] == [False, False, True]
    seconds, steps = timer.update_last_triggered_step(8)
    assert seconds >= 0
    assert (steps, timer.last_triggered_step()) == (3, 8)
    timer.reset()
    assert timer.last_triggered_step() is None


def test_timer_of_seconds_triggers_after_an_interval(monkeypatch):
    now = [10.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    timer = tf.train.SecondOrStepTimer(every_secs=2)
    timer.update_last_triggered_step(1)
    now[0] = 11.9
    assert not timer.should_trigger_for_step(2)
    now[0] = 12.0
    assert timer.should_trigger_for_step(2)
    assert not timer.should_trigger_for_step(1)


@pytest.mark.parametrize("both", [{}, {"every_secs": 1, "every_steps": 1}])
def test_exactly_one_interval_must_be_set(both):
    with pytest.raises(ValueError, match="every_secs"):
        tf.train.SecondOrStepTimer(**both)
