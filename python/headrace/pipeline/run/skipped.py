"""Skipped examples, and the check against their budget."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from headrace.core import engine
from headrace.core.digests import sha256
from headrace.core.errors import SkippedExamples
from headrace.core.repr_prefix import without_passwords
from headrace.pipeline.run.node.pass_end import NodePassEnd
from headrace.pipeline.stages.skip_errors import SkipErrors

if TYPE_CHECKING:
    from headrace.pipeline.run.node.messages import NodeSkip

__all__ = ["Report", "Skipped", "is_report"]

# A fraction is checked once this many examples have been read, and at the end.
_LEAST_EXAMPLES: Final = 1000
_KEY_BYTES: Final = 6
# A budget of at least this size even covers losses that cannot be counted.
_ALL: Final = 1 << 62


class Skipped(NamedTuple):
    """A skipped example, or a part of a file that could not be read.

    Attributes:
        file: The path of the file, or the name of another source, such as "arrays". It is None if
            there is no source, as for batches.
        record_number: The number of the record in the file, from 0. If there is no file, the number
            of the example in its source, or of the batch. None if it is unknown.
        offset_bytes: The offset of the record in the uncompressed file, counting the record's
            framing. None if it is unknown.
        stage: The stage that failed.
        reason: The error message.
        num_lost: The number of lost records, which count towards the budget. These are CSV lines
            lost to a stray quote, or the estimated number of records in the rest of a file. None if
            the number is unknown, which exceeds any budget.
    """

    file: str | None
    record_number: int | None
    offset_bytes: int | None
    stage: str
    reason: str
    num_lost: int | None = 1

    def __str__(self) -> str:
        where = [] if self.file is None else [self.file]
        where += [] if self.record_number is None else [f"record {self.record_number}"]
        where += [] if self.offset_bytes is None else [f"at byte {self.offset_bytes}"]
        return f"{', '.join(where) or 'an example'}: {self.stage}: {self.reason}"


@dataclass
class _SkipCounter:
    """Counts the skipped and the remaining examples of one `skip_errors` stage.

    Attributes:
        stage: The stage that defines the budget.
        count: The number of skipped examples.
        rows: The number of examples returned in completed passes.
        next_pass: The number of the next pass to count.
        is_open: Whether anything was skipped in the current pass.
    """

    stage: SkipErrors
    count: int = 0
    rows: int = 0
    next_pass: int = 0
    is_open: bool = False

    def end_pass(self, passed: engine.PassEnd | NodePassEnd) -> None:
        """Counts the remaining examples of a pass, unless they have been counted already."""
        if passed.pass_number >= self.next_pass:
            self.rows += passed.num_rows
            self.next_pass = passed.pass_number + 1
            self.is_open = False

    def add(self, failure: "engine.Failure | NodeSkip") -> None:
        """Counts a skipped example.

        Raises:
            Exception: The failure itself, if it exceeds the budget.
        """
        lost, budget = failure.num_lost, self.stage.budget
        if lost is None and budget >= _ALL:
            lost = 1
        if lost is None:
            self._throw(
                failure,
                "skip_errors: it is unknown how many examples are lost here, so the budget "
                "cannot be checked. Correct the file, copy it again, or remove it.",
            )
            return
        self.count += lost
        self.is_open = True
        # A scan reads all files, even if few examples have been returned so far.
        total = self.rows + max(failure.passed[1], failure.num_scanned) + self.count
        if isinstance(budget, int):
            if self.count > budget:
                self._exceed(failure, lost, _left_out(self.count - lost), str(budget))
        elif total >= _LEAST_EXAMPLES and self.count > budget * total:
            before = _left_out(self.count - lost, total - lost)
            self._exceed(failure, lost, before, f"{budget:.3%}")

    def _exceed(
        self, failure: "engine.Failure | NodeSkip", lost: int, before: str, budget: str
    ) -> None:
        these = "this one" if lost == 1 else f"these {lost}"
        self._throw(
            failure,
            f"skip_errors: {before} before {these}, and the budget is {budget}. Look at "
            "Batches.skipped, then fix the data or the function, or raise the budget.",
        )

    def _throw(self, failure: "engine.Failure | NodeSkip", text: str) -> None:
        try:
            failure.throw(text)
        except engine.EngineError as error:
            engine.raise_op_error(error)

    def excess(self) -> str | None:
        """Describes how the budget is exceeded at the end of the data, or returns None."""
        total, budget = self.rows + self.count, self.stage.budget
        if isinstance(budget, int) or self.is_open or self.count <= budget * total:
            return None
        return f"{_left_out(self.count, total)}, but the budget is {budget:.3%}"


def _left_out(count: int, total: int | None = None) -> str:
    """Describes how many examples were skipped, and out of how many if that is known."""
    total_count = count if total is None else total
    examples = "example" if total_count == 1 else "examples"
    of = "" if total is None else f" of {total}"
    return f"{count}{of} {examples} {'was' if count == 1 else 'were'} skipped"


class Report:
    """The examples that an iteration has skipped so far, without duplicates.

    After a resume, failures that were reported before can occur again. They are recognised by their
    keys.

    Attributes:
        skipped: The skipped examples, in order.
    """

    def __init__(self, judged: Mapping[int, SkipErrors], names: Sequence[str]) -> None:
        """`judged` maps numbers to `skip_errors` stages, and `names` lists all stages."""
        self._judges = {number: _SkipCounter(stage) for number, stage in judged.items()}
        self._names = names
        self.skipped: list[Skipped] = []
        # For each skipped example: the index of the `skip_errors` stage that counted it, and its
        # key.
        self._keys: list[tuple[int, int]] = []
        self._reported: set[tuple[int, int]] = set()
        # The number of skipped examples and each stage's counts, as of the last batch returned.
        self._settled: tuple[int, list[list[Any]]] = (0, [])
        self._is_settled = False
        self.settle()

    def add(self, event: "engine.Failure | engine.PassEnd | NodeSkip | NodePassEnd") -> None:
        """Adds a skipped example, unless it has been reported already.

        Raises:
            Exception: The failure itself, if the budget is exceeded.
        """
        judge = self._judges[event.skipper]
        self._is_settled = False
        if isinstance(event, (engine.PassEnd, NodePassEnd)):
            judge.end_pass(event)
            return
        stage = self._names[event.stage]
        key = (list(self._judges).index(event.skipper), _key(event, stage))
        if event.row_id is not None and key in self._reported:
            return
        self._reported.add(key)
        self._keys.append(key)
        self.skipped.append(_skipped(event, stage))
        judge.add(event)

    def settle(self) -> None:
        """Marks the examples skipped so far as preceding the next batch to return."""
        if not self._is_settled:
            judges = [[one.rows, one.next_pass, one.is_open] for one in self._judges.values()]
            self._settled = (len(self.skipped), judges)
            self._is_settled = True

    def state(self) -> list[Any]:
        """Returns the examples skipped before the last batch that was returned, as plain data."""
        count, judges = self._settled
        if not judges:
            return []
        skipped = self.skipped[:count]
        named = (text for one in skipped for text in (one.file, one.stage) if text is not None)
        texts = {text: number for number, text in enumerate(dict.fromkeys(named))}
        entries = [
            [
                *key,
                None if one.file is None else texts[one.file],
                one.record_number,
                one.offset_bytes,
                texts[one.stage],
                one.reason,
                one.num_lost,
            ]
            for key, one in zip(self._keys, skipped, strict=False)
        ]
        return [list(texts), entries, judges]

    def restore(self, state: Sequence[Any]) -> None:
        """Restores another report's state. `is_report` must have checked it.

        Raises:
            ValueError: If the pipeline has different stages.
        """
        if not state and not self._judges:
            return
        if not state or len(state[2]) != len(self._judges):
            raise ValueError("the state was saved by a pipeline with different skip_errors stages")
        texts, entries, judges = state
        for judge, (rows, next_pass, is_open) in zip(self._judges.values(), judges, strict=True):
            judge.rows, judge.next_pass, judge.is_open = rows, next_pass, bool(is_open)
        judging = list(self._judges.values())
        for judge in judging:
            judge.count = 0
        for ordinal, key, file, record, offset, stage, reason, lost in entries:
            self._keys.append((ordinal, key))
            name = None if file is None else texts[file]
            self.skipped.append(Skipped(name, record, offset, texts[stage], reason, lost))
            judging[ordinal].count += 1 if lost is None else lost
        self._reported.update(self._keys)
        self._is_settled = False
        self.settle()

    def finish(self) -> None:
        """Checks the budgets at the end of the data.

        Raises:
            SkippedExamples: If a larger fraction was skipped than the budget allows, or if any
                example was skipped and `raises_at_end` is set.
        """
        for judge in self._judges.values():
            excess = judge.excess()
            if excess is None and judge.stage.raises_at_end and judge.count:
                excess = _left_out(judge.count)
            if excess is not None:
                raise SkippedExamples(f"skip_errors: {excess}: {self._summary()}", self.skipped)

    def _summary(self) -> str:
        """Describes how many examples each stage skipped, and each stage's first one."""
        counts = Counter(one.stage for one in self.skipped)
        first = {one.stage: one for one in reversed(self.skipped)}
        return "; ".join(
            f"{count} by {stage}, starting with {first[stage]}" for stage, count in counts.items()
        )


