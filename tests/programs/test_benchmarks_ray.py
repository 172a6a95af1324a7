"""The model in `benchmarks/ray`, in cases with a known result."""

from dataclasses import replace

import pytest
from benchmarks.ray.model import Constants, Setting, simulate

FREE = Constants(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0, 0.0, 0.0)
SETTING = Setting(4, 4, 0.1, 0.0, 1000, 0.0, num_steps=100, network_bytes_s=1e12, jitter=0.0)


def test_rates_of_readers_without_overhead_add_up():
    assert simulate(SETTING, FREE).rate == pytest.approx(40, rel=0.01)
    assert simulate(replace(SETTING, num_readers=2), FREE).rate == pytest.approx(20, rel=0.02)


def test_slow_trainers_limit_the_rate():
    assert simulate(replace(SETTING, step_s=0.5), FREE).rate == pytest.approx(8, rel=0.01)


def test_skipping_the_batches_of_other_readers_costs_time():
    result = simulate(replace(SETTING, skim_s=0.1 / 3), FREE)
    assert result.rate == pytest.approx(20, rel=0.01)


def test_network_of_a_host_limits_the_rate():
    result = simulate(replace(SETTING, batch_bytes=10**9, network_bytes_s=1e9), FREE)
    assert result.rate == pytest.approx(4, rel=0.05)


def test_head_starts_readers_one_after_another():
    result = simulate(SETTING, replace(FREE, add_s=2.0, reader_start_s=1.0))
    assert 8.8 < result.first_batch_s < 9.4


def test_head_sends_the_pipeline_to_readers_one_after_another():
    result = simulate(SETTING, replace(FREE, known_s=2.0, reader_start_s=1.0))
    # Four trainers join first.
    assert result.first_batch_s == pytest.approx(16.1, abs=0.2)


@pytest.mark.parametrize(("step_s", "stands_still"), [(0.0, 5.0), (1.0, 0.0)])
def test_prefetched_batches_hide_a_lost_reader(step_s, stands_still):
    setting = replace(SETTING, step_s=step_s, lost_at_step=50)
    result = simulate(setting, replace(FREE, lost_s=5.0))
    assert result.longest_stand_s - max(step_s, 0.1) == pytest.approx(stands_still, abs=0.15)
