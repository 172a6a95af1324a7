"""The functions that users call to start a pipeline. Each creates a source."""

import functools
import inspect
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, ParamSpec

from headrace.pipeline.pipeline import Pipeline
from headrace.pipeline.stages.other_libraries import with_explained_calls
from headrace.pipeline.stages.stage import Stage

if TYPE_CHECKING:
    from headrace.pipeline.sources.arrays import arrays as arrays_source
    from headrace.pipeline.sources.arrow import arrow as arrow_source
    from headrace.pipeline.sources.audio_folder import audio_folder as audio_folder_source
    from headrace.pipeline.sources.coco import coco as coco_source
    from headrace.pipeline.sources.concat import concat as concat_source
    from headrace.pipeline.sources.csv import csv as csv_source
    from headrace.pipeline.sources.files import files as files_source
    from headrace.pipeline.sources.fixed_length_records import (
        fixed_length_records as fixed_length_records_source,
    )
    from headrace.pipeline.sources.image_folder import image_folder as image_folder_source
    from headrace.pipeline.sources.indexed import indexed as indexed_source
    from headrace.pipeline.sources.iterable import iterable as iterable_source
    from headrace.pipeline.sources.journal import journal as journal_source
    from headrace.pipeline.sources.json_array import json_array as json_array_source
    from headrace.pipeline.sources.json_lines import json_lines as json_lines_source
    from headrace.pipeline.sources.lerobot import lerobot as lerobot_source
    from headrace.pipeline.sources.mix import mix as mix_source
    from headrace.pipeline.sources.parquet import parquet as parquet_source
    from headrace.pipeline.sources.pascal_voc import pascal_voc as pascal_voc_source
    from headrace.pipeline.sources.text_lines import text_lines as text_lines_source
    from headrace.pipeline.sources.tfds import tfds as tfds_source
    from headrace.pipeline.sources.tfrecords import tfrecords as tfrecords_source
    from headrace.pipeline.sources.tokens import tokens as tokens_source
    from headrace.pipeline.sources.video_folder import video_folder as video_folder_source
    from headrace.pipeline.sources.videos import videos as videos_source
    from headrace.pipeline.sources.webdataset import webdataset as webdataset_source
    from headrace.pipeline.sources.yolo import yolo as yolo_source
    from headrace.pipeline.sources.zip import zip as zip_source

__all__ = [
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
    "video_folder",
    "videos",
    "webdataset",
    "yolo",
    "zip",
]

_Arguments = ParamSpec("_Arguments")


def _begins(
    make: Callable[_Arguments, Stage | tuple[Stage, ...]],
) -> Callable[_Arguments, Pipeline]:
    """Turns a function that creates stages into a function that returns a pipeline."""

    @functools.wraps(make)
    def begin(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> Pipeline:
        pipeline = explained(*args, **kwargs)
        return Pipeline(pipeline if isinstance(pipeline, tuple) else (pipeline,))

    explained = with_explained_calls(make)
    signature = inspect.signature(make)
    begin.__signature__ = signature.replace(return_annotation=Pipeline)  # type: ignore[attr-defined]
    begin.__annotations__ = {**make.__annotations__, "return": Pipeline}
    return begin


if TYPE_CHECKING:
    arrays = _begins(arrays_source)
    arrow = _begins(arrow_source)
    audio_folder = _begins(audio_folder_source)
    coco = _begins(coco_source)
    concat = _begins(concat_source)
    csv = _begins(csv_source)
    files = _begins(files_source)
    fixed_length_records = _begins(fixed_length_records_source)
    image_folder = _begins(image_folder_source)
    indexed = _begins(indexed_source)
    iterable = _begins(iterable_source)
    journal = _begins(journal_source)
    json_array = _begins(json_array_source)
    json_lines = _begins(json_lines_source)
    lerobot = _begins(lerobot_source)
    mix = _begins(mix_source)
    parquet = _begins(parquet_source)
    pascal_voc = _begins(pascal_voc_source)
    text_lines = _begins(text_lines_source)
    tfds = _begins(tfds_source)
    tfrecords = _begins(tfrecords_source)
    tokens = _begins(tokens_source)
    video_folder = _begins(video_folder_source)
    videos = _begins(videos_source)
    webdataset = _begins(webdataset_source)
    yolo = _begins(yolo_source)
    zip = _begins(zip_source)
else:

    def __getattr__(name: str) -> object:
        # A program imports only the sources that it uses.
        if name not in __all__:
            raise AttributeError(f"module 'headrace.pipeline.source_functions' has no {name!r}")
        make = getattr(import_module(f"headrace.pipeline.sources.{name}"), name)
        return globals().setdefault(name, _begins(make))

    def __dir__() -> list[str]:
        return sorted(__all__)
