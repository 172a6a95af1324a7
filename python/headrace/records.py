"""Reading and writing TFRecord files without a pipeline (see `headrace.io.records`)."""

from headrace.io.records import *  # noqa: F403
from headrace.io.records import __all__  # noqa: F401
