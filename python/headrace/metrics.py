"""Exports metrics to Prometheus and OpenTelemetry.

The metrics are sums over all iterations of this process. Their names are the same as in
`Batches.metrics`.
"""

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from types import TracebackType
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from headrace.core.engine import version
from headrace.core.optional_dependencies import missing_otlp, missing_prometheus
from headrace.pipeline.run.metrics import METRICS, process_metrics

__all__ = ["Exporter", "export"]

_DEFAULT_PORT: Final = 9464
_DEFAULT_ENDPOINT: Final = "http://localhost:4318"
_OTLP_PATH: Final = "/v1/metrics"


class Exporter:
    """A running export. It ends with the process, on `close`, or at the end of a `with` block.

    Attributes:
        port: The port on which Prometheus can read the metrics. None for "otlp".
    """

    def __init__(self, end: Callable[[], object], port: int | None = None) -> None:
        self._end: Callable[[], object] | None = end
        self.port: Final = port

    def close(self) -> None:
        """Stops the export. OpenTelemetry sends the last values first."""
        end, self._end = self._end, None
        if end is not None:
            end()

    def __enter__(self) -> "Exporter":
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def export(
    target: Literal["prometheus", "otlp"],
    *,
    port: int | None = None,
    endpoint: str | None = None,
    interval_s: float = 60.0,
) -> Exporter:
    """Exports the metrics of all iterations of this process until the process ends.

    "prometheus" serves them over HTTP under `/metrics` on `port`, on all addresses of this machine,
    together with everything else in `prometheus_client`'s default registry. "otlp" sends them to an
    OpenTelemetry collector over HTTP.

    Call this once in each process that iterates over a pipeline. If several processes run on one
    machine, use a different port for each.

    Args:
        target: "prometheus", which requires the package `prometheus_client`, or "otlp", which
            requires `opentelemetry-sdk` and `opentelemetry-exporter-otlp-proto-http`.
        port: The port for Prometheus. Defaults to 9464. With 0, the system picks a free port. See
            `Exporter.port`.
        endpoint: The URL of the collector for "otlp". Defaults to "http://localhost:4318". If the
            URL has no path, `/v1/metrics` is added.
        interval_s: The time in seconds between two exports with "otlp".

    Returns:
        An object whose `close` method ends the export.

    Raises:
        ModuleNotFoundError: If a required package is not installed.
        ValueError: If `target` is unknown, an option belongs to the other target, or this process
            already exports to Prometheus.
        OSError: If the port is in use.

    Examples:
        >>> exporter = hr.metrics.export("prometheus", port=9464)  # doctest: +SKIP
    """
    if target == "prometheus":
        if endpoint is not None:
            raise ValueError('metrics.export: endpoint is for "otlp". Use port for "prometheus".')
        return _export_to_prometheus(_DEFAULT_PORT if port is None else port)
    if target == "otlp":
        if port is not None:
            raise ValueError('metrics.export: port is for "prometheus". Use endpoint for "otlp".')
        return _export_to_otlp(_DEFAULT_ENDPOINT if endpoint is None else endpoint, interval_s)
    raise ValueError(f"metrics.export: target is {target!r}, expected 'prometheus' or 'otlp'.")


class _Collector:
    """Creates the metrics for `prometheus_client` on request."""

    def __init__(self) -> None:
        self._core: Any = import_module("prometheus_client.core")

    def describe(self) -> list[Any]:
        """Returns the metric families without values, so that duplicates are detected."""
        return [self._family(name) for name in METRICS]

    def collect(self) -> Iterator[Any]:
        """Yields the metric families with their values."""
        for name, value in process_metrics().items():
            family = self._family(name)
            for label, number in value.items() if isinstance(value, Mapping) else ((None, value),):
                family.add_metric([] if label is None else [label], number)
            yield family

    def _family(self, name: str) -> Any:
        metric = METRICS[name]
        labels = [] if metric.label is None else [metric.label]
        families = self._core
        make = families.CounterMetricFamily if metric.is_counter else families.GaugeMetricFamily
        return make(name, metric.description, labels=labels)


def _export_to_prometheus(port: int) -> Exporter:
    if missing := missing_prometheus():
        raise ModuleNotFoundError(f"metrics.export: {missing}")
    prometheus = import_module("prometheus_client")
    collector = _Collector()
    try:
        prometheus.REGISTRY.register(collector)
    except ValueError as error:
        raise ValueError(
            "metrics.export: this process exports to Prometheus already. Close the first exporter "
            "before you start another one."
        ) from error
    try:
        server, thread = prometheus.start_http_server(port)
    except BaseException:
        prometheus.REGISTRY.unregister(collector)
        raise

    def end() -> None:
        prometheus.REGISTRY.unregister(collector)
        server.shutdown()
        server.server_close()
        thread.join()

    return Exporter(end, server.server_port)


def _export_to_otlp(endpoint: str, interval_s: float) -> Exporter:
    if missing := missing_otlp():
        raise ModuleNotFoundError(f"metrics.export: {missing}")
    sender = import_module("opentelemetry.exporter.otlp.proto.http.metric_exporter")
    sdk = import_module("opentelemetry.sdk.metrics.export")
    metrics = import_module("opentelemetry.sdk.metrics")
    url = endpoint if urlsplit(endpoint).path.strip("/") else endpoint.rstrip("/") + _OTLP_PATH
    reader = sdk.PeriodicExportingMetricReader(
        sender.OTLPMetricExporter(endpoint=url), export_interval_millis=interval_s * 1000
    )
    provider = metrics.MeterProvider([reader])
    meter = provider.get_meter("headrace", version)
    for name, metric in METRICS.items():
        create = (
            meter.create_observable_counter if metric.is_counter else meter.create_observable_gauge
        )
        create(name, [_observe(name, metric.label)], description=metric.description)
    return Exporter(provider.shutdown)


def _observe(name: str, label: str | None) -> Callable[[Any], list[Any]]:
    """Returns a callback that reads one metric."""
    observation = import_module("opentelemetry.metrics").Observation

    def observe(_options: Any) -> list[Any]:
        value = process_metrics()[name]
        if isinstance(value, Mapping):
            return [observation(number, {label: key}) for key, number in value.items()]
        return [observation(value)]

    return observe
