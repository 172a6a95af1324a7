"""Methods of a pipeline that change examples one by one."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

from headrace.pipeline.describe import stages
from headrace.pipeline.describe.arguments import (
    check_function,
    checked_int,
    checked_names,
    checked_num_callers,
)
from headrace.pipeline.describe.features import as_feature
from headrace.pipeline.describe.methods.chain import Chain
from headrace.pipeline.describe.source import Source
from headrace.pipeline.describe.specs import batch_depth

__all__ = ["ExampleMethods"]


class ExampleMethods(Chain):
    """Stages that replace each example by other examples, or by none."""

    __slots__ = ()

    def parse(self, features: Mapping[str, Any]) -> Self:
        """Parses the component `record` as an `Example`, and replaces it by its features.

        Args:
            features: For each feature its type, for a scalar; or a `Feature`, or a `Ragged`; or
                TensorFlow 1's `FixedLenFeature`, `VarLenFeature` and `FixedLenSequenceFeature` of
                scalars, which are lists. An `Example` holds int64, float32 and bytes. A warning
                names each list that none of the first 1,000 records has.

        Raises:
            TypeError: If a feature does not have a type that an `Example` holds.
            ValueError: If there are no features, there is no component `record`, or a name is
                taken.
        """
        if not isinstance(features, Mapping) or not all(isinstance(n, str) for n in features):
            raise TypeError(
                f"parse: features are {features!r}, expected a dict of types, such as "
                "{'image': bytes, 'label': int}."
            )
        if not features:
            raise ValueError("parse: no features given, expected at least one.")
        chosen = tuple((name, as_feature(name, feature)) for name, feature in features.items())
        return self._then(stages.Parse(chosen))

    def map(
        self,
        function: Callable[..., Mapping[str, Any]],
        seed: int | None = None,
        num_threads: int = 1,
        num_processes: int = 0,
    ) -> Self:
        """Replaces each example (after `batch` each batch) by a function's result for it.

        The function gets a dict of NumPy scalars, `bytes` and `str` objects and read-only arrays,
        and returns a dict of such values, with the same names for each example. It is called in
        order, in a separate thread, or by several threads at the same time; results come in order
        all the same. The components that it returns are learned from the first example, in an extra
        call if `spec` is used before an iteration begins and no `cache` follows.

        It may return Python values too, and nothing is rounded: `bool` becomes bool, `int` int64,
        `float` float64 (write `np.float32(x)` for less), alone or in lists whose items have equal
        lengths. An empty list gets the type that the component has in other examples.

        Args:
            function: The function, called for each example, or for each batch.
            seed: With a seed, from 0 to 2^63 - 1, the function gets a `numpy.random.Generator` as
                its second argument. Its draws depend only on the seed, the epoch and the position
                of the example in its source (after `batch` the number of the batch). Two functions
                with one seed get the same draws. A generator that the function keeps continues the
                draws of its example.
            num_threads: The number of threads that call the function at the same time; it must be
                safe to call from several threads then. That helps where it releases Python's global
                lock, as OpenCV, Pillow and NumPy do for large arrays. A state serves any number.
            num_processes: The number of processes that call the function, in place of threads of
                this one; 0 for none. That helps where it holds Python's lock. Arrays and strings go
                there and back through shared memory. Other processes must be able to import the
                function, or cloudpickle must be installed (the extra `processes`).

        Raises:
            TypeError: If the function cannot be called with an example, and with a generator if
                there is a seed.
            ValueError: If `seed` or `num_threads` is out of range, or `num_threads` is more than 1
                for a native function or one that keeps a state.
        """
        chosen = None if seed is None else checked_int("map", "seed", seed, 0)
        check_function("map", function, seed is not None)
        callers = checked_num_callers("map", function, num_threads, num_processes)
        return self._then(stages.Map(function, chosen, *callers))

    def with_origin(self) -> Self:
        """Adds the origin of each example: `file`, its path, and `record_number`, from 0.

        Raises:
            ValueError: If it does not come right after a source of files, or there is a component
                of one of these names.
        """
        if len(self.stages) > 1 or not isinstance(self.stages[0], (stages.Files, Source)):
            raise ValueError(
                f"with_origin: it follows {self.stages[-1].name}, expected a source of files right "
                "before it. Write it after the source."
            )
        return self._then(stages.WithOrigin())

    def filter(
        self,
        function: Callable[[dict[str, Any]], object],
        num_threads: int = 1,
        num_processes: int = 0,
    ) -> Self:
        """Keeps the examples for which a function returns true. It is called as in `map`.

        Args:
            function: The function to call for each example, or for each batch.
            num_threads: As for `map`: how many threads call it.
            num_processes: As for `map`: how many processes call it.

        Raises:
            TypeError: If it cannot be called.
            ValueError: If `num_threads` is refused, as by `map`.
        """
        check_function("filter", function)
        callers = checked_num_callers("filter", function, num_threads, num_processes)
        return self._then(stages.Filter(function, *callers))

    def flat_map(
        self,
        function: Callable[..., Iterable[Mapping[str, Any]]],
        seed: int | None = None,
        num_threads: int = 1,
        num_processes: int = 0,
    ) -> Self:
        """Replaces each example by all those that a function returns or yields for it.

        Args:
            function: The function, called for each example; its values are as for `map`.
            seed: As for `map`: with a seed, the function gets a generator as its second argument.
            num_threads: As for `map`: how many threads call it.
            num_processes: As for `map`: how many processes call it.

        Raises:
            TypeError: If it cannot be called.
            ValueError: After `batch`, or if `seed` is out of range, or `num_threads` is refused.
        """
        chosen = None if seed is None else checked_int("flat_map", "seed", seed, 0)
        check_function("flat_map", function, seed is not None)
        if batch_depth(self.stages):
            raise ValueError("flat_map: it follows a batch, expected examples. Use unbatch before.")
        callers = checked_num_callers("flat_map", function, num_threads, num_processes)
        return self._then(stages.FlatMap(function, chosen, *callers))

    def select(self, *names: str) -> Self:
        """Keeps the components of these names, in this order.

        Raises:
            TypeError: If one is not a string.
            ValueError: If there are no names, a name occurs twice, or there is no component of a
                name.
        """
        return self._then(stages.Select(checked_names("select", names)))

    def rename(self, **names: str) -> Self:
        """Renames components: after `rename(old="new")` the component `old` is called `new`.

        The old name comes first, as in pandas, polars and xarray. For a name that is not an
        identifier write `rename(**{"old name": "new"})`.

        Raises:
            TypeError: If a new name is not a string.
            ValueError: If there are no names, there is no component of an old name, or two
                components would have the same name.
        """
        checked_names("rename", names.values())
        return self._then(stages.Rename(tuple(names.items())))
