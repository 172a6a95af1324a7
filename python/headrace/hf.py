"""Pipelines in Hugging Face's Trainer, with exact resume."""

import math
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

from headrace.core.optional_dependencies import missing_transformers
from headrace.pipeline import Pipeline
from headrace.pipeline.outputs.torch import TorchLoader
from headrace.pipeline.stages.components import all_steps, batch_depth, steps
from headrace.pipeline.stages.stage import Stages

__all__ = ["attach"]

# The name of the loader's state in Trainer's checkpoints.
_NAME: Final = "HeadraceLoader"


def attach(trainer: Any, train: Any, eval: Any = None) -> Any:
    """Makes a Trainer train on a pipeline, and resume exactly.

    The state of the pipeline becomes part of the trainer's checkpoints. After
    `trainer.train(resume_from_checkpoint=True)`, the next batch arrives at once: Trainer does not
    read and skip earlier batches. You can resume with a different number of processes if the
    pipeline supports it; see `Pipeline.resume`. Accelerate neither wraps nor shards the loader, so
    call `shard` in the pipeline if there are several processes.

    Trainer's own data options do not apply: batches arrive as the pipeline yields them, and
    `data_collator`, `per_device_train_batch_size` and `remove_unused_columns` are ignored.

    Args:
        trainer: A `transformers.Trainer`, or a trainer of TRL.
        train: The pipeline of training batches, or its loader from `to_torch`.
        eval: The pipeline of evaluation batches or its loader, or a dict of them by name. Every
            evaluation starts with epoch 0. If `TrainingArguments` has an `eval_strategy`, Trainer
            requires an `eval_dataset` when it is created, so pass the loader there as well. None
            keeps the trainer's evaluation data.

    Returns:
        The trainer.

    Raises:
        ModuleNotFoundError: If transformers is not installed.
        TypeError: If `trainer` is not a Trainer, or `train` or `eval` is not a pipeline.
        ValueError: If the pipeline has no `batch`, or is known to yield no batches; if its `shard`
            does not divide it among all processes; if the trainer already has a pipeline, or the
            loader already has a trainer; or if the trainer has `ignore_data_skip`.
    """
    if missing := missing_transformers():
        raise ModuleNotFoundError(f"hf.attach: {missing}")
    transformers = import_module("transformers")
    if not isinstance(trainer, transformers.Trainer):
        raise TypeError(
            f"hf.attach: trainer is a {type(trainer).__name__}, expected a transformers.Trainer."
        )
    if any(type(callback).__name__ == _NAME for callback in trainer.callback_handler.callbacks):
        raise ValueError(
            "hf.attach: this trainer has a pipeline already. Create a new trainer for another one."
        )
    if trainer.args.ignore_data_skip:
        raise ValueError(
            "hf.attach: ignore_data_skip is True, so Trainer would count steps wrongly after a "
            "resume. Set it to False; no data is read twice."
        )
    num_processes = trainer.args.world_size
    loader = _loader("train", train, num_processes)
    if loader.is_attached:
        raise ValueError(
            "hf.attach: train is already attached to another trainer, which sets its position. "
            "Pass the pipeline, or call to_torch() again."
        )
    loader.is_attached = True
    evaluated: Any = None
    if isinstance(eval, Mapping):
        evaluated = {name: _loader(f"eval[{name!r}]", one) for name, one in eval.items()}
    elif eval is not None:
        evaluated = _loader("eval", eval)
    _keep_position_on_skips()
    trainer.add_callback(_callback(transformers, loader))
    trainer.get_train_dataloader = lambda: loader
    if evaluated is not None:
        trainer.eval_dataset = evaluated
        trainer.get_eval_dataloader = _Evaluation(trainer)
    return trainer


class _Evaluation:
    """Returns an evaluation loader, at the beginning of epoch 0."""

    def __init__(self, trainer: Any) -> None:
        self._trainer: Final = trainer
        self._original: Final = trainer.get_eval_dataloader

    def __call__(self, eval_dataset: Any = None) -> Any:
        data = self._trainer.eval_dataset if eval_dataset is None else eval_dataset
        if isinstance(eval_dataset, str):
            data = self._trainer.eval_dataset[eval_dataset]
        if isinstance(data, Pipeline):
            data = data.to_torch()
        if not isinstance(data, TorchLoader):
            return self._original(eval_dataset)
        data.set_epoch(0)
        return data


