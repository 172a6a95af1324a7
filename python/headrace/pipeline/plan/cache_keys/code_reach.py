"""Finds the global names that a function's code loads, and the attributes it reads from them."""

import dis
import types
from collections.abc import Iterator
from typing import Final, NamedTuple

__all__ = ["Import", "imports", "loads", "words"]

_GLOBAL: Final = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
_ATTRIBUTE: Final = ("LOAD_ATTR", "LOAD_METHOD")
_NOTHING: Final = ("CACHE", "EXTENDED_ARG", "NOP")


class Import(NamedTuple):
    """An import inside a function.

    Attributes:
        level: The number of leading dots.
        name: The name of the module.
        names: The names imported from it.
    """

    level: int
    name: str
    names: tuple[str, ...]


def loads(code: types.CodeType) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yields each global name that code loads, with the chain of attributes read from it."""
    for part in _parts(code):
        instructions = _instructions(part)
        for number, instruction in enumerate(instructions):
            if instruction.opname in _GLOBAL:
                chain = []
                for after in instructions[number + 1 :]:
                    if after.opname not in _ATTRIBUTE:
                        break
                    chain.append(str(after.argval))
                yield str(instruction.argval), tuple(chain)


def imports(code: types.CodeType) -> Iterator[Import]:
    """Yields the imports in code."""
    for part in _parts(code):
        instructions = _instructions(part)
        for number, instruction in enumerate(instructions):
            if instruction.opname == "IMPORT_NAME":
                level, names = (instructions[number - back].argval for back in (2, 1))
                yield Import(int(level or 0), str(instruction.argval), tuple(names or ()))


def words(code: types.CodeType) -> Iterator[str]:
    """Yields the names and strings that appear in code."""
    for part in _parts(code):
        yield from part.co_names
        for constant in part.co_consts:
            items = constant if isinstance(constant, (tuple, frozenset)) else (constant,)
            yield from (item for item in items if isinstance(item, str))


def _parts(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yields code and the code of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _parts(constant)


def _instructions(code: types.CodeType) -> list[dis.Instruction]:
    return [
        instruction
        for instruction in dis.get_instructions(code)
        if instruction.opname not in _NOTHING
    ]
