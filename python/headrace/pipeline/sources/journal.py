"""`journal`: the rows of a journal that other processes may still be writing."""

import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final

from headrace.core import engine
from headrace.pipeline.journals.arrivals import Grouping
from headrace.pipeline.journals.columns import Shapes, group_shapes, group_specs, shapes_of
from headrace.pipeline.journals.directory import Description, JournalDirectory, directory_of
from headrace.pipeline.journals.order import OrderLog
from headrace.pipeline.journals.reader import JournalReader, wait_for_description
from headrace.pipeline.journals.worker import JournalWorker
from headrace.pipeline.stages.arguments import checked_int, checked_names, checked_seconds
from headrace.pipeline.stages.source import Origin, Source, SourcePlanning
from headrace.pipeline.stages.stage import named
from headrace.pipeline.values.types import Json, Specs

__all__ = ["JournalRows", "journal"]

# The first group is enough to learn which shapes vary.
_FIRST_GROUP_BYTES: Final = 1


@dataclass(frozen=True)
class JournalRows(Source):
    """A journal's rows, or groups of them.

    Attributes:
        directory: The directory of the journal.
        group: The component whose value the rows of a group share, or None for single rows.
        group_size: The number of rows in a group, or None for single rows.
        max_age: How many versions old a row may be, or None for any age.
        poll_s: How often to look for new rows, in seconds.
        ragged: The components whose shape varies between the rows of a group, in addition to those
            whose shape varies in the first group.
    """

    directory: str
    group: str | None = named(None)
    group_size: int | None = named(None)
    max_age: int | None = named(None)
    poll_s: float = field(default=0.5, compare=False, metadata={"is_named": True})
    ragged: tuple[str, ...] = field(default=(), compare=False, metadata={"is_named": True})

    origin: ClassVar = Origin.JOURNAL

    @property
    def name(self) -> str:
        """The source's name in messages."""
        return "journal"

    @property
    def spec(self) -> None:
        """None, because the components are set by the first append."""
        return None

    @property
    def is_growing(self) -> bool:
        """True, because other processes may append rows."""
        return True

    @property
    def obstacle(self) -> str:
        """The reason why examples cannot be accessed at random."""
        return "journal yields its examples only in the order in which they arrive"

    @property
    def is_reordered(self) -> bool:
        """False, because the order of arrival is fixed."""
        return False

    @property
    def reads_on_request(self) -> bool:
        """Whether examples must not be read ahead, because they could become too old."""
        return self.max_age is not None

    def window_pieces(self, block_bytes: int | None) -> list[str]:
        """Returns an empty list, because no pieces are reordered."""
        return []

    def counts(self) -> None:
        """Returns None, because more rows may arrive."""

    @property
    def _files(self) -> JournalDirectory:
        return JournalDirectory(self.directory)

    @property
    def _grouping(self) -> Grouping:
        return Grouping(self.group, self.group_size or 1, self.max_age)

    def inferred(self) -> Specs | None:
        """Waits for the first rows, and returns the components of an example.

        Returns None if all writers have closed the journal without appending anything.
        """
        description = wait_for_description(self._files, self.poll_s)
        if description is None:
            return None
        if self.group is None:
            return description.specs
        self._check_group(description)
        shapes = self._shapes(description)
        return group_specs(description.specs, self._grouping.size, shapes)

    def _check_group(self, description: Description) -> None:
        """Raises ValueError if the rows cannot be grouped by the component, or names are wrong."""
        specs = description.specs
        for what, name in (("group", self.group), *(("ragged", name) for name in self.ragged)):
            if name not in specs:
                raise ValueError(
                    f"journal: {what} is {name!r}, but the rows of {self.directory} have the "
                    f"components {', '.join(map(repr, specs))}."
                )
        spec = specs[self.group or ""]
        is_key = spec.shape == () and spec.dtype is not Json
        if not is_key or (not isinstance(spec.dtype, type) and spec.dtype.kind in "fcV"):
            raise ValueError(
                f"journal: group is {self.group!r}, which is {spec}, expected an integer, a "
                "string or bytes in each row."
            )

    def _shapes(self, description: Description) -> Shapes:
        """Returns the shapes that the rows of a group share.

        These are the shapes recorded with the order of arrival, or else the first group's shapes.
        """
        shapes = self._recorded_shapes(description)
        if shapes is None:
            reader = JournalReader(
                self._files,
                description,
                self._grouping,
                {},
                self.poll_s,
                threading.Event(),
                is_recorded=False,
            )
            try:
                reader.start(None)
                block = reader.next_block(_FIRST_GROUP_BYTES)
            finally:
                reader.close()
            shapes = {} if block is None else group_shapes(block.parts, description.specs)
        return {**shapes, **dict.fromkeys(self.ragged)}

    def _recorded_shapes(self, description: Description) -> Shapes | None:
        orders = self._files.orders()
        if not orders:
            return None
        log = OrderLog(self._files, description.number)
        try:
            log.open(orders[-1])
            first = log.read()
        finally:
            log.close()
        shapes: Shapes | None = None if first is None else first.content["shapes"]
        return shapes

    def source_plan(self, planning: SourcePlanning) -> engine.Plan:
        """Returns the plan that produces the examples."""
        # Nothing was appended if there are no components.
        description = self._files.description() if planning.specs else None
        if description is not None:
            planning.add_files([os.fsencode(description.path)])
        shapes = None if self.group is None else shapes_of(planning.specs)
        worker = JournalWorker(
            self._files,
            description,
            self._grouping,
            shapes,
            self.poll_s,
            is_recorded=not planning.is_learning,
        )
        return engine.Plan.python_source(planning.python_worker(worker))


