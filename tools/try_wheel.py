"""Exercises an installed headrace, to check that its wheel is complete.

`--without-licences` is for a headrace that pip has built from source: the licences of linked crates
and their list (SBOM) are added to wheels by `tools/finish_wheel.py`.
"""

import os
import subprocess
import sys
import sysconfig
import tempfile
import zlib
from importlib.metadata import files
from pathlib import Path

import numpy as np
from try_formats import try_formats

import headrace as hr
import headrace.tf1 as tf
from headrace.demo.data import write_digits  # noqa: F401 - the demo is in the wheel
from headrace.pipeline.functions.python_functions import has_gil

EXITING = """
import threading, time
import headrace.tf1 as tf

queue = tf.FIFOQueue(1, tf.int32, shapes=())
element, session = queue.dequeue(), tf.Session()
threading.Thread(target=lambda: session.run(element), daemon=True).start()
while session.queue_statistics(queue).num_waiting_dequeues == 0:
    time.sleep(0.001)
"""
"""Exits while a daemon thread is in the engine. Python ends such a thread by unwinding it."""


ORDERS = {None: 1_702_144_727, 100: 3_537_415_696}
"""A checksum of the order of 5,000 numbers, shuffled as a whole or through a window.

Compilers have computed wrong random numbers: rustc 1.95, from correct code.
"""


@hr.native
def doubled(example):
    """Returns twice the number in a line."""
    return {"number": hr.ops.string_to_number(example["text"], "int64") * 2}


def main() -> None:
    """Reads each format, exits with blocked threads, and connects to a missing server."""
    os.environ["HEADRACE_STORAGE_RETRIES"] = "0"
    package = Path(hr.__file__).parent
    source = Path(__file__).parents[1] / "python"
    assert source not in package.parents, f"{package} is not an installed package"
    if "--without-licences" not in sys.argv:
        names = [path.name for path in files("headrace") or []]
        assert "LINKED.txt" in names, names
        assert any(name.endswith(".cyclonedx.json") for name in names), names
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        assert not has_gil(), "something that was imported has put the GIL on"
    with tempfile.TemporaryDirectory() as directory:
        for name, outcome in try_formats(Path(directory)):
            print(f"{name}: {outcome}")
        path = Path(directory, "lines.txt")
        path.write_text("".join(f"{number}\n" for number in range(1000)))
        pipeline = hr.text_lines(path).map(doubled).shuffle(seed=1).batch(100)
        actual = np.concatenate([batch["number"] for batch in pipeline])
        assert sorted(actual.tolist()) == list(range(0, 2000, 2))
        _, line = tf.TextLineReader().read(tf.train.string_input_producer([str(path)]))
        with tf.Session() as session:
            coord = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(session, coord)
            assert session.run(line).isdigit()
            coord.request_stop()
            coord.join(threads)
        for window, expected in ORDERS.items():
            numbers = hr.arrays({"n": np.arange(5000, dtype="<i8")}).shuffle(window=window, seed=3)
            order = np.concatenate([batch["n"] for batch in numbers.batch(64)])
            checksum = zlib.crc32(order.tobytes())
            assert checksum == expected, f"shuffle(window={window}) has the order {checksum}"
        picture = tf.image.decode_png(tf.image.encode_png(np.zeros([2, 3, 3], np.uint8)))
        photo = tf.image.decode_jpeg(tf.image.encode_jpeg(np.zeros([8, 8, 3], np.uint8)))
        with tf.Session() as session:
            assert [array.shape for array in session.run([picture, photo])] == [
                (2, 3, 3),
                (8, 8, 3),
            ]
    subprocess.run([sys.executable, "-c", EXITING], check=True, timeout=60)
    try:
        list(hr.text_lines("https://localhost:1/none"))
    except hr.errors.UnavailableError:
        print(f"headrace {hr.__version__} works")
    else:
        raise AssertionError("nobody answers there")


if __name__ == "__main__":
    main()
