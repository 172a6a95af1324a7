"""Writes records to object storage, and reads them: `python s3_records.py s3://bucket/folder`.

Set the credentials as for the storage's own tools, for example with AWS_ACCESS_KEY_ID or
AWS_PROFILE, and AWS_ENDPOINT_URL for MinIO. You can also use `gs://`, `az://` or a local folder.
"""

import sys

import headrace as hr


def write(folder: str, num_files: int, num_records: int) -> None:
    """Writes TFRecord files of numbers as text."""
    for file in range(num_files):
        with hr.records.TFRecordWriter(f"{folder}/train-{file:03}.tfrecord") as writer:
            for number in range(file, num_records, num_files):
                writer.write(b"%d" % number)


@hr.native
def decoded(example: dict[str, hr.Tensor]) -> dict[str, hr.Tensor]:
    """Returns the number of a record: int64."""
    return {"number": hr.ops.string_to_number(example["record"], "int64")}


if __name__ == "__main__":
    [folder] = sys.argv[1:]
    write(folder, num_files=4, num_records=1_000)
    numbers = hr.tfrecords(f"{folder}/train-*.tfrecord").shuffle(window=200, seed=1).map(decoded)
    total = 0
    for batch in numbers.batch(100):
        total += batch["number"].sum()
    print(f"the records of {folder} add up to {total}")
