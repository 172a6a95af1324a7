"""Workloads and the programs that do them.

A file of `benchmarks/workloads` describes a workload and has a function for each library. These
functions import their library themselves: each runs in an environment that has no other one.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent

LIMIT = "limit"
"""The key of the native loop that the others are compared with."""
BY_HAND = "alone"
"""The key of a loop without a library for loading."""

NO_GPU = {"CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONWARNINGS": "ignore"}

Function = Callable[..., Iterable[Any]]
"""Returns the batches of some data, read a number of times."""


@dataclass(frozen=True)
class Part:
    """Some files of a data set.

    Attributes:
        files: Their names, relative to the directory of the data set.
        count: How many examples they hold.
        sums: What `Workload.sums_of` adds up over them, after the count.
    """

    files: Sequence[str]
    count: int
    sums: Sequence[int]


@dataclass(frozen=True)
class Program:
    """A program that does a workload.

    Attributes:
        key: Its name on the command line.
        title: Its row in the table.
        setting: How it is set up, for the reader of the table.
        environment: A key of `benchmarks.environments.REQUIREMENTS`; None for our own environment.
        function: Returns its batches; None for a native loop and for a command.
        imports: The modules that are imported before the clock starts.
        options: Arguments of the function.
        native: The native loop's name for the work.
        command: The interpreter's arguments before how often and what is read, if not ours.
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
    """A job that several programs do.

    Attributes:
        module: The module that describes it, its `__name__`.
        name: As on the command line.
        task: What its data and its programs are called.
        title: What has to be done.
        unit: What is counted.
        sums_of: Returns the number of examples of a batch, and sums over them that change if an
            example is lost, doubled or mixed up.
        count: How many examples the whole data set has; of work without data, how many are made.
        expected_rate: Of work without data, about how many examples a second its programs make.
        make: Writes so many into a directory and returns the parts; None for work without data.
        num_epochs: How often each program reads the data; None for as often as takes it a while.
        min_parts: If `num_epochs` is None, how many parts a program reads at least: several times
            what waits in the shuffle, so that its running empty at the end doesn't count.
        num_parts: If `num_epochs` is None, how many parts each program reads; None for as many as
            take it a while.
        is_steady: Whether the rate leaves out the begin and the end of a run.
        tolerances: How far each sum may be off, as a part of it; without any, not at all.
        variables: Of the programs' environment.
        ours: The key of the program that the last ratio compares with.
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

        It is called with what it reads and how often: a list of files if `num_epochs` is None, else
        the directory of the data, or the task of work without data.

        Args:
            key: As of `Program`, like all that follow.
            title: See there.
            setting: See there.
            environment: See there.
            imports: See there.
            options: See there.
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
        """Adds a loop of `benchmarks/limits`."""
        self.programs.append(Program(key, title, setting, native=native))

    def tensorflow1(self, key: str, title: str, setting: str) -> Callable[[Function], Function]:
        """Adds a program with TensorFlow 1's names, once under headrace and once under TensorFlow.

        Its function is called with the module `tf` before the rest, and returns the tensors of a
        batch.
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
        """Returns the programs whose keys begin with one of some prefixes, or all without any."""
        return [
            program
            for program in self.programs
            if not prefixes or program.key.startswith(tuple(prefixes))
        ]

    def difference(self, expected: Sequence[int], got: Sequence[int]) -> str:
        """Returns what is wrong with what came out of a run; nothing if it is right.

        Args:
            expected: The number of examples, then the sums over the data; there may be more.
            got: The number of examples that came, then their sums.
        """
        expected = expected[: len(got)]
        tolerances = [0.0, *(self.tolerances or [0.0] * len(got))]
        pairs = zip(expected, got, tolerances, strict=False)
        if all(abs(value - right) <= tolerance * right for right, value, tolerance in pairs):
            return ""
        return f"{self.unit} were lost, doubled or changed: {list(got)}, expected {list(expected)}"


def tensorflow1_of(library: str) -> Any:
    """Returns the module `tf` of headrace or of TensorFlow."""
    if library == "headrace":
        import headrace.tf1 as tf
    else:
        import tensorflow.compat.v1 as tf

        tf.disable_v2_behavior()
    return tf


def batches_of(tf: Any, batch: Any) -> Iterable[Any]:
    """Yields what a session fetches until the input ends: where a user's training would stand."""
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
