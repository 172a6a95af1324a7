"""States of random number generators, both a process's global ones and the samplers' own."""

import base64
import random
from array import array
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, cast

import numpy as np
import torch

__all__ = ["NO_STATES", "RandomStates", "generators_of", "generators_state", "set_generators"]

# The type of `numpy.random`'s generator, unless a program replaces it.
_MERSENNE_TWISTER: Final = "MT19937"
# The maximum depth of the search for samplers inside a sampler.
_MOST_LEVELS: Final = 4


class RandomStates(NamedTuple):
    """The states of the global generators of PyTorch, Python and NumPy.

    Attributes:
        torch: The state of `torch.default_generator`.
        python: The state of `random`: its version, its words and the next Gaussian number.
        numpy: The state of `numpy.random`: its words, its position and the next Gaussian number,
            with a flag that is 1 if there is one. None if its generator is of a different kind.
    """

    torch: bytes | None = None
    python: tuple[int, bytes, float | None] | None = None
    numpy: tuple[bytes, int, int, float] | None = None

    @classmethod
    def current(cls) -> "RandomStates":
        """Returns the states of this process."""
        version, words, gauss = random.getstate()
        kind, *state = cast("tuple[Any, ...]", np.random.get_state())
        numpy = None
        if kind == _MERSENNE_TWISTER:
            key, position, has_gauss, cached = state
            numpy = (key.tobytes(), int(position), int(has_gauss), float(cached))
        python = (version, array("I", words).tobytes(), gauss)
        return cls(torch.get_rng_state().numpy().tobytes(), python, numpy)

    def unlike(self, other: "RandomStates") -> "RandomStates":
        """Returns the states that differ from another object's, and None for the rest."""
        pairs = zip(self, other, strict=True)
        return RandomStates._make(mine if mine != its else None for mine, its in pairs)

    def over(self, other: "RandomStates") -> "RandomStates":
        """Returns these states, with missing ones taken from a second object."""
        pairs = zip(self, other, strict=True)
        return RandomStates._make(its if mine is None else mine for mine, its in pairs)

    def __bool__(self) -> bool:
        return any(state is not None for state in self)

    def set(self) -> None:
        """Sets this process's generators to these states, except generators without a state."""
        if self.torch is not None:
            torch.set_rng_state(_tensor(self.torch))
        if self.python is not None:
            version, words, gauss = self.python
            random.setstate((version, tuple(array("I", words)), gauss))
        if self.numpy is not None:
            words, position, has_gauss, cached = self.numpy
            key = np.frombuffer(words, np.uint32)
            np.random.set_state((_MERSENNE_TWISTER, key, position, has_gauss, cached))

    def encoded(self) -> dict[str, Any]:
        """Returns the states in a form that JSON can represent; see `decoded`."""
        result: dict[str, Any] = {}
        if self.torch is not None:
            result["torch"] = _text(self.torch)
        if self.python is not None:
            version, words, gauss = self.python
            result["python"] = [version, _text(words), gauss]
        if self.numpy is not None:
            words, *rest = self.numpy
            result["numpy"] = [_text(words), *rest]
        return result

    @classmethod
    def decoded(cls, encoded: Mapping[str, Any]) -> "RandomStates":
        """Decodes the result of `encoded`."""
        python, numpy = encoded.get("python"), encoded.get("numpy")
        return cls(
            _bytes(encoded["torch"]) if "torch" in encoded else None,
            None if python is None else (python[0], _bytes(python[1]), python[2]),
            None if numpy is None else (_bytes(numpy[0]), *numpy[1:]),
        )

    @contextmanager
    def borrowed(self) -> Iterator[list["RandomStates"]]:
        """Sets the generators to these states in the context, then restores the process's own.

        Yields:
            A list that receives the states at the end of the context.
        """
        ours = RandomStates.current()
        after: list[RandomStates] = []
        self.set()
        try:
            yield after
        finally:
            after.append(RandomStates.current())
            ours.set()


NO_STATES: Final = RandomStates()


def generators_of(loader_generator: Any, sampler: Any) -> dict[str, Any]:
    """Returns the generators of a loader and its samplers, by the path that leads to each one.

    Args:
        loader_generator: The loader's generator, or None if it has none.
        sampler: The sampler. Its attributes are searched for generators.
    """
    found: dict[str, Any] = {}
    if loader_generator is not None:
        found["generator"] = loader_generator
    level, way = sampler, "sampler"
    for _ in range(_MOST_LEVELS):
        for name, value in getattr(level, "__dict__", {}).items():
            is_known = any(value is known for known in found.values())
            if isinstance(value, _KINDS) and not is_known:
                found[f"{way}.{name}"] = value
        inner = getattr(level, "sampler", None) or getattr(level, "batch_sampler", None)
        if inner is None or inner is level:
            break
        level, way = inner, f"{way}.sampler"
    return {
        way: generator for way, generator in found.items() if generator is not _global_generator()
    }


def generators_state(generators: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the states of generators in a form that JSON can represent."""
    return {way: _generator_state(generator) for way, generator in generators.items()}


def set_generators(generators: Mapping[str, Any], states: Mapping[str, Any]) -> None:
    """Sets generators to the results of `generators_state`, except generators without a state."""
    for way, generator in generators.items():
        state = states.get(way)
        if state is None:
            continue
        if isinstance(generator, torch.Generator):
            generator.set_state(_tensor(_bytes(state)))
        elif isinstance(generator, random.Random):
            version, words, gauss = state
            generator.setstate((version, tuple(array("I", _bytes(words))), gauss))
        elif isinstance(generator, np.random.Generator):
            generator.bit_generator.state = _numpy_state(state)
        else:
            generator.set_state(_numpy_state(state))


_KINDS: Final = (torch.Generator, random.Random, np.random.Generator, np.random.RandomState)


def _global_generator() -> Any:
    return torch.default_generator


def _generator_state(generator: Any) -> Any:
    if isinstance(generator, torch.Generator):
        return _text(generator.get_state().numpy().tobytes())
    if isinstance(generator, random.Random):
        version, words, gauss = generator.getstate()
        return [version, _text(array("I", words).tobytes()), gauss]
    if isinstance(generator, np.random.Generator):
        return _plain(generator.bit_generator.state)
    return _plain(generator.get_state(legacy=False))


def _plain(state: Any) -> Any:
    """Returns a state of NumPy in a form that JSON can represent."""
    if isinstance(state, Mapping):
        return {name: _plain(value) for name, value in state.items()}
    if isinstance(state, np.ndarray):
        return {"dtype": state.dtype.str, "data": _text(state.tobytes())}
    return state.item() if isinstance(state, np.generic) else state


def _numpy_state(state: Any) -> Any:
    if not isinstance(state, Mapping):
        return state
    if set(state) == {"dtype", "data"}:
        return np.frombuffer(_bytes(state["data"]), state["dtype"]).copy()
    return {name: _numpy_state(value) for name, value in state.items()}


def _tensor(data: bytes) -> Any:
    return torch.frombuffer(bytearray(data), dtype=torch.uint8)


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _bytes(text: str) -> bytes:
    return base64.b64decode(text)