def _skipped(failure: "engine.Failure | NodeSkip", stage: str) -> Skipped:
    file = None if failure.file is None else without_passwords(os.fsdecode(failure.file))
    reason = failure.reason
    if failure.ends_file:
        lost = failure.num_lost
        rest = "" if lost == 1 else f", {_about(lost)},"
        reason = f"{reason.rstrip('.')}. The rest of the file{rest} was not read."
    return Skipped(file, failure.record, failure.offset_bytes, stage, reason, failure.num_lost)


def _about(lost: int | None) -> str:
    if lost is None:
        return "an unknown number of records"
    return f"about {lost} records, judging by the length of the earlier ones"


def _key(failure: "engine.Failure | NodeSkip", stage: str) -> int:
    """Returns a key for a failure. It is the same in every process.

    Row IDs are the same in all parts before a cache, so the key includes the stage number.
    """
    text = f"{failure.stage} {stage} {failure.file!r} {failure.row_id}"
    return int.from_bytes(sha256(text.encode()).digest()[:_KEY_BYTES], "big")


def is_report(state: object) -> bool:
    """Returns whether a value has the structure of a report's state."""
    match state:
        case []:
            return True
        case [list() as texts, list() as entries, list() as judges]:
            return (
                all(isinstance(text, str) for text in texts)
                and all(_is_entry(entry, len(texts), len(judges)) for entry in entries)
                and all(_is_judge(judge) for judge in judges)
            )
    return False


def _is_entry(entry: object, num_texts: int, num_judges: int) -> bool:
    match entry:
        case [int() as ordinal, int() as key, file, record, offset, int() as stage, str(), lost]:
            numbers = [number for number in (record, offset, file, lost) if number is not None]
            return (
                ordinal in range(num_judges)
                and stage in range(num_texts)
                and (file is None or file in range(num_texts))
                and all(isinstance(number, int) and 0 <= number < 2**63 for number in numbers)
                and 0 <= key < 1 << 8 * _KEY_BYTES
            )
    return False


def _is_judge(judge: object) -> bool:
    match judge:
        case [int() as rows, int() as next_pass, bool()]:
            return 0 <= rows < 2**63 and 0 <= next_pass < 2**63
    return False
