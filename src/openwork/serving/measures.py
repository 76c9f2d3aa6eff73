"""What a server counts, for Prometheus."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from openwork.serving.errors import OPENAI_PATHS
from openwork.serving.service import Service

PATHS = (
    "/v1/translate", "/v1/bundles", "/translate", "/languages", "/detect", "/health", "/ready", "/metrics", "/docs",
    "/v1/documents", "/translate_file", "/v1/attention", "/v1/beam", "/v1/explain", "/v1/map", "/",
    *OPENAI_PATHS,
)  # fmt: skip
SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Measures:
    """Requests by path and status, their times, texts and tokens, and how full the queue is."""

    def __init__(self, service: Service) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter("openwork_requests", "Requests", ["path", "status"], registry=self.registry)
        self._seconds = Histogram(
            "openwork_request_seconds", "Seconds of a request", ["path"], buckets=SECONDS, registry=self.registry
        )
        self._texts = Counter("openwork_texts", "Texts that were translated", ["bundle"], registry=self.registry)
        self._tokens = Counter("openwork_source_tokens", "Their tokens", ["bundle"], registry=self.registry)
        for name, what, read in (
            ("openwork_queue_tokens", "Tokens that wait", lambda: service.queue.tokens),
            ("openwork_queue_texts", "Texts that wait", lambda: len(service.queue)),
            ("openwork_texts_under_way", "Texts that are translated now", lambda: service.pool.under_way),
            ("openwork_restarts", "Processes that were replaced", lambda: service.pool.restarts),
        ):
            Gauge(name, what, registry=self.registry).set_function(read)

    def request(self, path: str, status: int, seconds: float) -> None:
        known = path if path in PATHS else "other"  # so that a stranger's paths fill no memory
        self._requests.labels(known, str(status)).inc()
        self._seconds.labels(known).observe(seconds)

    def text(self, bundle: str, tokens: int) -> None:
        self._texts.labels(bundle).inc()
        self._tokens.labels(bundle).inc(tokens)

    def shown(self) -> bytes:
        return generate_latest(self.registry)
