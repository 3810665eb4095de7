"""Rows about a running service: CPU of a request beside its run, and memory under many requests."""

import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from trust.report import Row

import amp
from amp._cli.inference_client import Client

from .networks import ROOT

sys.path.insert(0, str(ROOT / "tests" / "python" / "serving"))

from services import serving  # noqa: E402

_SHAPE = (1, 3, 224, 224)  # 602,112 bytes
_CALLERS = 8


def rows(options):
    """A model that does next to nothing, so that what is seen is the service."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "net.plan"
        net = amp.sym.Pooling(amp.sym.Variable("data"), global_pool=True, pool_type="max", kernel=(1, 1))
        run = amp.Executor(net, {}, {}, {"data": _SHAPE}, num_threads=1)
        run.save(path)
        image = np.random.default_rng(0).standard_normal(_SHAPE, dtype=np.float32)
        with serving(path, "--sessions", "1") as service:
            client = Client(f"http://127.0.0.1:{service.port}/v2/models/net")
            yield overhead_row(client, service, run, image)
            yield memory_row(client, service, image, 100_000 if options.long else 2000)


def overhead_row(client, service, run, image):
    """CPU of the service's process for a request of 600 KB as bytes, less that of the run."""
    request = client.request({"data": image})
    for _ in range(20):
        client.answer(*request)
    seen = []
    for _ in range(5):
        before = _cpu_seconds(service.process.pid)
        for _ in range(100):
            client.answer(*request)
        seen.append((_cpu_seconds(service.process.pid) - before) / 100)
    begin = time.process_time()
    for _ in range(100):
        run(image)
    alone = (time.process_time() - begin) / 100
    overhead = 1000 * (sorted(seen)[2] - alone)
    return Row("service: CPU ms of a request of 600 KB beside its run", "<= 2.5", f"{overhead:.2f}", overhead <= 2.5)


def memory_row(client, service, image, count):
    """Resident memory of the service after 1,000 requests, and after `count` more."""
    request = client.request({"data": image})
    with ThreadPoolExecutor(_CALLERS) as workers:
        for _ in workers.map(lambda _: client.answer(*request), range(1000)):
            pass
        before = _resident_mb(service.process.pid)
        for _ in workers.map(lambda _: client.answer(*request), range(count)):
            pass
    grown = _resident_mb(service.process.pid) / before - 1
    seen = f"{grown:+.1%} of {before:.0f} MB after {count} more"
    return Row("service: memory", "+2 % at most", seen, grown <= 0.02)


def _cpu_seconds(process):
    """User and system time of a process, from /proc/PID/schedstat of its threads (ns)."""
    total = 0
    for thread in Path(f"/proc/{process}/task").iterdir():
        total += int((thread / "schedstat").read_text().split()[0])
    return total / 1e9


def _resident_mb(process):
    with open(f"/proc/{process}/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS"))
