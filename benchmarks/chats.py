"""Renders and tokenizes the same chats with TRL's templates: `python -m benchmarks.chats`."""

import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.environments import python_of
from benchmarks.workload import NO_GPU, ROOT

HOME = ROOT / ".bench" / "chats"
TEMPLATES = ("qwen3_training", "llama3_training", "gptoss_training")
COUNT = 6_000
BATCH_SIZE = 32
PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""The pattern of Qwen's tokenizers."""
BOS = "<|begin_of_text|>"

Batches = Iterable[tuple[Any, Any]]


def make(home: Path, count: int) -> None:
    """Writes chats in English, a tokenizer trained on them, and a folder for each template."""
    import re
    from pydoc_data.topics import topics

    import trl
    from tokenizers import (
        AddedToken,
        Regex,
        Tokenizer,
        models,
        normalizers,
        pre_tokenizers,
        trainers,
    )

    text = re.sub(r"\*+|`+|^[=~-]+$", "", "\n".join(topics.values()), flags=re.M)
    sentences = [one for one in re.split(r"(?<=[.:])\s+", text) if 20 < len(one) < 300]
    random = Random(1)

    def said(least: int, most: int) -> str:
        return " ".join(random.choices(sentences, k=random.randint(least, most)))

    with (home / "chats.jsonl").open("w", encoding="utf-8") as file:
        for _ in range(count):
            messages = [{"role": "system", "content": said(1, 2)}]
            for _ in range(random.randint(1, 4)):
                messages.append({"role": "user", "content": said(1, 4)})
                messages.append({"role": "assistant", "content": said(2, 8)})
            file.write(json.dumps({"messages": messages}, ensure_ascii=False) + "\n")
    folder = Path(trl.__file__).parent / "chat_templates"
    sources = {name: (folder / f"{name}.jinja").read_text("utf-8") for name in TEMPLATES}
    marks = {mark for source in sources.values() for mark in re.findall(r"<\|\w+\|>", source)}
    marks.add(BOS)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    split = pre_tokenizers.Split(Regex(PATTERN), "isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    trainer = trainers.BpeTrainer(
        vocab_size=16_000,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([text], trainer)
    tokenizer.add_special_tokens([AddedToken(mark, special=True) for mark in sorted(marks)])
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": BOS}
    for name, source in sources.items():
        (home / name).mkdir()
        tokenizer.save(str(home / name / "tokenizer.json"))
        (home / name / "tokenizer_config.json").write_text(json.dumps(config))
        (home / name / "chat_template.jinja").write_text(source, "utf-8")


def with_headrace(folder: Path, lines: Path) -> Batches:
    """Uses a native function, on one thread for each core."""
    import headrace as hr

    @hr.native
    def render(example: Any) -> Any:
        return hr.ops.chat(folder, example["messages"])._asdict()

    for batch in hr.json_lines(lines, {"messages": hr.Json}).map(render).padded_batch(BATCH_SIZE):
        yield batch["tokens"], batch["loss_weights"]


def with_transformers(folder: Path, lines: Path) -> Batches:
    """Uses transformers in two workers of a DataLoader."""
    import torch
    import transformers
    from torch.nn.utils.rnn import pad_sequence
    from torch.utils.data import DataLoader

    torch.set_num_threads(1)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    chats = [json.loads(line)["messages"] for line in lines.read_text("utf-8").splitlines()]

    class Chats(torch.utils.data.Dataset[Any]):
        def __len__(self) -> int:
            return len(chats)

        def __getitem__(self, index: int) -> Any:
            result = tokenizer.apply_chat_template(
                chats[index], return_dict=True, return_assistant_tokens_mask=True
            )
            return torch.tensor(result["input_ids"]), torch.tensor(result["assistant_masks"])

    def collate(examples: Any) -> Any:
        return tuple(pad_sequence(one, True) for one in zip(*examples, strict=True))

    return iter(DataLoader(Chats(), BATCH_SIZE, num_workers=2, collate_fn=collate))


PROGRAMS: dict[str, Callable[[Path, Path], Batches]] = {
    "headrace": with_headrace,
    "transformers": with_transformers,
}


def measure(name: str, template: str) -> None:
    """Runs a program, and prints its time, its processor time and sums over its batches."""
    batches = iter(PROGRAMS[name](HOME / template, HOME / "chats.jsonl"))
    tokens, trained = next(batches)
    sums = [int(tokens.sum()), int(trained.sum())]
    begin, cpu = time.perf_counter(), _cpu_seconds()
    for tokens, trained in batches:
        sums[0] += int(tokens.sum())
        sums[1] += int(trained.sum())
    seconds = time.perf_counter() - begin
    del batches
    print(json.dumps({"seconds": seconds, "cpu": _cpu_seconds() - cpu, "sums": sums}))


def _cpu_seconds() -> float:
    """Returns the processor time of this process and its workers."""
    both = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in both)


def run(*arguments: str) -> str:
    """Runs this module in the environment with transformers, and returns its output."""
    python = python_of("chat")
    if python is None:
        raise SystemExit("transformers and TRL cannot be installed")
    command = [python, "-m", "benchmarks.chats", *arguments]
    environment = {"PYTHONPATH": f"{ROOT / 'python'}:{ROOT}", "HF_HUB_OFFLINE": "1", **NO_GPU}
    done = subprocess.run(
        command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True, env=environment
    )
    return done.stdout


def main(rounds: int = 3) -> None:
    """Runs both programs in turn, with each template."""
    if not HOME.exists():
        HOME.mkdir(parents=True)
        run("make")
    for template in TEMPLATES:
        runs = [{name: json.loads(run(name, template)) for name in PROGRAMS} for _ in range(rounds)]
        if any(one["headrace"]["sums"] != one["transformers"]["sums"] for one in runs):
            raise AssertionError(f"{template}: the tokens or the masks differ")
        for name in PROGRAMS:
            rate = statistics.median((COUNT - BATCH_SIZE) / one[name]["seconds"] for one in runs)
            cpu = statistics.median(one[name]["cpu"] / COUNT * 1e6 for one in runs)
            print(f"{template}, {name}: {rate:,.0f} chats a second, {cpu:,.0f} µs each")
        ratios = [one["transformers"]["seconds"] / one["headrace"]["seconds"] for one in runs]
        print(f"{template}, headrace / transformers: {statistics.median(ratios):.1f}")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["make"]:
            make(HOME, COUNT)
        case [name, template]:
            measure(name, template)
        case _:
            main()
