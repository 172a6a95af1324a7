"""Runs the table with one library.

`python -m tensorflow_comparison.run LIBRARY ARGUMENTS OUTCOMES`
"""

import json
import sys
from pathlib import Path
from typing import Any

from tensorflow_comparison.table import all_cases, outcome_of


def library(name: str) -> Any:
    """Returns the module `tf`."""
    if name == "headrace":
        import headrace.tf1 as tf  # noqa: PLC0415
    else:
        import tensorflow.compat.v1 as tf  # noqa: PLC0415

        tf.disable_v2_behavior()
        tf.disable_resource_variables()
        tf.logging.set_verbosity(tf.logging.ERROR)
    return tf


def main(name: str, generated_arguments: str, outcomes: str) -> None:
    """Writes a line of JSON for each case: its name and its outcome."""
    tf = library(name)
    with Path(outcomes).open("w") as file:
        for case in all_cases(Path(generated_arguments)).values():
            file.write(json.dumps([case.name, outcome_of(case, tf)]) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
