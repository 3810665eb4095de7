"""What a machine file says of measured steps: what `amp calibrate` writes."""

import json
import math

from . import _core

VERSION = 2  # of the format
ONEDNN = "onednn"  # as a choice of kernels
_MAX_SAMPLES = 400  # of one group, in a machine file
_LEVELS = (1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 25, 1 << 28)  # bytes of a step; the last is memory's
_MOVERS = ("eltwise_relu", "eltwise_abs", "eltwise_sqrt", "binary", "cast")


def machine_file(steps, name, source):
    """The contents of a machine file, as a dict; docs/machines.md describes them."""
    info = _core.cpu_info()
    speeds = {"float32": _peak(steps, "float32")}
    if info["native_bfloat16"]:
        speeds["bfloat16"] = _peak(steps, "bfloat16")
    start = min(step["median_seconds"] for step in steps if step["bytes"])
    bandwidth = _bandwidths(steps, start)
    machine = {
        "format": "amp-machine",
        "version": VERSION,
        "name": name,
        "source": source,
        "cpu": info["cpu"],
        "isa": info["isa"],
        "threads": info["threads"],
        "onednn": info["onednn"],
        "has_bfloat16": info["native_bfloat16"],
        "has_int16": info["multiplies_int16"],
        "has_tiles": info["multiplies_by_tiles"],
        "onednn_is_channels_last": info["onednn_is_channels_last"],
        "start_seconds": _rounded(start),
        "flops_per_second": {dtype: _rounded(speed) for dtype, speed in speeds.items()},
        "bytes_per_second": [[limit, _rounded(speed)] for limit, speed in bandwidth],
    }
    machine["steps"] = samples(steps, machine)
    return machine


def samples(steps, machine):
    """What a machine file says of steps: for each group its points, each with the logarithm of how much longer than by
    the speeds of `machine` a step took."""
    groups = {}
    for step in steps:
        if not step["bytes"] or not step["median_seconds"]:
            continue
        ratio = math.log2(_without_functions(step, steps) / _base_seconds(step, machine))
        point = tuple(round(number, 2) for number in step["point"])
        groups.setdefault(_group(step), {}).setdefault(point, []).append(round(ratio, 2))
    return {group: _each_point_once(points) for group, points in sorted(groups.items())}


def _group(step):
    """That of its samples: own kernels take as long whatever dtype they write, but for its bytes."""
    if not step["choice"] or step["choice"] == ONEDNN:
        return step["group"]
    kernel, dtypes, *_ = step["group"].split(" ")
    return f"{kernel} {dtypes.split('-')[0]}"


def text_of(machine):
    """The text of a machine file: one group of samples a line, so that a diff can be read."""
    lines = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in machine.items() if key != "steps"]
    groups = [
        f"  {json.dumps(key)}: {json.dumps(samples, separators=(',', ':'))}"
        for key, samples in machine["steps"].items()
    ]
    lines.append(' "steps": {\n' + ",\n".join(groups) + "\n }")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _each_point_once(points):
    """Each point once, and at most so many, over the whole range of sizes. Networks have layers of one size."""
    ordered = sorted([*point, _median(ratios)] for point, ratios in points.items())
    if len(ordered) <= _MAX_SAMPLES:
        return ordered
    return [ordered[i * len(ordered) // _MAX_SAMPLES] for i in range(_MAX_SAMPLES)]


def _without_functions(step, steps):
    """Its seconds without what functions among its post-ops take."""
    extra = 0.0
    for function in step["post_functions"]:
        alone = [s for s in steps if s["group"] == function and s["bytes"] < 1 << 23]
        relu = [s for s in steps if s["group"] == "eltwise_relu float32" and s["bytes"] < 1 << 23]
        if alone and relu:
            extra += max(0.0, _per_element(alone) - _per_element(relu)) * step["elements_written"]
    return max(step["median_seconds"] - extra, 0.3 * step["median_seconds"])


def _per_element(steps):
    return _median(8 * step["median_seconds"] / step["bytes"] for step in steps if step["bytes"] > 1 << 18)


def _base_seconds(step, machine):
    """What arithmetic and traffic alone would take; as MachineTable::BaseSeconds."""
    speeds = machine["flops_per_second"]
    bandwidth = next((speed for limit, speed in machine["bytes_per_second"] if step["bytes"] <= limit), None)
    bandwidth = bandwidth or machine["bytes_per_second"][-1][1]
    arithmetic = step["flops"] / speeds.get(step["dtype"], speeds["float32"])
    return machine["start_seconds"] + max(arithmetic, step["bytes"] / bandwidth)


def _peak(steps, dtype):
    """Of oneDNN: what is counted as arithmetic of our kernels is what they take, and not what is computed."""
    products = [s for s in steps if s["flops"] > 1e8 and s["dtype"] == dtype and not s["choice"]]
    rates = sorted(s["flops"] / s["median_seconds"] for s in products)
    return rates[int(0.95 * len(rates))]


def _bandwidths(steps, start):
    movers = [s for s in steps if s["group"].split(" ")[0] in _MOVERS]
    levels, lower = [], 0
    for limit in _LEVELS:
        rates = [s["bytes"] / max(s["median_seconds"] - start, 1e-7) for s in movers if lower < s["bytes"] <= limit]
        if rates:
            levels.append((limit, _median(rates)))
        lower = limit
    return levels


def _median(values):
    ordered = sorted(values)
    return ordered[len(ordered) // 2] if ordered else 0.0


def _rounded(number):
    return float(f"{number:.4g}")
