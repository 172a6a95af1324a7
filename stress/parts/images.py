"""Image files that Pillow writes with random options, compared with Pillow's decoder."""

from tests.ops.image.written_images import FORMATS, failures

from stress.part import Options, Result

# The share of it that runs each night.
NIGHTLY = 1.0
FILES = 10_000


def run(options: Options) -> Result:
    """Compares decoded images of every format with Pillow, for various writer options."""
    result = Result()
    count = options.times(FILES)
    # Different files than in the tests.
    first = (options.seed + 1) * FILES
    for format in FORMATS:
        result.failures += failures(format, range(first, first + count))
        result.figures[f"files of {format}"] = count
    return result
