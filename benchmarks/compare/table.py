"""The result as text, from the dict that the JSON file holds."""

from statistics import median

from .verdicts import cell_name, summary

HEADER = ("network", "batch", "thr", "busy", "precision", "contestant", "ms", "p95", "best", "ours/it [95 %]", "error")
HEADER += ("load s", "first s", "start s", "MB", "")
PROBED = ("fp32_gflops", "bf16_gflops", "triad_gbs", "round_trip_ns")


def render(run):
    """The table, with probes, versions and settings."""
    parts = [_machine(run), _grid([HEADER, *(row for cell in run["cells"] for row in _rows(cell))])]
    parts += [_probes(run["cells"]), _settings(run["cells"]), _gains(run["cells"]), _summary(run["cells"])]
    return "\n\n".join(part for part in parts if part)


def _machine(run):
    how = run["settings"]
    return (
        f"{run['machine']}\n{run['started']}; {how['rounds']} interleaved rounds of >= {how['seconds']} s and >= "
        f"{how['calls']} calls; "
        f"{len(run['void'])} void measurements done again; ms is the median of the rounds' medians, p95 of all calls; "
        "first: construction and first call; start: from the start of the process to the first result"
    )


def _rows(cell):
    for result in cell["results"]:
        yield (
            cell["network"],
            str(cell["batch"]),
            str(cell["threads"]),
            cell["busy"],
            result["precision"],
            result["name"],
            _number(result, "ms", "{:.4g}"),
            _number(result, "p95_ms", "{:.4g}"),
            _number(result, "best_ms", "{:.4g}"),
            interval_text(result["ratio"]) if "ratio" in result else "",
            _number(result, "error_max" if result["precision"] == "fp32" else "error_rms", "{:.1e}"),
            _number(result, "load_s", "{:.2f}"),
            _number(result, "first_s", "{:.2f}"),
            _number(result, "start_s", "{:.2f}"),
            _number(result, "peak_mb", "{:.0f}"),
            _remark(result),
        )


def interval_text(ratio):
    middle, low, high = ratio
    return f"{middle:.3f} [{low:.3f}, {high:.3f}]" if low is not None else f"{middle:.3f} [too few rounds]"


def _number(result, key, form):
    return form.format(result[key]) if key in result else ""


def _remark(result):
    if "failed" in result:
        return f"failed: {result['failed'].splitlines()[0][:100]}"
    return f"void: {result['void']}" if result.get("void") else ""


def _grid(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEADER) - 1)]
    lines = []
    for row in rows:
        cells = [text.ljust(w) if i in (0, 4, 5) else text.rjust(w) for i, (text, w) in enumerate(zip(row, widths))]
        lines.append("  ".join([*cells, row[-1]]).rstrip())
    return "\n".join(lines)


def _probes(cells):
    lines = ["machine probes, lowest, median, highest: GFLOP/s fp32, bf16; triad GB/s; core-to-core round trip ns"]
    for cell in cells:
        columns = ([probe[key] for probe in cell["probes"]] for key in PROBED)
        figures = "; ".join(f"{min(column):.0f} {median(column):.0f} {max(column):.0f}" for column in columns)
        lines.append(f"  {cell_name(cell)}: {figures}")
    return "\n".join(lines)


def _settings(cells):
    lines = {}
    for cell in cells:
        for result in cell["results"]:
            if "settings" in result:
                key = f"  {result['name']} {result['precision']}: {result['version']}; {result['settings']}"
                lines[key] = None
    return "\n".join(["versions and settings; threads pinned to the same CPUs for all", *lines])


def _gains(cells):
    lines = ["bf16 against our own fp32, times faster"]
    for cell in cells:
        for result in cell["results"]:
            if "gain" in result:
                lines.append(f"  {cell_name(cell)}: {interval_text(result['gain'])}")
    return "\n".join(lines) if len(lines) > 1 else ""


def _summary(cells):
    if all(result["contestant"] == "ours" for cell in cells for result in cell["results"]):
        return ""  # an ablation
    lines = ["time / OpenVINO's"]
    for line in summary(cells):
        where = f"  {line['precision']}, {line['threads']} threads, {line['busy']} busy, {line['rows']} networks: "
        if "no_result" in line:
            lines.append(where + line["no_result"])
            continue
        upper = line["worst_upper_end"]
        worst = "unknown after so few rounds" if upper is None else f"{upper:.3f}"
        lines.append(f"{where}geometric mean {line['geometric_mean']:.3f}, worst upper end {worst}")
    return "\n".join(lines)
