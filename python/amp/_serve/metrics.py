"""What a service tells Prometheus. With several workers, files that they share hold the numbers of all."""

from __future__ import annotations

import os

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # an environment variable that prometheus_client reads when it is imported
disable_created_metrics()  # times at which counters began, which double what is read
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class Metrics:
    """The metrics of one worker. `pool_stats` gives the numbers of its pool."""

    def __init__(self, model, pool_stats):
        self._registry, self._pool_stats, self._told = CollectorRegistry(), pool_stats, {}
        options = {"registry": self._registry}
        of_model = {"labelnames": ["model"], **options}
        self._requests = Counter("amp_requests", "Answered requests.", ["model", "status"], **options)
        self._seconds = Histogram(
            "amp_request_seconds", "Seconds from a request's headers to its answer.", buckets=_SECONDS, **of_model
        ).labels(model)
        self._gauges = {
            key: Gauge(f"amp_{key}_requests", f"Requests that are {key}.", multiprocess_mode="livesum", **of_model)
            for key in ("waiting", "running")
        }
        self._counters = {
            "seconds_waited": Counter("amp_waited_seconds", "Seconds that requests waited for a session.", **of_model),
            "seconds_run": Counter("amp_run_seconds", "Seconds of runs, of all sessions together.", **of_model),
        }
        self._model = model

    def count(self, status, seconds):
        """Counts an answered request."""
        self._requests.labels(self._model, str(status)).inc()
        self._seconds.observe(seconds)
        self._update()

    def text(self):
        """(text, content type) for /metrics."""
        self._update()
        registry = self._registry
        if SHARED_FOLDER in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)
        return generate_latest(registry), CONTENT_TYPE_LATEST

    def _update(self):
        stats = self._pool_stats()
        for key, gauge in self._gauges.items():
            gauge.labels(self._model).set(stats[key])
        for key, counter in self._counters.items():
            counter.labels(self._model).inc(stats[key] - self._told.get(key, 0))
        self._told = stats


def forget_worker(process, folder):
    """Takes the gauges of a worker that has ended out of the shared files."""
    mark_process_dead(process, folder)