def journal(
    directory: str | os.PathLike[str],
    group: str | None = None,
    group_size: int | None = None,
    max_age: int | None = None,
    poll_s: float = 0.5,
    ragged: Sequence[str] = (),
) -> JournalRows:
    """Yields the rows that other processes append to a journal, as they append them.

    Rows are appended with `hr.Journal`. The order in which they arrive is recorded in the journal
    before they are delivered. So if you resume, or iterate from the beginning again, you get the
    same examples in the same order. All ranks that read the journal follow the same order. Use
    `shard` to divide the examples among them.

    The iteration waits for new rows until all writers have closed the journal, or their processes
    have ended. If no process has opened the journal yet, it waits for the first one.

    Args:
        directory: The directory of the journal.
        group: A component, such as "prompt_id". `group_size` rows with the same value become one
            example, whose components have one more axis. The group is yielded once its last row has
            arrived. Components whose shape varies between rows become lists of arrays. Rows of
            incomplete groups are left out at the end. `statistics()` counts them.
        group_size: The number of rows in a group.
        max_age: The maximum age of a row. After `batches.set_version(n)`, rows whose version is
            less than `n - max_age` are dropped. `statistics()` counts them. Examples are then read
            only when your loop requests them, so they cannot become too old while they wait.
        poll_s: How often to look for new rows, in seconds. Reading starts at shorter intervals,
            which become longer while no rows arrive.
        ragged: Components that become lists in groups, even if their shape does not vary in the
            first group.

    Raises:
        TypeError: If an argument has the wrong type, or only one of `group` and `group_size` is
            set.
        ValueError: If a number is out of range or not an int, or the directory is a URL.

    Examples:
        >>> with hr.Journal("answers") as answers:
        ...     for answer in range(6):
        ...         answers.append([{"prompt": answer % 3, "reward": answer / 2}])
        >>> for example in hr.journal("answers", group="prompt", group_size=2):
        ...     print(example)
        {'prompt': array([0, 0]), 'reward': array([0. , 1.5])}
        {'prompt': array([1, 1]), 'reward': array([0.5, 2. ])}
        {'prompt': array([2, 2]), 'reward': array([1. , 2.5])}
    """
    if (group is None) != (group_size is None):
        raise TypeError(
            f"journal: group is {group!r} and group_size is {group_size!r}, but either both or "
            "neither must be set."
        )
    if group is not None and not isinstance(group, str):
        raise TypeError(f"journal: group is {group!r}, expected the name of a component.")
    if group_size is not None:
        checked_int("journal", "group_size", group_size, 1)
    if max_age is not None:
        checked_int("journal", "max_age", max_age, 0)
    if isinstance(ragged, str):
        raise TypeError(f"journal: ragged is {ragged!r}, expected a list of strings.")
    path = directory_of("journal", directory)
    seconds = checked_seconds("poll_s", poll_s, "journal")
    names = tuple(checked_names("journal", ragged)) if ragged else ()
    return JournalRows(path, group, group_size, max_age, seconds, names)
