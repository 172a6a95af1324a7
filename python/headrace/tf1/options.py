"""Session options that are accepted but have no effect."""

from headrace.tf1.session import options

__all__ = ["ConfigProto", "GPUOptions"]


class GPUOptions(options.Options):
    """Accepted and ignored."""


class ConfigProto(options.ConfigProto):
    """Options of a session; see `headrace.tf1.session.options.ConfigProto`.

    Attributes:
        gpu_options: Accepted and ignored.
    """

    def __init__(self, **fields: object) -> None:
        self.gpu_options = GPUOptions()
        super().__init__(**fields)
