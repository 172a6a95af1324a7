"""``headrace tokenize``: writes texts as a file of tokens."""

from __future__ import annotations

import click

from headrace.cli.wording import count_of
from headrace.core.repr_prefix import printable

__all__ = ["tokenize"]


@click.command(short_help="Convert texts to a token file.")
@click.argument("tokenizer", metavar="TOKENIZER")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.argument("output", metavar="OUTPUT")
@click.option(
    "--key", default="text", show_default=True, help="Key or column that contains the text."
)
@click.option("--lines", is_flag=True, help="Treat each line of a text file as a document.")
@click.option(
    "--append-eod",
    "end",
    metavar="TOKEN",
    help="Token to append to each document, such as <|endoftext|>.",
)
@click.option("--add-special-tokens", is_flag=True, help="Add the tokenizer's special tokens.")
@click.option(
    "--workers", type=click.IntRange(min=1), help="Number of threads. By default, one per core."
)
@click.option("--overwrite", is_flag=True, help="Replace existing files.")
@click.option("--quiet", is_flag=True, help="Print nothing.")
def tokenize(
    tokenizer: str,
    sources: tuple[str, ...],
    output: str,
    key: str,
    lines: bool,
    end: str | None,
    add_special_tokens: bool,
    workers: int | None,
    overwrite: bool,
    quiet: bool,
) -> None:
    """Convert texts to token files, OUTPUT.bin and OUTPUT.idx, for hr.tokens and Megatron.

    TOKENIZER is a tokenizer.json file. Each SOURCE is a file, a directory, a pattern or a URL. In
    JSON lines and Parquet, each line or row is a document. A text file is a single document, unless
    you pass --lines.

    Documents keep the order of the sources, and are never truncated or padded. Tokens are stored as
    uint16 if the vocabulary is small, as in Megatron, and otherwise as int32.

    The exit code is 1 if the command fails, and 130 after Ctrl-C. In both cases, nothing is
    written.
    """
    from headrace.cli.interrupts import Interrupted, Interrupts  # noqa: PLC0415 (see commands.py)
    from headrace.cli.tokenize.run import Request, run  # noqa: PLC0415

    request = Request(
        tokenizer=tokenizer,
        sources=sources,
        output=output,
        key=key,
        has_lines=lines,
        end=end,
        adds_special_tokens=add_special_tokens,
        num_threads=workers,
        overwrites=overwrite,
        shows_progress=not quiet,
    )
    try:
        with Interrupts() as interrupts:
            written = run(request, interrupts)
    except Interrupted as interruption:
        click.echo("Interrupted. Nothing was written.", err=True)
        click.get_current_context().exit(interruption.exit_code)
    if quiet:
        return
    if written.num_empty:
        texts = count_of(written.num_empty, "text")
        click.echo(f"{texts} without tokens skipped", err=True)
    documents = count_of(written.num_documents, "document")
    tokens = count_of(written.num_tokens, "token")
    click.echo(f"{printable(written.path)}: {documents}, {tokens} of {written.dtype}")
