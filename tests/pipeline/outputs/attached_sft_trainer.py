"""TRL's SFTTrainer with a small random model; a program of test_hf.py.

    python attached_sft_trainer.py DIRECTORY

Prints, as JSON, the losses and weights of a training, and of one that resumes at step 3.
"""

import json
import sys
import warnings

import datasets
import numpy as np
import torch
from tokenizers import Tokenizer, models
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import SFTConfig, SFTTrainer

import headrace as hr

NUM_WORDS = 64


def pipeline():
    tokens = np.random.default_rng(0).integers(1, NUM_WORDS, (64, 12))
    columns = {"input_ids": tokens, "labels": tokens, "attention_mask": np.ones_like(tokens)}
    return hr.arrays(columns).shuffle(seed=1).batch(4)


def tokenizer():
    words = {"<end>": 0, **{f"w{number}": number for number in range(1, NUM_WORDS)}}
    model = Tokenizer(models.WordLevel(words, "<end>"))
    return PreTrainedTokenizerFast(tokenizer_object=model, eos_token="<end>", pad_token="<end>")


def train(directory, checkpoint=None):
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 2}
    model = LlamaForCausalLM(LlamaConfig(vocab_size=NUM_WORDS, **sizes, **heads))
    options = {"report_to": [], "use_cpu": True, "bf16": False, "disable_tqdm": True}
    arguments = SFTConfig(directory, max_steps=6, save_steps=1, logging_steps=1, **options)
    unused = datasets.Dataset.from_dict({"input_ids": [[0]], "labels": [[0]]})
    trainer = SFTTrainer(model, arguments, train_dataset=unused, processing_class=tokenizer())
    hr.hf.attach(trainer, pipeline()).train(resume_from_checkpoint=checkpoint)
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    return [losses, [weight.double().sum().item() for weight in model.parameters()]]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    directory = sys.argv[1]
    print(json.dumps([train(directory), train(directory, f"{directory}/checkpoint-3")]))
