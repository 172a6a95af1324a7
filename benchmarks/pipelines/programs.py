"""All programs of the benchmarks, each set up as well as we know how."""

from collections.abc import Sequence

from benchmarks.pipelines.checksums import CHECKSUMS
from benchmarks.pipelines.contenders import Program
from benchmarks.pipelines.workloads import Workload

LIMIT = "limit"
"""The key of what all others are compared with."""

ALL = list(CHECKSUMS)
WITHOUT_PHOTOS = [task for task in CHECKSUMS if task != "photos"]
WITHOUT_NUMBERS = [task for task in CHECKSUMS if task != "numbers"]
CIFAR = ["augmented_images", "images"]

SAME = "one example at a time, as TensorFlow 1's guide writes it; `num_threads=4`"
PIPELINE = "`import headrace as hr`, one thread for each core; photos are decoded at full size"
BEST = (
    "`read_up_to`, 128 to 1,024 at a time; two readers; what is left is done for whole batches; "
    "under headrace W2 crops and mirrors bytes one image at a time"
)
HALF = "photos are decoded at half of their size (`ratio=2`); two threads"
BY_HAND = "parsed and shuffled by hand, with NumPy, protobuf, simplejpeg and OpenCV, pyarrow"

NO_GPU = {"CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONWARNINGS": "ignore"}


def _native(
    key: str, title: str, tasks: Sequence[str], setting: str, variant: str | None
) -> Program:
    return Program(key, title, None, None, tasks, setting, variant=variant)


def _queues(key: str, title: str, source: str, tasks: Sequence[str], setting: str) -> list[Program]:
    """A program with the names of TensorFlow 1, under headrace and under TensorFlow."""
    ours = Program(f"headrace{key}", f"headrace, {title}", source, None, tasks, setting)
    theirs = Program(
        f"tensorflow{key}",
        f"TensorFlow 1 queues, {title}",
        source,
        "tensorflow",
        tasks,
        setting,
        arguments=["--tensorflow"],
        variables=NO_GPU,
    )
    return [ours, theirs]


def _library(
    key: str,
    title: str,
    source: str,
    environment: str,
    tasks: Sequence[str],
    setting: str,
    arguments: Sequence[str] = (),
) -> Program:
    return Program(
        key,
        title,
        f"libraries.{source}",
        environment,
        tasks,
        setting,
        arguments=arguments,
        variables=NO_GPU,
    )


PROGRAMS = [
    _native(LIMIT, "limit of the machine", ALL, "a native loop on all cores", None),
    _native("limit-half", "limit, at half size", ["photos"], HALF, "photos_half"),
    _native("limit-decode", "libjpeg-turbo alone", ["photos"], "no resize", "photos_decoded"),
    Program("headrace-pipeline", "headrace, a pipeline", "pipeline", None, ALL, PIPELINE),
    Program(
        "headrace-pipeline-arrow",
        "headrace, a pipeline, Arrow strings",
        "pipeline",
        None,
        ["lines"],
        f'{PIPELINE}; `options(strings="arrow")`',
        arguments=["--arrow"],
    ),
    *_queues("", "the TensorFlow 1 program", "tf1", ALL, SAME),
    *_queues("-best", "best program", "best", WITHOUT_PHOTOS, BEST),
    *_queues("-best", "at half size", "best", ["photos"], HALF),
    _library(
        "tf.data",
        "tf.data",
        "tfdata",
        "tensorflow",
        ALL,
        "`AUTOTUNE`, in any order; what is raw is shuffled, whole batches are parsed",
    ),
    _library(
        "tf.data-half",
        "tf.data, at half size",
        "tfdata",
        "tensorflow",
        ["photos"],
        "`AUTOTUNE`, in any order; `ratio=2`",
        ["--half"],
    ),
    _library(
        "numpy", "NumPy alone", "numpy_only", "numpy", WITHOUT_NUMBERS, f"one thread; {BY_HAND}"
    ),
    _library(
        "torch-workers",
        "PyTorch, two workers",
        "pytorch",
        "torch",
        WITHOUT_NUMBERS,
        f"`DataLoader(num_workers=2, prefetch_factor=4)`; {BY_HAND}",
        ["--workers", "2"],
    ),
    _library(
        "torch-alone",
        "PyTorch, no workers",
        "pytorch",
        "torch",
        WITHOUT_PHOTOS,
        f"`DataLoader(num_workers=0)`; {BY_HAND}",
        ["--workers", "0"],
    ),
    _library(
        "spdl", "SPDL", "spdl", "spdl", WITHOUT_NUMBERS, f"two threads, a sink of 8; {BY_HAND}"
    ),
    _library(
        "grain",
        "Grain",
        "grain",
        "grain",
        ["examples", *CIFAR, "photos"],
        f"two threads; digits from ArrayRecord, shuffled as a whole; {BY_HAND}",
    ),
    _library(
        "webdataset",
        "WebDataset",
        "webdataset",
        "torch",
        ["examples", "photos"],
        f"two workers; tar files; {BY_HAND}",
    ),
    _library(
        "datasets",
        "Hugging Face datasets",
        "huggingface",
        "datasets",
        ["examples"],
        "an Arrow table, `to_iterable_dataset(8).shuffle(buffer_size=10000)`; NumPy for batches",
    ),
    _library(
        "polars",
        "polars",
        "tables",
        "polars",
        ["numbers"],
        "`read_csv`, a file at a time; NumPy shuffles",
        ["--polars"],
    ),
    _library(
        "pyarrow",
        "pyarrow",
        "tables",
        "polars",
        ["numbers"],
        "`open_csv` with threads; NumPy shuffles",
    ),
]


def programs_for(workload: Workload, prefixes: Sequence[str]) -> list[Program]:
    """Returns the programs that do a workload and whose keys begin with one of some prefixes."""
    return [
        program
        for program in PROGRAMS
        if workload.task in program.tasks
        and (not prefixes or program.key.startswith(tuple(prefixes)))
    ]
