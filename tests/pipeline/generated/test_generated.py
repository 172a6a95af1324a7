"""Random pipelines yield the same items as a simple model, with all options.

Each kind of stage and source is in one of these programs, which are always the same. `python -m
stress pipelines` draws others by the thousand.
"""

from functools import cache
from importlib.util import find_spec

import pytest
from tests.pipeline.generated.checks import check, shrunk
from tests.pipeline.generated.programs import program_of

# Groups of nearly equal size, so that a failure does not stop all.
GROUPS = 8
# The first programs all run. Of the others, only those that are the first with a kind run.
PROGRAMS = 40
# More are not looked through.
MOST = 2000
KINDS = {
    *("tfrecords", "tfds", "tfds steps", "text_lines", "csv", "json_lines", "json_array", "files"),
    *("fixed_length_records", "image_folder", "audio_folder", "webdataset", "tokens"),
    *("coco", "coco objects", "yolo", "pascal_voc"),
    "zip archive",
    *("arrays", "indexed", "iterable", "journal"),
    *("rows", "mix", "concat", "zip", "compressed", "inferred", "parquet of large values"),
    *("take", "skip", "shard", "window", "shuffle", "sample", "epochs", "cache", "cache on disk"),
    *("shard of ranks", "even shard of ranks"),
    "window over blocks",
    "window over pieces of a rank",
    *("map", "native map", "seeded map", "seeded native map", "filter", "native filter"),
    *("flat_map", "native flat_map", "select", "rename", "prefetch", "skip_errors"),
    *("batch", "batch with offsets", "padded_batch", "padded_batch of grids"),
    *("batch by position", "padded_batch by position", "pack by position"),
    *("batch of lists", "bucket_by_length", "bucket_by_shape", "pack"),
    *("bucket_by_shape of ranks", "bucket_by_shape of a rank"),
    *("pack of arrays", "pack of trees", "unbatch"),
    *("windows", "windows at offsets"),
    "split by value",
    *(("lerobot",) if find_spec("pyarrow") else ()),
    *("iterable once", "iterable in processes", "split", "budget", "map with a state", "tokenize"),
    "without_steps",
    *("chat", "augment", "mosaic", "mix pictures", "decode_audio", "spectrogram"),
    *(("video_folder", "clips") if find_spec("av") else ("video_folder",)),
}


@cache
def numbers() -> list[int]:
    """The numbers of the programs that run. Each kind is in one of them."""
    missing, chosen = set(KINDS), []
    for number in range(MOST):
        kinds = program_of(number).kinds
        if number < PROGRAMS or kinds & missing:
            chosen.append(number)
            missing -= kinds
        elif not missing:
            return chosen
    raise AssertionError(f"never drawn: {sorted(missing)}")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("group", range(GROUPS))
def test_random_pipelines_match_their_model(generated_files, group):
    for number in numbers()[group::GROUPS]:
        program = program_of(number)
        try:
            check(program, generated_files, number)
        except Exception as error:
            short = shrunk(program, generated_files, number)
            error.add_note(f"program {number}, shortened:\n{short!r}")
            raise


def test_program_number_determines_the_program():
    assert repr(program_of(17)) == repr(program_of(17)) != repr(program_of(18))
