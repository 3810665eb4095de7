"""Rows about memory: of executors whose parameters come from files, and of sessions."""

import json

from trust.report import Row

from .networks import NETWORKS, checkpoint, in_process, plan, shapes_of

_CODE_MB = 10  # that binding a network of 60 layers with small weights takes: compiled kernels, primitives, its graph

# Prints the MB that binding added, at its peak and when it was done, beyond a process that has imported all it needs.
BIND = """
import json, sys
import numpy as np
import amp

def fields():
    with open("/proc/self/status") as status:
        lines = dict(line.split(":", 1) for line in status)
    return [int(lines[name].split()[0]) / 1024 for name in ("VmHWM", "VmRSS")]

symbol, params, shapes, precision = sys.argv[1:]
x = amp.sym.Variable("x")
amp.Executor(amp.sym.FullyConnected(x, num_hidden=4, name="fc"), {"fc_weight": np.ones((4, 4), "float32"),
             "fc_bias": np.ones(4, "float32")}, {}, {"x": (1, 4)}, num_threads=1)
before = fields()[1]
reduced = "bfloat16" if precision == "bf16" else None
run = amp.Executor.open(symbol, params, {k: tuple(v) for k, v in json.loads(shapes).items()},
                        reduce_precision=reduced, num_threads=1)
peak, after = fields()
print(json.dumps({"peak": peak - before, "after": after - before}))
"""


def rows(_options):
    """What stays and what was needed at most, in units of the constants that steps read."""
    for network in NETWORKS:
        for precision in ("fp32", "bf16"):
            read = _constant_bytes(plan(network, precision)) / 2**20
            found = in_process(BIND, *checkpoint(network), json.dumps(shapes_of(network)), precision)
            after, peak = ((found[key] - _CODE_MB) / read for key in ("after", "peak"))
            seen = f"{after:.2f} and {peak:.2f} of {read:.0f} MB"
            yield Row(
                f"memory: {network} {precision}, bound and at its peak, less {_CODE_MB} MB of code and primitives",
                "<= 1.3 and <= 2.0 of what steps read",
                seen,
                after <= 1.3 and peak <= 2.0,
            )


def _constant_bytes(path):
    from amp import _core
    from amp._paths import encoded

    return json.loads(_core.describe_plan(encoded(path), False))["constant_bytes"]
