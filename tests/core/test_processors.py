"""The number of processors, with the limits of containers."""

import os

import pytest

from headrace.core import processors


@pytest.fixture
def cores_of(tmp_path, monkeypatch):
    """Returns how many processors a process in control groups has, of 64."""

    def cores(groups, files):
        (tmp_path / "groups").write_text(groups)
        monkeypatch.setattr(processors, "_GROUPS", tmp_path / "groups")
        monkeypatch.setattr(processors, "_MOUNT", tmp_path / "mount")
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)), raising=False)
        for name, text in files.items():
            path = tmp_path / "mount" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return processors.num_cores()

    return cores


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, 64),
        ({"cpu.max": "200000 100000\n"}, 2),
        ({"a/b/cpu.max": "max 100000\n", "a/cpu.max": "250000 100000\n"}, 3),
        ({"a/b/cpu.max": "50000 100000\n"}, 1),
        ({"a/b/cpu.max": "9900000 100000\n"}, 64),
        ({"a/b/cpu.max": "nothing"}, 64),
    ],
)
def test_the_least_limit_of_all_groups_counts(cores_of, files, expected):
    assert cores_of("0::/a/b\n", files) == expected


@pytest.mark.parametrize(("quota", "expected"), [("400000", 4), ("-1", 64)])
def test_the_first_version_has_a_group_for_processors(cores_of, quota, expected):
    files = {"cpu/a/cpu.cfs_quota_us": quota, "cpu/a/cpu.cfs_period_us": "100000"}
    assert cores_of("4:memory:/b\n3:cpu,cpuacct:/a\n", files) == expected


def test_a_group_of_outside_a_container_is_that_of_its_mount(cores_of):
    assert cores_of("0::/kubepods/pod1/x\n", {"cpu.max": "300000 100000"}) == 3


def test_without_groups_all_processors_count(cores_of, monkeypatch, tmp_path):
    assert cores_of("", {}) == 64
    monkeypatch.setattr(processors, "_GROUPS", tmp_path / "missing")
    assert processors.num_cores() == 64
