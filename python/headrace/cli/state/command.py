"""``headrace state``: describes the saved state of an iteration."""

from __future__ import annotations

import click

from headrace.cli.wording import echo_json

__all__ = ["state"]


@click.command(short_help="Describe a saved state.")
@click.argument("file", metavar="FILE")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def state(file: str, as_json: bool) -> None:
    """Describe a saved state: its pipeline, and the position at which it resumes.

    FILE is a JSON file that contains the result of Batches.state(), alone or inside another value,
    such as a checkpoint. Use "-" for stdin. FILE can also be the checkpoint of a session.

    The exit code is 1 if the file contains no state, or if a state is damaged.
    """
    from headrace.cli.file_kinds import Kind, content_of  # noqa: PLC0415 (see commands.py)
    from headrace.cli.inspect.output import Output  # noqa: PLC0415
    from headrace.cli.inspect.report import InspectOptions  # noqa: PLC0415
    from headrace.cli.state.find import found_states  # noqa: PLC0415
    from headrace.cli.state.report import lines_of_state, report_of_state  # noqa: PLC0415

    if file != "-" and content_of(file).kind == Kind.SESSION:
        output = Output(InspectOptions(0, 0, not as_json), None, not as_json)
        output.add(file)
        if as_json:
            echo_json({"file": file, "states": [], "session": output.reports[0]})
        click.get_current_context().exit(0 if output.is_whole else 1)
    reports = [(each.where, report_of_state(each.state)) for each in found_states(file)]
    if as_json:
        states = [{"where": where, **report} for where, report in reports]
        echo_json({"file": file, "states": states, "session": None})
        return
    for number, (where, report) in enumerate(reports):
        if number:
            click.echo()
        click.echo(f"{file}: {where}" if where else file)
        for line in lines_of_state(report):
            click.echo(f"  {line}")
