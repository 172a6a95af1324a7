"""Optional dependencies and how to install them."""

from importlib.util import find_spec
from typing import Final

__all__ = [
    "missing_absl",
    "missing_arrow",
    "missing_cli",
    "missing_grain",
    "missing_jax",
    "missing_keras",
    "missing_mlx",
    "missing_otlp",
    "missing_parquet",
    "missing_prometheus",
    "missing_protobuf",
    "missing_ray",
    "missing_torch",
    "missing_torchcodec",
    "missing_torchtitan",
    "missing_transformers",
    "missing_video",
]

_PROTOBUF: Final = "google.protobuf"
_OTLP: Final = ("opentelemetry.sdk.metrics", "opentelemetry.exporter.otlp.proto.http")
# The PyPI names of packages whose modules are named differently.
_PACKAGES: Final = {
    _PROTOBUF: "protobuf",
    "absl": "absl-py",
    "prometheus_client": "prometheus-client",
    _OTLP[0]: "opentelemetry-sdk",
    _OTLP[1]: "opentelemetry-exporter-otlp-proto-http",
}
_CLI: Final = ("click", "tqdm", _PROTOBUF)
# The right PyTorch build depends on the machine.
_NOT_INSTALLED: Final = "is not installed. Follow its own installation guide for your machine"


def missing_cli() -> str | None:
    """Returns how to install the packages for the commands, or None if none are missing."""
    return _missing(_CLI, "for the commands")


def missing_arrow() -> str | None:
    """Returns how to install the packages for Arrow arrays, or None if none are missing."""
    return _missing(("pyarrow",), "for Arrow arrays")


def missing_parquet() -> str | None:
    """Returns how to install the packages for Parquet commands, or None if none are missing."""
    return _missing(("pyarrow",), "for Parquet files")


def missing_absl() -> str | None:
    """Returns how to install the packages for TensorFlow 1 flags, or None if none are missing."""
    return _missing(("absl",), "for command-line flags")


def missing_protobuf() -> str | None:
    """Returns how to install the protocol buffer packages, or None if none are missing."""
    return _missing((_PROTOBUF,), "for messages such as Example")


def missing_prometheus() -> str | None:
    """Returns how to install the packages for Prometheus, or None if none are missing."""
    return _missing(("prometheus_client",), "which serves metrics")


def missing_keras() -> str | None:
    """Returns how to install the packages for Keras, or None if none are missing."""
    return _missing(("keras",), "which trains models")


def missing_grain() -> str | None:
    """Returns how to install the packages for Grain, or None if none are missing."""
    return _missing(("grain",), "which has the dataset's class")


def missing_torchtitan() -> str | None:
    """Returns how to install the packages for torchtitan, or None if none are missing."""
    return _missing(("torchtitan",), "which has the loader's class")


def missing_otlp() -> str | None:
    """Returns how to install the packages for OpenTelemetry, or None if none are missing."""
    return _missing(_OTLP, "which send metrics")


def missing_ray() -> str | None:
    """Returns how to install the packages for Ray, or None if none are missing."""
    return _missing(("ray",), "for readers on other machines")


def missing_video() -> str | None:
    """Returns how to install the packages that decode videos, or None if none are missing."""
    missing = _missing(("av",), "to decode videos")
    return missing and f"{missing}, or pip install 'headrace[video]'"


def missing_torchcodec() -> str | None:
    """Returns how to install the packages for torchcodec, or None if none are missing."""
    return _missing(("torch", "torchcodec"), "to decode videos with torchcodec")


def missing_torch() -> str | None:
    """Returns how to install the packages for PyTorch, or None if none are missing."""
    return None if find_spec("torch") else f"torch {_NOT_INSTALLED}"


def missing_transformers() -> str | None:
    """Returns how to install the packages for Hugging Face Trainer, or None if none are missing."""
    return _missing(("transformers", "accelerate"), "which have the Trainer")


def missing_jax() -> str | None:
    """Returns how to install the packages for JAX, or None if none are missing."""
    return None if find_spec("jax") else f"jax {_NOT_INSTALLED}"


def missing_mlx() -> str | None:
    """Returns how to install the packages for MLX, or None if none are missing."""
    return None if find_spec("mlx") else f"mlx {_NOT_INSTALLED}"


def _missing(names: tuple[str, ...], what_for: str) -> str | None:
    missing = [name for name in names if not _is_there(name)]
    if not missing:
        return None
    packages = [_PACKAGES.get(name, name) for name in missing]
    # This does not suggest an extra, because pip would look for headrace on PyPI, and it may not be
    # there.
    return (
        f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} required {what_for}, "
        f"but not installed. Install {'it' if len(missing) == 1 else 'them'}: pip install "
        f"{' '.join(packages)}"
    )


def _is_there(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # The parent package is missing.
        return False
