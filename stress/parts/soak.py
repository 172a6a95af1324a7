"""Trains for hours while being repeatedly killed, interrupted and disconnected from storage."""

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter, deque
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from random import Random
from typing import Any

from tests.io.storage.server import Fault, Server, answers

from stress.files.soak_jobs import JOBS, Job
from stress.ledger import Ledger
from stress.part import Options, Result
from stress.server_faults import PASSING

# The share of it that runs each night.
NIGHTLY = 0.1
HOURS = 4.0
"""At a scale of 1. Afterwards, each job goes on undisturbed to the end of its cycle."""

MEAN_LIFE_S = 3.0
"""How long a program runs until something happens to it, on average."""

SILENT_S = 300.0
"""A program that says nothing for so long hangs. A busy machine may take a minute to start one."""

FAULTY = 0.05
"""The share of requests at which the server fails."""

_STATES = 32
_WHOLE_EVERY = 5


def run(options: Options) -> Result:
    """Runs W1, W3, a mixed pipeline and queues of TensorFlow 1 with kills, faults and resumes."""
    result = Result()
    begin = time.monotonic()
    until = begin + options.scale * HOURS * 3600
    with tempfile.TemporaryDirectory() as directory, Server() as server:
        faults = _Faults(options.seed)
        server.faults = faults
        soaks: list[_Soak] = []
        has_failed = threading.Event()
        for job in JOBS.values():
            own = Path(directory, job.name)
            own.mkdir()
            server.files.update(job.write(own))
            soaks.append(_Soak(job, own, server, faults, options.seed, until, has_failed))
        for soak in soaks:
            soak.start()
        for soak in soaks:
            soak.join()
            result.figures.update(soak.figures())
            result.failures += soak.failures
    result.figures["requests that the server made fail"] = faults.num_made
    result.figures["seconds"] = round(time.monotonic() - begin)
    return result


class _Faults(list[Fault | None]):
    """An endless iterator over the faults of requests, with occasional temporary faults.

    Attributes:
        is_down: Whether the server rejects every request.
        num_made: The number of faulty requests.
    """

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.is_down = False
        self.num_made = 0
        self._draws = Random(f"{seed} soak, faults")

    def __bool__(self) -> bool:
        return True

    def pop(self, index: Any = -1) -> Fault | None:
        if self.is_down:
            self.num_made += 1
            return answers(HTTPStatus.SERVICE_UNAVAILABLE)
        if self._draws.random() >= FAULTY:
            return None
        self.num_made += 1
        return PASSING[self._draws.choice(list(PASSING))](self._draws)


