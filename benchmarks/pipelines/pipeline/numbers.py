"""CSV files as a pipeline."""

import headrace as hr
from benchmarks.pipelines import consume

BATCH_SIZE = 256
WINDOW = 10_000
FEATURES = [f"x{number}" for number in range(10)]


@hr.native
def together(batch):
    features = hr.ops.stack([batch[name] for name in FEATURES], axis=1)
    return {"features": features, "label": batch["label"]}


def numbers(files, num_epochs):
    columns = {**dict.fromkeys(FEATURES, float), "label": int}
    return (
        hr.csv(files, columns, header=False)
        .shuffle(window=WINDOW)
        .epochs(num_epochs)
        .batch(BATCH_SIZE)
        .map(together)
    )


def batches(task, files, num_epochs):
    for batch in numbers(files, num_epochs):
        yield batch["features"], batch["label"]


if __name__ == "__main__":
    consume.run(batches)
