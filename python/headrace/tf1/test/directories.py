"""A directory for the files of the tests in a process."""

import atexit
import os
import shutil
import tempfile
from functools import cache

__all__ = ["get_temp_dir"]


@cache
def get_temp_dir() -> str:
    """Returns a directory for test files, which is removed when the process ends."""
    directory = tempfile.mkdtemp(prefix="tf_test_", dir=os.environ.get("TEST_TMPDIR"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return directory
