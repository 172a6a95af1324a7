"""The number of processors, including the limits of containers."""

import os

import pytest

from headrace.core import processors


@pytest.fixture
def cores_of(tmp_path, monkeypatch):
    """Returns how many of 64 processors a process in control groups may use."""

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
def test_smallest_cgroup_limit_applies(cores_of, files, expected):
    assert cores_of("0::/a/b\n", files) == expected


@pytest.mark.parametrize(("quota", "expected"), [("400000", 4), ("-1", 64)])
def test_cgroup_v1_limit_is_read(cores_of, quota, expected):
    files = {"cpu/a/cpu.cfs_quota_us": quota, "cpu/a/cpu.cfs_period_us": "100000"}
    assert cores_of("4:memory:/b\n3:cpu,cpuacct:/a\n", files) == expected


def test_cgroup_path_from_outside_a_container_uses_the_mount(cores_of):
    assert cores_of("0::/kubepods/pod1/x\n", {"cpu.max": "300000 100000"}) == 3


def test_all_processors_are_used_without_cgroups(cores_of, monkeypatch, tmp_path):
    assert cores_of("", {}) == 64
    monkeypatch.setattr(processors, "_GROUPS", tmp_path / "missing")
    assert processors.num_cores() == 64
