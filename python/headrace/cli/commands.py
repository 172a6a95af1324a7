"""The group of all commands."""

from __future__ import annotations

import click

from headrace.cli.demo import demo


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="headrace", prog_name="headrace")
def headrace() -> None:
    """Feeds training loops: file names go in, shuffled batches come out."""


headrace.add_command(demo)
