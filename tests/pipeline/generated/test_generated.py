"""Random pipelines give the items of a simple model, with all options."""

import pytest
from tests.pipeline.generated.checks import check, shrunk
from tests.pipeline.generated.programs import program_of

# Groups of equal size, so that a failure does not stop all.
GROUPS = 8
PROGRAMS = 26
KINDS = {
    *("tfrecords", "text_lines", "csv", "json_lines", "fixed_length_records", "files"),
    *("image_folder", "audio_folder", "webdataset", "tokens", "arrays", "indexed", "iterable"),
    *("rows", "mix", "concat", "zip", "compressed", "inferred", "parquet of large values"),
    *("take", "skip", "shard", "window", "shuffle", "epochs", "cache", "cache on disk"),
    *("shard of ranks", "even shard of ranks"),
    "window over blocks",
    "window over pieces of a rank",
    *("map", "native map", "seeded map", "seeded native map", "filter", "native filter"),
    *("flat_map", "native flat_map", "select", "rename", "prefetch", "skip_errors"),
    *("batch", "batch with offsets", "padded_batch", "bucket_by_length", "pack", "unbatch"),
    *("iterable once", "iterable in processes", "split", "budget", "map with a state", "tokenize"),
    *("augment", "mix pictures", "decode_audio", "spectrogram"),
}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("group", range(GROUPS))
def test_random_pipelines_equal_their_model(generated_files, group):
    for number in range(group * PROGRAMS, (group + 1) * PROGRAMS):
        program = program_of(number)
        try:
            check(program, generated_files, number)
        except Exception as error:
            short = shrunk(program, generated_files, number)
            error.add_note(f"program {number}, shortened:\n{short!r}")
            raise


def test_every_stage_is_drawn():
    drawn = set().union(*(program_of(number).kinds for number in range(GROUPS * PROGRAMS)))
    assert drawn >= KINDS, sorted(KINDS - drawn)


def test_a_number_always_gives_the_same_program():
    assert repr(program_of(17)) == repr(program_of(17)) != repr(program_of(18))
