"""Pipelines: from files to batches, in blocks, in an order that depends on the description alone.

A `Pipeline` is made by a function of `sources` (`tfrecords`, `text_lines`, …) and grows by its
methods. It describes only; iterating over it starts threads and gives `Batches`.
"""

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
from headrace.pipeline.describe.types import Feature, Ragged, Spec
from headrace.pipeline.formats.csv import csv
from headrace.pipeline.formats.image_folder import image_folder
from headrace.pipeline.formats.json_lines import json_lines
from headrace.pipeline.formats.parquet import parquet
from headrace.pipeline.formats.webdataset import webdataset
from headrace.pipeline.plan.functions.torch_draws import torch_draws
from headrace.pipeline.run.batches import Batches
from headrace.pipeline.run.skipped import Skipped
from headrace.pipeline.run.statistics import StageStatistics, Statistics

__all__ = [
    "Batches",
    "Feature",
    "Pipeline",
    "Ragged",
    "Skipped",
    "Spec",
    "StageStatistics",
    "Statistics",
    "arrays",
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
    "torch_draws",
    "webdataset",
    "zip",
]
