"""The group of all commands.

Apart from click, a command imports its modules when it runs, so that ``--help`` is fast.
"""

from __future__ import annotations

import click

from headrace.cli.audit.command import audit
from headrace.cli.bench.command import bench
from headrace.cli.convert.command import convert
from headrace.cli.demo import demo
from headrace.cli.failures import Commands
from headrace.cli.index.command import index
from headrace.cli.inspect.command import inspect
from headrace.cli.replay.command import replay
from headrace.cli.show.command import show
from headrace.cli.state.command import state
from headrace.cli.tokenize.command import tokenize
from headrace.cli.top.command import top
from headrace.cli.verify.command import verify


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="headrace", prog_name="headrace")
def headrace() -> None:
    """Inspect, check and convert data files, and measure data pipelines."""


for command in (
    inspect,
    verify,
    convert,
    index,
    tokenize,
    show,
    bench,
    top,
    state,
    replay,
    audit,
    demo,
):
    headrace.add_command(command)
