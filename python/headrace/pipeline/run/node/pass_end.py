"""The end of a pass, as reported by the owner of a node's engine."""

from dataclasses import dataclass

__all__ = ["NodePassEnd"]


@dataclass(frozen=True)
class NodePassEnd:
    """The end of a pass through a `skip_errors` stage; see `engine.PassEnd`."""

    skipper: int
    pass_number: int
    num_rows: int
