"""What the measured figures say: ratios with intervals, and which of them are void."""

from statistics import median

from .published import PEAKS, published_ms
from .stats import geometric_mean, percentile, ratio_interval

# Largest difference in fp32, and relative rms error in bf16: beyond, two engines do not compute the same network.
MAX_FP32_DIFFERENCE = 1e-4
MAX_BF16_ERROR = 0.1
SLOWER_THAN_PUBLISHED = 1.10


def cell_name(cell):
    """For people: "resnet50_v1 batch 1, 2 threads, 1 low busy"."""
    count, low = cell["busy"].removesuffix("low"), " low" if cell["busy"].endswith("low") else ""
    beside = "" if count == "0" else f", {count}{low} busy"
    return f"{cell['network']} batch {cell['batch']}, {cell['threads']} threads{beside}"


def judge(cell):
    """Adds to each result of a measured cell ms, p95_ms, best_ms, void (a reason or "") and ratio (ours to its)."""
    for result in cell["results"]:
        if result.get("times"):
            result["p95_ms"] = percentile(result["times"], 95)
        if result["rounds"]:
            result["ms"] = median(r["median"] for r in result["rounds"])
            result["best_ms"] = min(r["min"] for r in result["rounds"])
        result["void"] = _mismatch(result) or _too_slow(cell, result)
    for result in cell["results"]:
        ours = find(cell, "ours", result["precision"])
        if result is not ours and ours is not None:
            _compare(ours, result, "ratio")
            if ours["void"] and "ratio" in result:
                result["void"] = result["void"] or f"ours: {ours['void']}"
    low, full = find(cell, "ours", "bf16"), find(cell, "ours", "fp32")
    if low and full:
        _compare(full, low, "gain")
    return cell


def find(cell, name, precision):
    matching = (r for r in cell["results"] if (r["name"], r["precision"]) == (name, precision))
    return next(matching, None)


def _compare(ours, other, key):
    """Our time over the other's, round by round."""
    pairs = [(a["median"], b["median"]) for a, b in zip(ours["rounds"], other["rounds"])]
    if pairs:
        other[key] = ratio_interval([a / b for a, b in pairs])


def _mismatch(result):
    if "error_rms" not in result:
        return ""
    key, limit = ("error_max", MAX_FP32_DIFFERENCE) if result["precision"] == "fp32" else ("error_rms", MAX_BF16_ERROR)
    # not <=: a NaN is a mismatch
    return "" if result[key] <= limit else f"outputs differ by {result[key]:.1e}"


def _too_slow(cell, result):
    """A peer below its own earlier figure, scaled by the arithmetic peak of the machine while it was measured."""
    earlier = published_ms(cell["network"], cell["batch"], cell["threads"], result["name"], result["precision"])
    if earlier is None or "ms" not in result or cell["busy"] != "0":
        return ""
    key = f"{result['precision']}_gflops"
    peak = median(probe[key] for probe in cell["probes"])
    expected = earlier * PEAKS[cell["threads"]][result["precision"]] / peak
    if result["ms"] <= SLOWER_THAN_PUBLISHED * expected:
        return ""
    return f"{result['ms'] / expected:.2f} x its earlier {expected:.4g} ms"


def summary(cells):
    """Per threads, load and precision: how we stand against OpenVINO, and what bf16 brings: a list of dicts."""
    lines = []
    for threads, busy in sorted({(cell["threads"], cell["busy"]) for cell in cells}):
        for precision in ("fp32", "bf16"):
            alike = [cell for cell in cells if (cell["threads"], cell["busy"]) == (threads, busy)]
            mine = [cell for cell in alike if find(cell, "ours", precision)]
            if mine:
                group = {"threads": threads, "busy": busy, "precision": precision}
                lines.append({**group, **_against_openvino(mine, precision)})
    return lines


def _against_openvino(cells, precision):
    rows = [find(cell, "openvino", precision) for cell in cells]
    valid = [row for row in rows if row and "ratio" in row and not row["void"]]
    if len(valid) < len(cells):
        missing = f"no result: {len(cells) - len(valid)} of {len(cells)} comparisons with OpenVINO are missing or void"
        return {"no_result": missing, "rows": len(valid)}
    uppers = [row["ratio"][2] for row in valid]
    return {
        "rows": len(valid),
        "geometric_mean": geometric_mean(row["ratio"][0] for row in valid),
        "worst_upper_end": None if None in uppers else max(uppers),
    }
