"""``headrace show``: writes a pipeline's stages and first examples to an HTML file."""

from __future__ import annotations

import click

__all__ = ["show"]


@click.command(short_help="Write a pipeline's first examples to an HTML file.")
@click.argument("program", metavar="MODULE:NAME")
@click.option(
    "--html",
    "path",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="The file to write. By default, NAME.html.",
)
@click.option(
    "--examples",
    "count",
    type=click.IntRange(min=1),
    default=4,
    show_default=True,
    help="Number of examples, or of batches.",
)
def show(program: str, path: str | None, count: int) -> None:
    """Write a pipeline's stages and its first examples to an HTML file.

    MODULE:NAME is a pipeline, or a function that returns one. FILE.py:NAME also works. The page
    shows pictures, sounds, texts and numbers as Pipeline.show does. It loads nothing from other
    files or hosts, so you can send it to others.

    The exit code is 1 if the program or the pipeline fails.
    """
    from headrace.cli.bench.program import pipeline_of  # noqa: PLC0415 (see commands.py)
    from headrace.cli.failures import Failure, failure_of  # noqa: PLC0415
    from headrace.cli.wording import count_of  # noqa: PLC0415
    from headrace.core.html import Html, page  # noqa: PLC0415
    from headrace.io.atomic_file import replacing  # noqa: PLC0415

    pipe = pipeline_of(program)
    name = program.rpartition(":")[2]
    try:
        examples = pipe.show(count)
    except Exception as error:
        if failure_of(error):
            raise
        notes = " ".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())])
        raise Failure(f"{program}: {notes}") from error
    path = path or f"{name}.html"
    text = page(program, Html(pipe._repr_html_()), Html(examples._repr_html_()))
    with replacing(path) as file:
        file.write(text.encode())
    click.echo(f"{path}: {count_of(len(examples), *examples.nouns)}")
