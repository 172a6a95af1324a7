"""Simulates 10, 100 and 1,000 hosts, based on measurements on one machine.

    .venv/bin/python -m benchmarks.ray.simulate

Half of the hosts read and half train. First, the model is validated against real runs with 1, 2 and
4 readers.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.ray.model import Constants, Setting, simulate

MEASURED = Path(__file__).with_name("measured.json")
# How long a trainer in tests/ray/test_faults.py stalled when a node was lost.
NODE_LOST_S = 19.0
# The head's memory for each reader and each trainer: an actor handle and its queue in Ray.
PIPELINE_BYTES = 10_000


def constants_of(measured: dict[str, Any]) -> Constants:
    """Computes the model's constants from the measurements."""
    way = {int(size): one for size, one in measured["way"].items()}
    costs = {size: max(one["through_ray_s"] - one["alone_s"], 0.0) for size, one in way.items()}
    small, large = min(costs), max(costs)
    coordination = measured["coordination"]
    lost = sorted(measured["lost_reader_s"])
    return Constants(
        call_s=costs[small],
        byte_s=max(costs[large] - costs[small], 0.0) / (large - small),
        reader_start_s=coordination["reader_start_s"],
        report_s=coordination["report_s"],
        known_s=coordination["known_s"],
        add_s=coordination["add_s"],
        handle_bytes=coordination["handle_bytes"],
        handle_s=coordination["handle_s"],
        lost_s=lost[len(lost) // 2],
    )


def against_the_real_thing(measured: dict[str, Any], constants: Constants) -> list[list[str]]:
    """Returns the model's rates and the measured rates for 1, 2 and 4 readers."""
    real = measured["actors"]
    rows = []
    for num_readers in (1, 2, 4):
        setting = Setting(
            num_readers=num_readers,
            num_trainers=1,
            make_s=real["make_s"],
            skim_s=0.0,
            batch_bytes=real["batch_bytes"],
            step_s=0.0,
            num_steps=128 * num_readers,
            network_bytes_s=1e12,
            asked_ahead=8 * num_readers,
            jitter=0.0,
        )
        model = simulate(setting, constants).rate
        result = real[str(num_readers)]
        rows.append([str(num_readers), f"{result:.1f}", f"{model:.1f}", f"{model / result:.2f}"])
    return rows


def hosts(measured: dict[str, Any], constants: Constants) -> list[list[str]]:
    """Returns the model's results for many hosts."""
    skim = measured["skimming"]
    jobs = {
        "photos, all shuffled": (skim["photos_make_s"], skim["photos_skim_s"], 64 * 224 * 224 * 3),
        "digits, all shuffled": (skim["all_make_s"], skim["all_skim_s"], 128 * 785 * 4),
        "digits, a window": (skim["window_make_s"], skim["window_skim_s"], 128 * 785 * 4),
    }
    rows = []
    for name, (make_s, skim_s, batch_bytes) in jobs.items():
        for num_hosts in (10, 100, 1000):
            half = num_hosts // 2
            setting = Setting(
                num_readers=half,
                num_trainers=half,
                make_s=make_s,
                skim_s=skim_s,
                batch_bytes=batch_bytes,
                step_s=make_s,
                reports_s=max(1.0, half / 100),
            )
            result = simulate(setting, constants)
            process = simulate(replace(setting, lost_at_step=30), constants)
            gone = replace(constants, lost_s=NODE_LOST_S)
            host = simulate(replace(setting, lost_at_step=30), gone)
            reports = setting.num_trainers / setting.reports_s * constants.report_s
            alone = 1 / (make_s + constants.call_s + constants.byte_s * batch_bytes)
            memory = PIPELINE_BYTES + half * 2 * constants.handle_bytes
            rows.append(
                [
                    name,
                    f"{num_hosts:,}",
                    f"{result.rate:,.0f}",
                    f"{result.rate / (alone * half):.0%}",
                    f"{result.balance:.2f}",
                    f"{result.first_batch_s:.1f} s",
                    f"{memory / 1e6:.1f} MB",
                    f"{reports:.0%}",
                    *(
                        f"{max(lost.longest_stand_s - result.longest_stand_s, 0.0):.1f} s"
                        for lost in (process, host)
                    ),
                ]
            )
    return rows


def table(head: list[str], rows: list[list[str]]) -> str:
    """Returns a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    """Prints the tables for the page."""
    measured = json.loads(MEASURED.read_text())
    constants = constants_of(measured)
    print(constants)
    head = ["readers", "measured, batches/s", "model, batches/s", "model / measured"]
    print(table(head, against_the_real_thing(measured, constants)))
    columns = [
        *("job", "hosts", "batches/s", "of perfect", "balance", "first batch"),
        *("head's memory", "head works", "a killed reader", "a lost host"),
    ]
    print(table(columns, hosts(measured, constants)))


if __name__ == "__main__":
    main()