class _Soak(threading.Thread):
    """Runs one job repeatedly."""

    def __init__(
        self,
        job: Job,
        directory: Path,
        server: Server,
        faults: _Faults,
        seed: int,
        until: float,
        has_failed: threading.Event,
    ) -> None:
        super().__init__(name=f"soak of {job.name}")
        self.failures: list[str] = []
        self._job = job
        self._directory = directory
        self._server = server
        self._faults = faults
        self._seed = seed
        self._until = until
        self._has_failed = has_failed
        self._draws = Random(f"{seed} soak {job.name}")
        self._sums: dict[int, int] = {}
        self._counts: Counter[str] = Counter()
        self._most_bytes = 0
        self._ledger = Ledger(job, self._sums)
        self._states: deque[tuple[int, Any]] = deque(maxlen=_STATES)

    def run(self) -> None:
        """Runs cycles until the time is over or a job has failed."""
        number = 0
        try:
            while number == 0 or not self._is_over():
                self._cycle(number)
                number += 1
        except Exception:  # Without this the failure would not be reported.
            self._fail(traceback.format_exc(), number)

    def _is_over(self) -> bool:
        return time.monotonic() >= self._until or self._has_failed.is_set()

    def figures(self) -> dict[str, int | float | str]:
        """Returns the counts."""
        name, mega = self._job.name, self._most_bytes / 2**20
        counts = {f"{name}: {words}": count for words, count in sorted(self._counts.items())}
        return {**counts, f"{name}: most memory of a program, MiB": round(mega, 1)}

    def _cycle(self, number: int) -> None:
        """Reads all epochs once, in as many programs as needed."""
        self._directory.joinpath("session").unlink(missing_ok=True)
        self._ledger = Ledger(self._job, self._sums)
        self._states.clear()
        self._states.append((0, None))
        seed = self._seed + number
        while not self.failures and self._life(seed, self._ending()) != "end":
            pass
        self._check(self._ledger.finish(), seed)
        if self._job.make is not None and number % _WHOLE_EVERY == 0 and not self.failures:
            # The order without an interruption.
            self._states.clear()
            self._states.append((0, None))
            self._life(seed, "end")
            self._counts["cycles that were repeated as a whole"] += 1
        self._counts["cycles"] += 1
        self._counts["batches that came again and were the same"] += self._ledger.num_repeated
        self._counts["examples"] += self._ledger.num_examples()

    def _ending(self) -> str:
        if self._is_over():
            return "end"
        endings = ["kill", "kill", "SIGTERM", "Ctrl-C", "break"]
        return self._draws.choice([*endings, *(["outage"] if self._job.num_skipped else [])])

    def _life(self, seed: int, ending: str) -> str:
        """Runs one program, and returns its reported end, or "" if it was killed."""
        draws = self._draws
        count = draws.randint(1, 100) if ending == "break" else 0
        command = [
            sys.executable,
            "-m",
            "stress.programs.training",
            self._job.name,
            self._directory,
        ]
        limits = [draws.choice([1, 2, 4]), draws.choice([64, 128, 256]) << 20]
        begin = [*draws.choice(self._states), *limits]
        said: dict[str, Any] = {}
        with tempfile.TemporaryFile() as errors:
            with subprocess.Popen(
                [*map(str, command), str(seed), str(count)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**os.environ, **self._variables()},
            ) as process:
                assert process.stdin is not None
                process.stdin.write(json.dumps(begin).encode() + b"\n")
                process.stdin.close()
                try:
                    for said in self._disturbed(process, ending):
                        self._note(said, process.pid, seed)
                except TimeoutError:
                    said = {}
                    self._fail("a hang", seed)
                    process.send_signal(signal.SIGUSR1)
                    time.sleep(5)
                    process.kill()
            errors.seek(0)
            self._judge(ending, process.returncode, said, errors.read().decode(), seed)
        how = str(said.get("how", ""))
        self._counts[f"programs that ended by {how or ending}"] += 1
        return how

    def _variables(self) -> dict[str, str]:
        return {
            "AWS_ENDPOINT_URL": self._server.url,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "HEADRACE_STORAGE_RETRIES": "5",
        }

    def _disturbed(
        self, process: "subprocess.Popen[bytes]", ending: str
    ) -> Iterator[dict[str, Any]]:
        """Yields the output of a program, and disturbs it once it has started."""
        timers = []
        if ending not in ("break", "end"):
            timers.append((self._draws.expovariate(1 / MEAN_LIFE_S), ending))
        if ending != "end" and self._draws.random() < 0.2:
            timers.append((self._draws.expovariate(2 / MEAN_LIFE_S), "pause"))
        begun: list[threading.Timer] = []
        try:
            for said in _lines(process):
                if not begun:
                    begun = [threading.Timer(s, self._disturb, (process, how)) for s, how in timers]
                    for timer in begun:
                        timer.start()
                yield said
        finally:
            for timer in begun:
                timer.cancel()
                timer.join()
            self._faults.is_down &= ending != "outage"

    def _disturb(self, process: "subprocess.Popen[bytes]", how: str) -> None:
        match how:
            case "outage":
                self._faults.is_down = True
            case "pause":
                process.send_signal(signal.SIGSTOP)
                time.sleep(1)
                process.send_signal(signal.SIGCONT)
                self._counts["pauses of a program"] += 1
            case _:
                process.send_signal(_SIGNALS[how])

    def _note(self, said: dict[str, Any], pid: int, seed: int) -> None:
        """Records the output of a program in the ledger."""
        if "numbers" in said:
            self._check(self._ledger.take(said["number"], said["numbers"], said["sums"]), seed)
            self._counts["batches"] += 1
            if said["state"] is not None:
                self._states.append((said["number"], said["state"]))
            if self._counts["batches"] % 50 == 0:
                self._most_bytes = max(self._most_bytes, _anonymous_bytes(pid))
                self._server.requests.clear()
        elif "how" in said:
            if said["threads"]:
                self._fail(f"threads are left: {said['threads']}", seed)
        else:
            self._check(self._ledger.begin(said["number"]), seed)

    def _judge(self, ending: str, code: int, said: dict[str, Any], errors: str, seed: int) -> None:
        """Fails unless the program ended as expected."""
        # Ctrl-C may arrive while the interpreter exits.
        is_late = ending == "Ctrl-C" and (code == -signal.SIGINT or "KeyboardInterrupt" in errors)
        is_over = "how" in said and (code == 0 or is_late)
        is_killed = ending in _SIGNALS and code == -_SIGNALS[ending] and ending != "Ctrl-C"
        is_cut_off = ending == "outage" and code == 1 and "UnavailableError: s3://" in errors
        if not (is_over or is_killed or is_cut_off):
            self._fail(f"{ending}: it ended with {code}: {errors[-4000:]}", seed)

    def _check(self, wrong: Iterator[str], seed: int) -> None:
        for text in wrong:
            self._fail(text, seed)

    def _fail(self, text: str, seed: int) -> None:
        self.failures.append(f"{self._job.name}, seed {seed}: {text}")
        self._has_failed.set()


_SIGNALS = {"kill": signal.SIGKILL, "SIGTERM": signal.SIGTERM, "Ctrl-C": signal.SIGINT}


def _lines(process: "subprocess.Popen[bytes]") -> Iterator[dict[str, Any]]:
    """Yields the output lines of a process, of which the last one may be truncated.

    Raises:
        TimeoutError: If it writes nothing for too long.
    """
    assert process.stdout is not None
    rest = b""
    while True:
        ready, _, _ = select.select([process.stdout], [], [], SILENT_S)
        if not ready:
            raise TimeoutError
        data = os.read(process.stdout.fileno(), 1 << 20)
        if not data:
            return
        *lines, rest = (rest + data).split(b"\n")
        yield from map(json.loads, lines)


def _anonymous_bytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except FileNotFoundError:
        return 0
    sizes = (int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon:"))
    return next(sizes, 0)
