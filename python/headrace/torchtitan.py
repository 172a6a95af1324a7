"""Pipelines in torchtitan, on any number of data-parallel ranks."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

from headrace.core.optional_dependencies import missing_torchtitan
from headrace.pipeline import Pipeline
from headrace.pipeline.outputs.tensors import Tensors
from headrace.pipeline.run.state import keys_of, state_from_text, state_text
from headrace.pipeline.stages.arguments import checked_int
from headrace.pipeline.stages.components import all_steps, batch_depth
from headrace.pipeline.stages.stage import Effect

if missing := missing_torchtitan():
    raise ModuleNotFoundError(f"headrace.torchtitan: {missing}", name="torchtitan")

import tyro
from torchtitan.components.dataloader import BaseDataLoader

if not hasattr(BaseDataLoader, "Config"):
    raise ImportError(
        "headrace.torchtitan: this release of torchtitan has no BaseDataLoader.Config, which "
        "torchtitan 0.3 added. Update it: pip install 'torchtitan>=0.3'",
        name="torchtitan",
    )

__all__ = ["DataLoader"]

_RANK: Final = "dp_rank_"
# Every rank saves its state under this key, because any rank's state serves all ranks. PyTorch can
# load a checkpoint only if it contains the loading rank's key. Rank 0 always exists.
_KEY: Final = f"{_RANK}0"


class DataLoader(BaseDataLoader):  # type: ignore[misc]
    """torchtitan's `BaseDataLoader` over a pipeline, whose state works on any number of ranks.

    The pipeline yields single examples. The loader divides them among the data-parallel ranks and
    collects them in batches. A batch has the form that torchtitan's trainer expects: a dict of
    input tensors, and the tensor of labels.

    Every rank can load the state of any rank, even with a different number of ranks. If you keep
    the total number of examples per step, you get exactly the batches of an uninterrupted run.

    In torchtitan's configuration, use `DataLoader.Config`:

    ```text
    dataloader = headrace.torchtitan.DataLoader.Config(pipeline=rows)
    ```

    Attributes:
        dp_rank: The data-parallel rank.
        dp_world_size: The number of data-parallel ranks.
        batch_size: The number of examples in a batch of this rank.
    """

    @dataclass(kw_only=True, slots=True)
    class Config(BaseDataLoader.Config):  # type: ignore[misc]
        """The `dataloader` entry in torchtitan's configuration.

        Attributes:
            pipeline: The pipeline, or a function that receives torchtitan's tokenizer and
                `seq_len`, and returns it.
            labels: See `DataLoader`.
            infinite: See `DataLoader`. torchtitan sets it for validation.
            pin_memory: See `DataLoader`.
        """

        pipeline: Annotated[Any, tyro.conf.Suppress] = None  # Not an option of the command line.
        labels: str = "labels"
        infinite: bool = True
        pin_memory: bool = False

        def build(
            self,
            *,
            dp_rank: int,
            dp_world_size: int,
            local_batch_size: int,
            tokenizer: Any = None,
            seq_len: int = 0,
            **_: Any,
        ) -> "DataLoader":
            """Returns the loader of one rank. torchtitan's trainer calls this.

            Args:
                dp_rank: See `DataLoader`.
                dp_world_size: See `DataLoader`.
                local_batch_size: The number of examples in a batch of this rank.
                tokenizer: Passed to the function `pipeline`.
                seq_len: Passed to the function `pipeline`.
            """
            pipe: Any = self.pipeline
            if callable(pipe):
                pipe = pipe(tokenizer, seq_len)
            return DataLoader(
                pipe,
                dp_rank,
                dp_world_size,
                local_batch_size,
                labels=self.labels,
                infinite=self.infinite,
                pin_memory=self.pin_memory,
            )

    def __init__(
        self,
        pipe: Pipeline,
        dp_rank: int,
        dp_world_size: int,
        batch_size: int,
        *,
        labels: str = "labels",
        infinite: bool = True,
        pin_memory: bool = False,
    ) -> None:
        """Adds `epochs`, `shard` and `batch` to the pipeline. Nothing is read yet.

        Args:
            pipe: The pipeline, without `epochs`, `shard` and `batch`. With several ranks, its
                shuffles need a seed.
            dp_rank: The data-parallel rank, from 0.
            dp_world_size: The number of data-parallel ranks.
            batch_size: The number of examples in a batch of this rank.
            labels: The component with the labels. The others are inputs.
            infinite: If True, the next epoch follows each epoch. If False, iteration stops after
                one epoch, and the last examples that don't make a batch for every rank are dropped.
            pin_memory: If True, tensors are copied to pinned memory.

        Raises:
            TypeError: If `pipe` is not a pipeline.
            ValueError: If it has one of these stages, or lacks the labels, or an argument is out of
                range.
        """
        if not isinstance(pipe, Pipeline):
            raise TypeError(
                f"torchtitan.DataLoader: pipeline is a {type(pipe).__name__}, expected a pipeline, "
                "or in Config also a function of the tokenizer and seq_len that returns one."
            )
        _check_stages(pipe)
        if labels not in pipe.spec:
            raise ValueError(
                f"torchtitan.DataLoader: the pipeline has no component {labels!r}, only "
                f"{', '.join(map(repr, pipe.spec))}. Pass its name with labels=."
            )
        self.dp_rank: Final = dp_rank
        self.dp_world_size: Final = dp_world_size
        self.batch_size: Final = checked_int("torchtitan.DataLoader", "batch_size", batch_size, 1)
        repeated = pipe.epochs() if infinite else pipe
        share = repeated.shard(dp_rank, dp_world_size, even="drop")
        self._pipe: Final = share.batch(batch_size, remainder="drop")
        self._labels: Final = labels
        self._pins: Final = pin_memory
        # The iteration of the last batch or state, and the iteration that the next loop continues.
        self._tensors: Tensors | None = None
        self._resumed: Tensors | None = None

    def __iter__(self) -> Iterator[tuple[dict[str, Any], Any]]:
        """Yields the inputs and the labels of each batch.

        A loop starts at the beginning, or at the state that was loaded last.
        """
        tensors = self._start(None) if self._resumed is None else self._resumed
        self._tensors, self._resumed = tensors, None
        while (batch := next(tensors, None)) is not None:
            labels = batch.pop(self._labels)
            yield batch, labels

    def _start(self, state: Mapping[str, Any] | None) -> Tensors:
        return Tensors(self._pipe.resume(state), None, self._pins)

    def state_dict(self) -> dict[str, Any]:
        """Returns the position after the last batch that your loop received.

        The keys are the same on each rank and for each number of ranks: `dp_rank_0`, with the
        position as text (empty before the first batch), and `world_size`.
        """
        text = "" if self._tensors is None else state_text(self._tensors.state())
        return {_KEY: text, "world_size": self.dp_world_size}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Makes the next loop continue from a result of `state_dict` from any rank.

        Args:
            state_dict: The result of `state_dict`, from any number of ranks. An empty one changes
                nothing.

        Raises:
            ValueError: If `state_dict` is something else or belongs to another pipeline, or if the
                position is not a multiple of the number of ranks.
        """
        if isinstance(state_dict, Mapping) and not state_dict:
            return
        text = _position_text(state_dict)
        if not isinstance(text, str):
            raise ValueError(
                f"torchtitan.DataLoader: got {keys_of(state_dict)}, expected the result of "
                "state_dict() of this class. If torchtitan's own loader saved the checkpoint, "
                'set checkpoint.exclude_from_loading to ["dataloader"] to start with the first '
                "batch."
            )
        self._tensors = self._resumed = None
        if text:
            self._tensors = self._resumed = self._start(state_from_text(text))


def _position_text(state_dict: object) -> object:
    """Returns the position in a state, or None if it has none."""
    if not isinstance(state_dict, Mapping):
        return None
    keys = sorted(key for key in state_dict if str(key).startswith(_RANK))
    return state_dict[keys[0]] if keys else None


def _check_stages(pipe: Pipeline) -> None:
    """Raises ValueError if a pipeline has stages that the loader itself adds."""
    chain = pipe._stages
    effects = {step.effect: step for step in all_steps(chain)}
    if batch_depth(chain) > 0:
        stage, reason = "batch", "torchtitan sets the number of examples in a batch"
    elif Effect.DIVIDES in effects:
        stage, reason = "shard", "the loader divides the examples among torchtitan's ranks"
    elif Effect.REPEATS in effects:
        stage, reason = "epochs", "the loader starts the epochs"
    else:
        return
    raise ValueError(
        f"torchtitan.DataLoader: the pipeline has {stage}(...), but {reason}. Remove {stage}."
    )
