"""`sample`: draws examples with replacement, by weight or evenly over classes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Self, cast

import numpy as np
import numpy.typing as npt

from headrace.core import engine
from headrace.core.digests import sha256
from headrace.core.errors import InvalidArgumentError
from headrace.pipeline.stages.arguments import checked_int, random_seed
from headrace.pipeline.stages.chain import Chain
from headrace.pipeline.stages.components import batch_depth, has_epochs, steps
from headrace.pipeline.stages.random_access import divided_before, obstacle
from headrace.pipeline.stages.stage import (
    Effect,
    KeepsComponents,
    Planning,
    Stage,
    Step,
    check_names,
    named,
)
from headrace.pipeline.values.types import Spec, Specs, type_name

__all__ = [
    "DrawingWeights",
    "Sample",
    "SampleMethod",
    "check_nothing_is_drawn",
    "check_sum",
    "invalid_weight",
    "samples_of",
]

_KINDS_OF_WEIGHTS: Final = "biuf"
_KINDS_OF_LABELS: Final = "biu"


class DrawingWeights:
    """The weights of all examples as cumulative sums. All pipelines made from a stage share them.

    Attributes:
        sums: The sum of the weights up to and including each example, float64, one per example.
        digest: A digest of the sums.
        files: Identifies the files that the weights were read from, or None before the first plan.
    """

    def __init__(self, weights: npt.NDArray[np.float64]) -> None:
        self.sums = np.cumsum(weights, dtype=np.float64)
        self.digest = sha256(self.sums.tobytes()).hexdigest()[:16]
        self.files: object = None


class ReadWeights:
    """The weights of a stage that are read from a component, once they are known."""

    def __init__(self) -> None:
        self.known: DrawingWeights | None = None

    def __reduce__(self) -> "tuple[type, tuple[()], dict[str, Any]]":
        return ReadWeights, (), {"known": self.known}


class PassedWeights:
    """The weights that the user passed, one for each example."""

    def __init__(self, weights: npt.NDArray[np.float64]) -> None:
        self.known: Final = DrawingWeights(weights)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PassedWeights) and self.known.digest == other.known.digest

    def __hash__(self) -> int:
        return hash(self.known.digest)

    def __repr__(self) -> str:
        return f"<{len(self.known.sums)} weights {self.known.digest[:8]}>"


@dataclass(frozen=True)
class Sample(KeepsComponents):
    """Draws examples with replacement, differently in each epoch.

    Attributes:
        weighted_by: The component with the weights, or the weights themselves, or None for `by`.
        by: The component with the classes, or None for weights.
        num: The number of draws, or None for the number of examples.
        seed: The seed of the draws.
        is_seed_given: Whether the user passed the seed.
        index: The record positions of the files, once known. Kept between iterations.
        read: The weights that were read from a component, once known. Kept between iterations.
    """

    weighted_by: str | PassedWeights | None = field(
        default=None, metadata={"is_named": True, "keyword": "weights"}
    )
    by: str | None = named(None)
    num: int | None = named(None)
    seed: int = named(0)
    is_seed_given: bool = field(default=True, compare=False, repr=False)
    index: engine.Index = field(default_factory=engine.Index, compare=False, repr=False)
    read: ReadWeights = field(default_factory=ReadWeights, compare=False, repr=False)

    effect: ClassVar = Effect.SAMPLES
    needs_values: ClassVar = False
    added_axes: ClassVar = 0
    draws: ClassVar = True
    full_shuffle: ClassVar = True

    @property
    def component(self) -> str | None:
        """The component that determines the weights, or None if the user passed them."""
        return self.weighted_by if isinstance(self.weighted_by, str) else self.by

    @property
    def num_drawn(self) -> int | None:
        """The number of output examples, if it does not depend on the number of input examples."""
        return self.num

    def specs_after(self, specs: Specs) -> Specs:
        """Returns the same components, and checks the one that determines the weights."""
        if self.component is not None:
            check_names(self, [self.component], specs)
            self.check_spec(specs[self.component])
        return specs

    def names_after(self, names: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """Returns the same names."""
        check_names(self, [] if self.component is None else [self.component], names)
        return names

    def check_spec(self, spec: Spec) -> None:
        """Raises ValueError if weights or classes cannot be read from a component."""
        if self.by is None:
            fits = not isinstance(spec.dtype, type) and spec.dtype.kind in _KINDS_OF_WEIGHTS
            expected = "one number per example"
        else:
            of_numbers = not isinstance(spec.dtype, type) and spec.dtype.kind in _KINDS_OF_LABELS
            fits, expected = of_numbers or spec.dtype in (str, bytes), "an integer or a string"
        if not fits or spec.shape not in ((), None):
            shape = "" if spec.shape == () else f" of shape {spec.shape}"
            raise ValueError(
                f"sample: the component {self.component!r} is {type_name(spec.dtype)}{shape}, "
                f"expected {expected}."
            )

    def length_after(self, length: float) -> float:
        """Returns the number of output examples."""
        return length if self.num is None else self.num

    def plan_into(self, planning: Planning) -> None:
        """Adds this step to a plan."""
        passed = self.weighted_by
        known = passed.known if isinstance(passed, PassedWeights) else self.read.known
        assert known is not None, "the iteration reads the weights before it plans"
        shard, even = divided_before(planning.chain, planning.index)
        sampling = engine.Sampling(known.sums, self.num, shard, even)
        if self.component is not None:
            planning.depend_on(f"sample({self.component!r})", known.digest)
        planning.plan = planning.shuffle_all(self.index, self.seed, sampling)


class SampleMethod(Chain):
    """The method `sample`."""

    __slots__ = ()

    def sample(
        self,
        weights: "str | npt.ArrayLike | None" = None,
        by: str | None = None,
        num: int | None = None,
        seed: int | None = None,
    ) -> Self:
        """Draws examples with replacement, by weight or evenly over classes.

        An example can be drawn several times in an epoch, or not at all. The draws change with each
        epoch. Random functions after `sample` draw new numbers each time, so two copies of an
        example are augmented differently.

        Examples are read by number, so `sample` needs random access, like a full shuffle: it can
        follow any source except `iterable`, `mix` and `journal`, as long as the files are not
        compressed. In between, you can use stages that turn each example into one example, `cache`,
        `split` and `shard`. The examples are in random order, so you don't need `shuffle`.

        If you name a component, its values are read once, before the first batch. For `arrays`,
        `image_folder` and `audio_folder`, this reads no files, and for `parquet` and `arrow`, only
        that column. Otherwise, all examples are read, so call `sample` before slow functions. The
        weights take 8 bytes of memory per example. A state contains a digest of them, and `resume`
        raises an error if they have changed.

        After `shard`, each rank draws from its own share. Before `shard`, the ranks divide the
        draws, and you can resume with a different number of ranks.

        Args:
            weights: The component with the weight of each example, or an array with one weight per
                example, in the order of the source. A weight is a finite number of at least 0. They
                need not add up to 1. An example with twice the weight is drawn twice as often.
            by: The component with the class of each example, which is an integer or a string. Each
                draw picks a class at random, and then one of its examples. All classes, and all
                examples of a class, are equally likely.
            num: The number of examples in an epoch, at least 0. None for the number of examples in
                the source.
            seed: The same seed always gives the same draws. Must be between 0 and 2^63 - 1. If
                None, this call picks a random seed.

        Raises:
            TypeError: If `weights` is neither a string nor an array of numbers, or `by` is not a
                string.
            ValueError: If neither or both of `weights` and `by` are passed, a weight is invalid or
                all are 0, `num` or `seed` is out of range, the component does not exist or has an
                unsuitable type, the examples have no random access, or the stage follows `epochs`
                or `batch`. If the weights are read from the examples, iterating raises the error,
                which names the record.
            InvalidArgumentError: If the number of weights differs from the number of examples.
                Raised by the iteration.

        Source: `torch.utils.data.WeightedRandomSampler`, with `replacement=True`.

        Examples:
            >>> pipe = hr.arrays({"x": [1, 2, 3], "w": [0.0, 1.0, 9.0]})
            >>> print(next(iter(pipe.sample(weights="w", num=12, seed=7).batch(12)))["x"])
            [3 3 2 3 3 3 3 3 3 2 3 3]
            >>> pipe = hr.arrays({"x": range(6), "label": ["a", "a", "a", "a", "a", "b"]})
            >>> batches = iter(pipe.sample(by="label", num=10_000, seed=7).batch(10_000))
            >>> round(float(np.mean(next(batches)["label"] == "b")), 1)
            0.5
        """
        if (weights is None) == (by is None):
            what = "neither" if by is None else "both"
            raise ValueError(
                f"sample: got {what} of weights and by, expected one of them. Write "
                "sample(weights='weight') or sample(by='label')."
            )
        if by is not None and not isinstance(by, str):
            raise TypeError(f"sample: by is {by!r}, expected the name of a component.")
        weighted_by = _checked_weights(weights)
        if num is not None:
            checked_int("sample", "num", num, 0)
        chosen = random_seed() if seed is None else checked_int("sample", "seed", seed, 0)
        if has_epochs(self._stages):
            raise ValueError(
                "sample: cannot come after epochs, because each epoch has its own draws. Write "
                "sample(...) before epochs(...)."
            )
        if batch_depth(self._stages):
            raise ValueError(
                "sample: cannot come after batch, because it draws single examples. Write "
                "sample(...) before batch(...)."
            )
        reason = obstacle(self._stages, may_be_divided=True)
        if reason is not None:
            raise ValueError(
                f"sample: reads examples by number, but {reason}. Use a source with random access: "
                "arrays, Parquet, or uncompressed files. write(...) creates such files."
            )
        stage = Sample(weighted_by, by, num, chosen, seed is not None)
        return self._then(stage)


def _checked_weights(weights: object) -> "str | PassedWeights | None":
    """Returns a component's name, or the user's weights."""
    if weights is None or isinstance(weights, str):
        return weights
    try:
        array = np.asarray(weights)
        numbers = array.astype(np.float64) if array.dtype.kind in _KINDS_OF_WEIGHTS else None
    except (TypeError, ValueError):
        numbers = None
    if numbers is None or numbers.ndim != 1:
        raise TypeError(
            f"sample: weights is {weights!r}, expected the name of a component, or an array with "
            "one number per example."
        )
    invalid = invalid_weight(numbers)
    if invalid is not None:
        raise ValueError(
            f"sample: weight {invalid} of {len(numbers)} is {numbers[invalid]}, expected a finite "
            "number of at least 0. Weights are counted from 0."
        )
    check_sum("the weights", numbers)
    return PassedWeights(numbers)


def invalid_weight(weights: npt.NDArray[np.float64]) -> int | None:
    """Returns the index of the first weight that is negative or not finite, if any."""
    invalid = ~((weights >= 0) & np.isfinite(weights))
    return int(np.argmax(invalid)) if invalid.any() else None


def check_sum(what: str, weights: npt.NDArray[np.float64]) -> None:
    """Raises ValueError if all weights are 0, or their sum is too large for a float64."""
    with np.errstate(over="ignore"):
        total = weights.sum()
    if len(weights) and not 0 < total < np.inf:
        problem = "all 0" if not total else "so large that their sum is infinite"
        raise ValueError(
            f"sample: {what} are {problem}, expected finite numbers of at least 0, and one above 0."
        )


def check_nothing_is_drawn(steps_after: Sequence[Step]) -> None:
    """Checks that no examples are drawn if there are none.

    Args:
        steps_after: The steps that no example reaches.

    Raises:
        InvalidArgumentError: If a `sample` among them draws a fixed number of examples.
    """
    for step in steps_after:
        if step.effect is Effect.SAMPLES and step.num_drawn:
            raise InvalidArgumentError(
                None,
                None,
                f"sample: there are no examples to draw {step.num_drawn} from. Check the stages "
                "before it",
            )


def samples_of(chain: Sequence[Stage]) -> list[tuple[int, Sample]]:
    """Returns the stages whose weights are read from a component, with their indexes."""
    return [
        (index, cast("Sample", step))
        for index, step in enumerate(steps(chain), 1)
        if step.effect is Effect.SAMPLES and cast("Sample", step).component is not None
    ]
