"""``headrace top``: the speed and the stages of running pipelines."""

from __future__ import annotations

import click

__all__ = ["top"]


class _Top(click.Command):
    """The command. Options may follow a process ID, but those after a command belong to it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parses the arguments."""
        given = list(args)
        rest = super().parse_args(ctx, args)
        process, *options = ctx.params["what"] or ("",)
        if process.isdecimal() and options:
            ctx.params.clear()
            rest = super().parse_args(ctx, [*given[: -len(options) - 1], *options, process])
            if ctx.params["what"] != (process,):
                raise click.UsageError(f"got arguments after the process ID {process}.", ctx)
        return rest


@click.command(
    cls=_Top,
    short_help="Show the speed and the stages of a running pipeline.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.option(
    "--interval",
    "interval_s",
    type=click.FloatRange(min=0.1),
    default=1.0,
    show_default=True,
    help="Seconds between two measurements.",
)
@click.option("--once", is_flag=True, help="Print one measurement and exit.")
@click.option("--json", "as_json", is_flag=True, help="Print one measurement as JSON and exit.")
@click.argument("what", metavar="[PROCESS | COMMAND...]", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def top(
    context: click.Context, interval_s: float, once: bool, as_json: bool, what: tuple[str, ...]
) -> None:
    """Show the rate, the waiting time, the stages and the memory of running pipelines.

    PROCESS is the ID of a process that was started with HEADRACE_TOP=1 in its environment. Without
    PROCESS, the command shows all such processes. Only your own processes can be shown.

    COMMAND is a program to start, for example: headrace top python train.py. Its output is printed
    when it ends, and its exit code becomes that of this command. SIGTERM and SIGHUP are sent on to
    it.

    The exit code is 1 if the process does not report.
    """
    from headrace.cli.top.run import show_command, show_processes  # noqa: PLC0415 (see commands.py)

    if what and not (len(what) == 1 and what[0].isdecimal()):
        if once or as_json:
            raise click.UsageError("--once and --json need a running process, not a command.")
        context.exit(show_command(what, interval_s))
    show_processes(int(what[0]) if what else None, interval_s, once, as_json)
