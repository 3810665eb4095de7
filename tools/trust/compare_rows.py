"""Rows about `amp.compare`."""

import amp

from . import networks
from .report import Row

NETWORKS = ("digits", "det1", "det2", "det3", "bert", "resnet20", "mobilenetv2", "squeezenet")
_POLICIES = ("default", "mxnet")


def rows():
    """The error against two executors, sums of shares, and own errors, of each network and policy."""
    for name in (*NETWORKS, "gender-age"):
        model, data = networks.load(name)
        for policy in _POLICIES:
            *low, report = networks.convert(model, data, policy=policy)
            found = amp.compare(model, low, data, report)
            yield _error(name, policy, found, model, low, data)
            yield _shares(name, policy, found)
            yield _units(name, policy, found)


def _error(name, policy, found, model, low, data):
    true = networks.error_of(networks.run(model, data), networks.run(low, data))
    ratio = found.error / true
    return Row(f"compare: error of {name}, {policy}", "1 %", f"{found.error:.3e}, {ratio:.4f}", abs(ratio - 1) < 0.01)


def _shares(name, policy, found):
    bar = 0.15 if name == "gender-age" else 0.03
    holds = abs(found.share_sum - 1) <= bar
    return Row(f"compare: shares of {name}, {policy}", f"1 +- {bar}", f"{found.share_sum:.4f}", holds)


def _units(name, policy, found):
    rows = [row for row in [*found.tensors, *found.parameters] if row["own_units"] is not None]
    largest = max(row["own_units"] for row in rows if not row.get("is_folded"))
    seen = f"{largest:.5f}, {len(found.suspects)} suspects"
    holds = largest <= 1 + 2**-9 and not found.suspects
    return Row(f"compare: own_units of {name}, {policy}, but folded weights", "1 + 2^-9, none", seen, holds)
