"""Imports the pipeline from a user's program."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import traceback
from types import ModuleType
from typing import Final

from headrace.cli.failures import Failure, failure_of
from headrace.pipeline import Pipeline

__all__ = ["pipeline_of"]

_EXAMPLE: Final = (
    "Pass FILE.py:NAME or MODULE:NAME, where NAME is a pipeline or a function that returns one."
)


def pipeline_of(where: str) -> Pipeline:
    """Imports a pipeline, or calls a function that returns one.

    Args:
        where: `FILE.py:NAME`, or `MODULE:NAME` for a module that can be imported from the current
            directory.

    Raises:
        Failure: If the file or name does not exist, the name is not a pipeline, or the program
            fails.
    """
    path, mark, name = where.rpartition(":")
    if not mark or not name.isidentifier():
        raise Failure(f"{where}: the name of the pipeline is missing. {_EXAMPLE}")
    if os.path.isfile(path):
        module = _imported(path)
    elif all(part.isidentifier() for part in path.split(".")) and not path.endswith(".py"):
        module = _module(path)
    else:
        raise Failure(f"{path}: no such file. {_EXAMPLE}")
    if not hasattr(module, name):
        names = [key for key, value in vars(module).items() if isinstance(value, Pipeline)]
        there = f"its pipelines are {', '.join(names)}" if names else "it defines no pipelines"
        raise Failure(f"{path}: the program has no {name}; {there}. {_EXAMPLE}")
    value = getattr(module, name)
    if callable(value) and not isinstance(value, Pipeline):
        try:
            value = value()
        except Exception as error:
            raise _failure(path, error) from error
    if not isinstance(value, Pipeline):
        raise Failure(f"{where}: this is {value!r}, expected a pipeline. {_EXAMPLE}")
    return value


def _module(name: str) -> ModuleType:
    sys.path.insert(0, os.getcwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            raise Failure(f"{name}: no such module. {_EXAMPLE}") from error
        raise _failure(name, error) from error
    except Exception as error:
        raise _failure(name, error) from error


def _imported(path: str) -> ModuleType:
    # The program can import modules from its directory, as when Python runs it.
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    name = f"headrace_bench_{os.path.splitext(os.path.basename(path))[0]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise Failure(f"{path}: this is not a Python program. {_EXAMPLE}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise _failure(path, error) from error
    return module


def _failure(path: str, error: Exception) -> Failure:
    """Returns the failure for an error in the user's program, with the line where it occurred."""
    failure = failure_of(error)
    text = failure.message if failure else f"{type(error).__name__}: {error}"
    if isinstance(error, SyntaxError):
        return Failure(f"{path}, line {error.lineno}: {error.msg}")
    here = os.path.abspath(path)
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if os.path.abspath(frame.filename) == here
    ]
    return Failure(f"{path}, line {lines[-1]}: {text}" if lines else f"{path}: {text}")
