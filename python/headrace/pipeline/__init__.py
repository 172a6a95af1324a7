"""Pipelines convert files to batches. The order depends only on the description.

A source such as `tfrecords` or `text_lines` returns a `Pipeline`, whose methods add stages. A
pipeline is only a description. Iterating over it starts threads and yields `Batches`. Names are
imported when they are first used, because a worker process needs only a few modules.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.pipeline.functions.torch_generator import torch_generator
    from headrace.pipeline.journals.writer import Journal
    from headrace.pipeline.pipeline import Pipeline
    from headrace.pipeline.run.batches import Batches
    from headrace.pipeline.run.profile import Profile
    from headrace.pipeline.run.progress import Progress
    from headrace.pipeline.run.skipped import Skipped
    from headrace.pipeline.run.statistics import StageStatistics, Statistics
    from headrace.pipeline.source_functions import (
        arrays,
        arrow,
        audio_folder,
        coco,
        concat,
        csv,
        files,
        fixed_length_records,
        image_folder,
        indexed,
        iterable,
        journal,
        json_array,
        json_lines,
        lerobot,
        mix,
        parquet,
        pascal_voc,
        text_lines,
        tfds,
        tfrecords,
        tokens,
        video_folder,
        videos,
        webdataset,
        yolo,
        zip,
    )
    from headrace.pipeline.values.types import Feature, Json, Nullable, Ragged, Spec
    from headrace.pipeline.views.examples import Examples
    from headrace.pipeline.views.value_statistics import ComponentStatistics, ValueStatistics

__all__ = [
    "Batches",
    "ComponentStatistics",
    "Examples",
    "Feature",
    "Journal",
    "Json",
    "Nullable",
    "Pipeline",
    "Profile",
    "Progress",
    "Ragged",
    "Skipped",
    "Spec",
    "StageStatistics",
    "Statistics",
    "ValueStatistics",
    "arrays",
    "arrow",
    "audio_folder",
    "coco",
    "concat",
    "csv",
    "files",
    "fixed_length_records",
    "image_folder",
    "indexed",
    "iterable",
    "journal",
    "json_array",
    "json_lines",
    "lerobot",
    "mix",
    "parquet",
    "pascal_voc",
    "text_lines",
    "tfds",
    "tfrecords",
    "tokens",
    "torch_generator",
    "video_folder",
    "videos",
    "webdataset",
    "yolo",
    "zip",
]
# The module that defines each name.
_HOMES = {
    "Batches": "run.batches",
    "ComponentStatistics": "views.value_statistics",
    "Examples": "views.examples",
    "Feature": "values.types",
    "Journal": "journals.writer",
    "Json": "values.types",
    "Nullable": "values.types",
    "Pipeline": "pipeline",
    "Profile": "run.profile",
    "Progress": "run.progress",
    "Ragged": "values.types",
    "Skipped": "run.skipped",
    "Spec": "values.types",
    "StageStatistics": "run.statistics",
    "Statistics": "run.statistics",
    "ValueStatistics": "views.value_statistics",
    "arrays": "source_functions",
    "arrow": "source_functions",
    "audio_folder": "source_functions",
    "coco": "source_functions",
    "concat": "source_functions",
    "csv": "source_functions",
    "files": "source_functions",
    "fixed_length_records": "source_functions",
    "image_folder": "source_functions",
    "indexed": "source_functions",
    "iterable": "source_functions",
    "journal": "source_functions",
    "json_array": "source_functions",
    "json_lines": "source_functions",
    "lerobot": "source_functions",
    "mix": "source_functions",
    "parquet": "source_functions",
    "pascal_voc": "source_functions",
    "text_lines": "source_functions",
    "tfds": "source_functions",
    "tfrecords": "source_functions",
    "tokens": "source_functions",
    "torch_generator": "functions.torch_generator",
    "video_folder": "source_functions",
    "videos": "source_functions",
    "webdataset": "source_functions",
    "yolo": "source_functions",
    "zip": "source_functions",
}

if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.

    def __getattr__(name: str) -> object:
        if name in _HOMES:
            value = getattr(_import_module(f"headrace.pipeline.{_HOMES[name]}"), name)
            globals()[name] = value
            return value
        raise AttributeError(f"module 'headrace.pipeline' has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted(__all__)