def _loader(name: str, data: Any, num_processes: int | None = None) -> TorchLoader:
    """Returns the loader of a pipeline. The pipeline must yield batches.

    Args:
        name: The argument, for messages.
        data: The pipeline, or its loader.
        num_processes: The number of processes among which the pipeline must be divided. None for
            any number.
    """
    loader = data.to_torch() if isinstance(data, Pipeline) else data
    if not isinstance(loader, TorchLoader):
        raise TypeError(
            f"hf.attach: {name} is a {type(data).__name__}, expected a pipeline or its to_torch()."
        )
    chain = loader.pipeline._stages
    if batch_depth(chain) == 0:
        raise ValueError(
            f"hf.attach: the pipeline {name} has no batches. Call batch(size) at its end."
        )
    if num_processes is not None:
        _check_shares(name, chain, num_processes)
        if _known_length(loader) == 0:
            raise ValueError(
                f"hf.attach: the pipeline {name} yields no batches: it has no examples, or fewer "
                'than a batch with remainder="drop" needs. Check its files and its batch size.'
            )
    return loader


def _check_shares(name: str, chain: Stages, num_processes: int) -> None:
    """Raises ValueError unless the pipeline's shards match the processes."""
    shares = {step.num_shares for step in all_steps(chain)} - {1}
    if math.prod(step.num_shares for step in steps(chain)) == num_processes:
        return
    if num_processes > 1 and not shares:
        raise ValueError(
            f"hf.attach: there are {num_processes} processes, but the pipeline {name} has no "
            "shard, so all would train on the same examples. Call shard() before batch."
        )
    if shares - {num_processes}:
        remedy = "Remove shard." if num_processes == 1 else "Call shard() without arguments."
        raise ValueError(
            f"hf.attach: the pipeline {name} is divided among {max(shares)} ranks, but the number "
            f"of processes is {num_processes}, so examples would be left out. {remedy}"
        )


def _known_length(loader: TorchLoader) -> int | None:
    try:
        return len(loader)
    except TypeError:
        return None


def _callback(transformers: Any, loader: TorchLoader) -> Any:
    """Returns the callback that saves and restores a loader's position."""
    exportable = import_module("transformers.trainer_callback").ExportableState

    def state(_self: object) -> dict[str, Any]:
        return {"args": {}, "attributes": {"position": loader.state_dict()}}

    def on_train_begin(_self: object, args: Any, state: Any, control: Any, **_: Any) -> None:
        stored = state.stateful_callbacks.get(_NAME)
        stored = stored[-1] if isinstance(stored, list) else stored
        if state.global_step > 0:
            if stored is None:
                raise ValueError(
                    f"hf.attach: the checkpoint of step {state.global_step} has no position of a "
                    "pipeline, because it was saved without hf.attach. Start from the beginning, "
                    "or resume with the data of that run."
                )
            loader.load_state_dict(stored["attributes"]["position"])
        state.stateful_callbacks.setdefault(_NAME, {})

    # Trainer may recreate the callback from its class alone.
    kind = type(
        _NAME,
        (transformers.TrainerCallback, exportable),
        {"state": state, "on_train_begin": on_train_begin},
    )
    return kind()


def _keep_position_on_skips() -> None:
    """Makes Trainer count the batches before a checkpoint as skipped, without reading them."""
    module: Any = import_module("transformers.trainer")
    skip_first_batches = module.skip_first_batches
    if getattr(skip_first_batches, "keeps_position", False):
        return

    def skip(dataloader: Any, num_batches: int = 0) -> Any:
        is_attached = isinstance(dataloader, TorchLoader) and dataloader.is_attached
        return dataloader if is_attached else skip_first_batches(dataloader, num_batches)

    skip.keeps_position = True  # type: ignore[attr-defined]
    module.skip_first_batches = skip
