"""Workloads and their programs.

Each file in `benchmarks/workloads` describes a workload and has a function for each library. The
functions import their libraries themselves, because each runs in an environment without the other
libraries.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent

LIMIT = "limit"
"""The key of the native loop with which other programs are compared."""
BY_HAND = "alone"
"""The key of a loop without a data-loading library."""

NO_GPU = {"CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONWARNINGS": "ignore"}

Function = Callable[..., Iterable[Any]]
"""A function from data and a number of passes to batches."""


@dataclass(frozen=True)
class Part:
    """Some files of a data set.

    Attributes:
        files: The file names, relative to the data set's directory.
        count: The number of examples in the files.
        sums: The sums of `Workload.sums_of` over the examples, without the count.
    """

    files: Sequence[str]
    count: int
    sums: Sequence[int]


@dataclass(frozen=True)
class Program:
    """A program for a workload.

    Attributes:
        key: Its name on the command line.
        title: The label of its table row.
        setting: Its configuration, for readers of the table.
        environment: A key of `benchmarks.environments.REQUIREMENTS`. None for our own environment.
        function: Returns its batches. None for native loops and commands.
        imports: The modules to import before the clock starts.
        options: The function's keyword arguments.
        native: The native loop's name for the workload.
        command: Custom interpreter arguments, followed by the number of epochs and the paths.
    """

    key: str
    title: str
    setting: str
    environment: str | None = None
    function: Function | None = None
    imports: Sequence[str] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    native: str = ""
    command: Sequence[str] = ()


@dataclass(frozen=True)
class Workload:
    """A task that several programs perform.

    Attributes:
        module: The `__name__` of the module that describes it.
        name: Its name on the command line.
        task: The name of its data and its programs.
        title: A short description of the task.
        unit: What is counted.
        sums_of: Returns the number of examples in a batch, and sums over them. The sums change if
            an example is lost, duplicated or mixed up.
        count: The number of examples in the whole data set, or to produce if there is no data.
        expected_rate: The approximate rate of the programs, for workloads without data.
        make: Writes a number of examples to a directory and returns the parts. None for workloads
            without data.
        num_epochs: The number of times each program reads the data. None to read for a while.
        min_parts: If `num_epochs` is None, the minimum number of parts to read. It should be
            several times the size of the shuffle window, so that draining the window at the end
            doesn't matter.
        num_parts: If `num_epochs` is None, the number of parts that each program reads. None to
            read for a while.
        is_steady: Whether the rate excludes the beginning and the end of a run.
        tolerances: The relative tolerance of each sum. If empty, the sums must be exact.
        variables: Environment variables for the programs.
        ours: The key of the program used as the reference for the last ratio.
        programs: The programs.
    """

    module: str
    name: str
    task: str
    title: str
    unit: str
    sums_of: Callable[[Any], list[int]]
    count: int
    make: Callable[[Path, int], list[Part]] | None = None
    expected_rate: int = 0
    num_epochs: int | None = None
    min_parts: int = 1
    num_parts: int | None = None
    is_steady: bool = False
    tolerances: Sequence[float] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    ours: str = "headrace"
    programs: list[Program] = field(default_factory=list)

    def program(
        self,
        key: str,
        title: str,
        setting: str,
        environment: str | None = None,
        imports: Sequence[str] = (),
        **options: Any,
    ) -> Callable[[Function], Function]:
        """Adds a function as a program.

        The function is called with its input and the number of epochs. The input is a list of files
        if `num_epochs` is None, otherwise the data directory, or the task of a workload without
        data.

        Args:
            key: See `Program`.
            title: See `Program`.
            setting: See `Program`.
            environment: See `Program`.
            imports: See `Program`.
            options: See `Program`.
        """

        def add(function: Function) -> Function:
            program = Program(key, title, setting, environment, function, imports, options)
            self.programs.append(program)
            return function

        return add

    def limit(
        self,
        native: str,
        key: str = LIMIT,
        title: str = "limit of the machine",
        setting: str = "a native loop on all cores",
    ) -> None:
        """Adds a native loop from `benchmarks/limits`."""
        self.programs.append(Program(key, title, setting, native=native))

    def tensorflow1(self, key: str, title: str, setting: str) -> Callable[[Function], Function]:
        """Adds a program with TensorFlow 1's names, once for headrace and once for TensorFlow.

        Its function is called with the module `tf` as the first argument, and returns a batch's
        tensors.
        """

        def add(function: Function) -> Function:
            def fetched(files: list[str], num_epochs: int, library: str) -> Iterable[Any]:
                tf = tensorflow1_of(library)
                return batches_of(tf, function(tf, files, num_epochs))

            for library, name, environment in (
                ("headrace", "headrace", None),
                ("tensorflow", "TensorFlow 1 queues", "tensorflow"),
            ):
                self.program(
                    f"{library}{key}", f"{name}, {title}", setting, environment, library=library
                )(fetched)
            return function

        return add

    def chosen(self, prefixes: Sequence[str]) -> list[Program]:
        """Returns the programs whose keys begin with one of the prefixes. No prefixes mean all."""
        return [
            program
            for program in self.programs
            if not prefixes or program.key.startswith(tuple(prefixes))
        ]

    def difference(self, expected: Sequence[int], got: Sequence[int]) -> str:
        """Returns a description of the error in a run's output, or "" if it is correct.

        Args:
            expected: The number of examples, followed by the sums over the data. May be longer than
                `got`.
            got: The actual number of examples, followed by their sums.
        """
        expected = expected[: len(got)]
        tolerances = [0.0, *(self.tolerances or [0.0] * len(got))]
        pairs = zip(expected, got, tolerances, strict=False)
        if all(abs(value - right) <= tolerance * right for right, value, tolerance in pairs):
            return ""
        return f"{self.unit} were lost, doubled or changed: {list(got)}, expected {list(expected)}"


def tensorflow1_of(library: str) -> Any:
    """Returns headrace's or TensorFlow's module `tf`."""
    if library == "headrace":
        import headrace.tf1 as tf
    else:
        import tensorflow.compat.v1 as tf

        tf.disable_v2_behavior()
    return tf


def batches_of(tf: Any, batch: Any) -> Iterable[Any]:
    """Yields the fetched batches until the input ends, in place of a user's training loop."""
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        try:
            while not coord.should_stop():
                yield session.run(batch)
        except tf.errors.OutOfRangeError:
            pass
        finally:
            coord.request_stop()
        coord.join(threads)
