"""Makes PyTorch's random functions use the random generator of an example."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import cache
from importlib import import_module
from typing import Any, Final

import numpy as np

from headrace.core.optional_dependencies import missing_torch

__all__ = ["torch_generator"]

# PyTorch's random functions and methods that accept `generator`.
_DRAWING: Final = (
    "bernoulli",
    "binomial",
    "multinomial",
    "normal",
    "poisson",
    "rand",
    "randint",
    "randn",
    "randperm",
    "_sample_dirichlet",
    "_standard_gamma",
)
_DRAWING_IN_PLACE: Final = (
    "bernoulli_",
    "cauchy_",
    "exponential_",
    "geometric_",
    "log_normal_",
    "normal_",
    "random_",
    "uniform_",
)
_LARGEST_SEED: Final = 2**63 - 1


def torch_generator(rng: "np.random.Generator") -> AbstractContextManager[None]:
    """Makes PyTorch's random functions reproducible inside a function of `map` or `flat_map`.

    The transforms of torchvision use PyTorch's global generator, which the whole process shares.
    Inside a `with torch_generator(rng):` block, they use a separate generator that is seeded from
    `rng`. The random numbers are then the same in every run and after a resume, regardless of the
    number of threads or processes. The block neither uses nor changes the generator of your
    training loop, and it does not affect other threads.

    It covers all functions and methods that draw random numbers on the CPU, such as `torch.rand`,
    `torch.randint`, `torch.randperm`, `torch.rand_like`, `torch.multinomial` and `tensor.uniform_`,
    and `torch.distributions`. It does not cover random functions in `torch.nn.functional`, such as
    `dropout`, nor `random` and NumPy. If a pipeline's function uses these, a warning names it.

    Args:
        rng: The second argument of your function, as in `map(f, seed=7)` or `flat_map(f, seed=7)`.

    Raises:
        TypeError: If `rng` is not a `numpy.random.Generator`.
        ModuleNotFoundError: If PyTorch is not installed.
    """
    if not isinstance(rng, np.random.Generator):
        raise TypeError(
            f"torch_generator: got {type(rng).__name__}, expected a numpy.random.Generator. Write "
            "map(f, seed=7), and pass the second argument of f."
        )
    if (missing := missing_torch()) is not None:
        raise ModuleNotFoundError(f"torch_generator: {missing}.")
    mode: AbstractContextManager[None] = _mode()(int(rng.integers(_LARGEST_SEED)))
    return mode


@cache
def _mode() -> Callable[[int], Any]:
    """Imports PyTorch, and returns the class that intercepts its functions inside a block."""
    torch = import_module("torch")
    overrides = import_module("torch.overrides")
    drawing = {
        *(getattr(torch, name) for name in _DRAWING if hasattr(torch, name)),
        *(getattr(torch.Tensor, name) for name in (*_DRAWING_IN_PLACE, "bernoulli", "multinomial")),
    }
    # Not every PyTorch version accepts a generator here.
    like: dict[Any, Callable[..., Any]] = {
        torch.rand_like: lambda tensor, generator: tensor.uniform_(generator=generator),
        torch.randn_like: lambda tensor, generator: tensor.normal_(generator=generator),
        torch.randint_like: lambda tensor, *bounds, generator: tensor.random_(
            *(bounds if len(bounds) > 1 else (0, *bounds)), generator=generator
        ),
    }

    class RandomFunctionMode(overrides.TorchFunctionMode):  # type: ignore[misc, name-defined]
        """Intercepts the calls of one thread."""

        def __init__(self, seed: int) -> None:
            super().__init__()
            self._generator = torch.Generator().manual_seed(seed)

        def __torch_function__(
            self,
            function: Callable[..., Any],
            types: Sequence[type],
            args: Sequence[Any] = (),
            kwargs: dict[str, Any] | None = None,
        ) -> Any:
            kwargs = kwargs or {}
            if function in drawing and kwargs.get("generator") is None:
                kwargs = {**kwargs, "generator": self._generator}
            elif function in like and kwargs.get("generator") is None:
                return self._like(function, *args, **kwargs)
            return function(*args, **kwargs)

        def _like(self, function: Any, tensor: Any, *args: Any, **kwargs: Any) -> Any:
            bounds = [*args, *(kwargs.pop(name) for name in ("low", "high") if name in kwargs)]
            kwargs.pop("generator", None)
            result = torch.empty_like(tensor, **kwargs)
            return like[function](result, *bounds, generator=self._generator)

    return RandomFunctionMode
