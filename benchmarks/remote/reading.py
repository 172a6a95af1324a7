"""W1 from S3: prints how many examples and bytes came in which time, as JSON."""

import json
import sys
import time

from benchmarks.pipelines.dataset import ROOT, parts_of
from benchmarks.pipelines.pipeline.examples import examples

# The files are read so many times in one pass, as a larger data set would be.
NUM_TIMES = 10


def main() -> None:
    stem = sys.argv[1]
    names = [name for part in parts_of(stem) for name in part.files]
    begin = time.monotonic()
    count = 0
    for batch in examples([f"s3://bucket/{name}" for name in names] * NUM_TIMES, 1):
        count += len(batch["label"])
    seconds = time.monotonic() - begin
    num_bytes = NUM_TIMES * sum((ROOT / stem / name).stat().st_size for name in names)
    found = {"count": count, "num_bytes": num_bytes, "seconds": seconds, "times": NUM_TIMES}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
