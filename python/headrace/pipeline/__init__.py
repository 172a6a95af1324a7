"""Pipelines: files become batches, in an order that depends on the description alone.

A source such as `tfrecords` or `text_lines` returns a `Pipeline`, and its methods add stages. It is
only a description; iterating over it starts threads and gives `Batches`. Names are loaded when they
are first used: a worker process needs few of the modules.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.pipeline.describe.combine import concat, mix, zip
    from headrace.pipeline.describe.indexed import indexed
    from headrace.pipeline.describe.pipeline import Pipeline
    from headrace.pipeline.describe.sources import (
        arrays,
        files,
        fixed_length_records,
        iterable,
        text_lines,
        tfrecords,
    )
    from headrace.pipeline.describe.types import Feature, Json, Nullable, Ragged, Spec
    from headrace.pipeline.formats.arrow import arrow
    from headrace.pipeline.formats.audio_folder import audio_folder
    from headrace.pipeline.formats.csv import csv
    from headrace.pipeline.formats.image_folder import image_folder
    from headrace.pipeline.formats.json_lines import json_lines
    from headrace.pipeline.formats.parquet import parquet
    from headrace.pipeline.formats.tokens import tokens
    from headrace.pipeline.formats.webdataset import webdataset
    from headrace.pipeline.plan.functions.torch_draws import torch_draws
    from headrace.pipeline.run.batches import Batches
    from headrace.pipeline.run.skipped import Skipped
    from headrace.pipeline.run.statistics import StageStatistics, Statistics

__all__ = [
    "Batches",
    "Feature",
    "Json",
    "Nullable",
    "Pipeline",
    "Ragged",
    "Skipped",
    "Spec",
    "StageStatistics",
    "Statistics",
    "arrays",
    "arrow",
    "audio_folder",
    "concat",
    "csv",
    "files",
    "fixed_length_records",
    "image_folder",
    "indexed",
    "iterable",
    "json_lines",
    "mix",
    "parquet",
    "text_lines",
    "tfrecords",
    "tokens",
    "torch_draws",
    "webdataset",
    "zip",
]
# The module of each name.
_HOMES = {
    "Batches": "run.batches",
    "Feature": "describe.types",
    "Json": "describe.types",
    "Nullable": "describe.types",
    "Pipeline": "describe.pipeline",
    "Ragged": "describe.types",
    "Skipped": "run.skipped",
    "Spec": "describe.types",
    "StageStatistics": "run.statistics",
    "Statistics": "run.statistics",
    "arrays": "describe.sources",
    "arrow": "formats.arrow",
    "audio_folder": "formats.audio_folder",
    "concat": "describe.combine",
    "csv": "formats.csv",
    "files": "describe.sources",
    "fixed_length_records": "describe.sources",
    "image_folder": "formats.image_folder",
    "indexed": "describe.indexed",
    "iterable": "describe.sources",
    "json_lines": "formats.json_lines",
    "mix": "describe.combine",
    "parquet": "formats.parquet",
    "text_lines": "describe.sources",
    "tfrecords": "describe.sources",
    "tokens": "formats.tokens",
    "torch_draws": "plan.functions.torch_draws",
    "webdataset": "formats.webdataset",
    "zip": "describe.combine",
}

if not TYPE_CHECKING:  # Hidden from mypy, so that it reports wrong names.

    def __getattr__(name: str) -> object:
        from importlib import import_module  # noqa: PLC0415  (few need it)

        if name in _HOMES:
            found = getattr(import_module(f"headrace.pipeline.{_HOMES[name]}"), name)
            globals()[name] = found
            return found
        raise AttributeError(f"module 'headrace.pipeline' has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted(__all__)
