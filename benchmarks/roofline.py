"""Where the time of a network goes: `python -m benchmarks.roofline [options]`.

Each step of a plan is a spot over its operations per byte; the roofs are what this machine's arithmetic and memory
allow. Prints a table of kinds of steps, and writes one picture with a panel per network. Wants a machine that does
nothing else; times are the best of several profiles.
"""

import argparse
import collections
import json
import subprocess
import sys
from pathlib import Path

from .compare.networks import NETWORKS, inputs_of, parameters_of, symbol_of

ROOT = Path(__file__).resolve().parent.parent
PROBE = ROOT / "build" / "benchmarks" / "machine_probe"
COLOURS = {"own": "#c0392b", "library": "#2471a3"}


def main():
    options = _options()
    roofs = _roofs(options.threads)
    panels = []
    for network in options.networks.split(","):
        steps = best_steps(network, options.batch, options.precision, options.threads, options.profiles)
        panels.append((network, steps))
        print(table(network, steps, roofs), flush=True)
    draw(panels, roofs, options)
    print(f"\npicture: {options.output}")


def _options():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.roofline", description=__doc__)
    parser.add_argument("--networks", default=",".join(NETWORKS), help="default: %(default)s")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32", help="bf16: automatic precision")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--profiles", type=int, default=10, help="of three runs each; default: %(default)s")
    parser.add_argument("--output", default=str(ROOT / "build" / "roofline.png"), metavar="PATH")
    return parser.parse_args()


def _roofs(threads):
    """{"float32", "bfloat16": operations per second; "memory": bytes per second}"""
    if not PROBE.exists():
        sys.exit(f"{PROBE} does not exist: make bench builds it")
    runs = [subprocess.run([PROBE, str(threads)], check=True, stdout=subprocess.PIPE) for _ in range(8)]
    found = [json.loads(run.stdout) for run in runs]  # the best of them: other programs slow some
    names = {"float32": "fp32_gflops", "bfloat16": "bf16_gflops", "memory": "triad_gbs"}
    return {roof: 1e9 * max(probe[name] for probe in found) for roof, name in names.items()}


def best_steps(network, batch, precision, threads, profiles):
    """The steps of the network's plan; "seconds" is the least median of the profiles."""
    import amp

    symbol, inputs = symbol_of(network), inputs_of(network, batch)
    arguments, auxiliary = parameters_of(network, symbol)
    run = amp.Executor(
        symbol,
        arguments,
        auxiliary,
        {name: array.shape for name, array in inputs.items()},
        num_threads=threads,
        reduce_precision="bfloat16" if precision == "bf16" else None,
    )
    best = []
    for _ in range(profiles):
        steps = run.profile(**inputs, runs=3).steps
        best = best or [{**step, "seconds": step["median_seconds"]} for step in steps]
        for known, step in zip(best, steps):
            known["seconds"] = min(known["seconds"], step["median_seconds"])
    return best


def table(network, steps, roofs):
    """Markdown: kinds of steps with more than a hundredth of the time."""
    total = sum(step["seconds"] for step in steps)
    kinds = collections.defaultdict(lambda: [0, 0.0, 0.0, 0.0])
    for step in steps:
        kind = kinds[(_kind(step), step["implementation"] or "view")]
        for i, number in enumerate((1, step["seconds"], step["flops"], step["bytes"])):
            kind[i] += number
    lines = [
        f"\n{network}: {1e3 * total:.1f} ms\n",
        "| steps | implementation | share | GFLOP/s | GB/s |",
        "|---|---|---|---|---|",
    ]
    for (kind, implementation), (count, seconds, flops, size) in sorted(kinds.items(), key=lambda row: -row[1][1]):
        if seconds < 0.01 * total:
            continue
        rate = f"{flops / seconds / 1e9:.0f}" if flops else ""
        lines.append(
            f"| {count} {kind} | {implementation} | {seconds / total:.0%} | {rate} | {size / seconds / 1e9:.0f} |"
        )
    return "\n".join(lines)


def _kind(step):
    return step["group"].split(" ")[0]


def draw(panels, roofs, options):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    figure, axes = pyplot.subplots(rows, columns, figsize=(4.2 * columns, 3.4 * rows), squeeze=False)
    for axis, (network, steps) in zip(axes.flat, panels):
        _draw_panel(axis, network, steps, roofs)
    for axis in list(axes.flat)[len(panels) :]:
        axis.set_visible(False)
    figure.tight_layout()
    Path(options.output).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(options.output, dpi=90)


def _draw_panel(axis, network, steps, roofs):
    total = sum(step["seconds"] for step in steps)
    ends = (0.5, 500)
    for dtype, style in (("float32", "-"), ("bfloat16", "--")):
        if roofs[dtype]:
            roof = [min(roofs[dtype], roofs["memory"] * x) / 1e9 for x in _between(*ends)]
            axis.plot(_between(*ends), roof, style, color="#777", linewidth=1, label=f"{dtype}, main memory")
    for name, colour in COLOURS.items():
        spots = [s for s in steps if s["flops"] and s["seconds"] and _who(s) == name]
        axis.scatter(
            [s["flops"] / s["bytes"] for s in spots],
            [s["flops"] / s["seconds"] / 1e9 for s in spots],
            s=[2000 * s["seconds"] / total for s in spots],
            color=colour,
            alpha=0.5,
            linewidths=0,
            label=name,
        )
    axis.set(xscale="log", yscale="log", xlim=ends, ylim=(3, 2 * max(roofs["float32"], roofs["bfloat16"]) / 1e9))
    axis.set_title(f"{network}: {1e3 * total:.1f} ms", fontsize=10)
    axis.set_xlabel("operations per byte", fontsize=8)
    axis.set_ylabel("GFLOP/s", fontsize=8)
    legend = axis.legend(fontsize=6, loc="lower right")
    for handle in legend.legend_handles:
        if hasattr(handle, "set_sizes"):
            handle.set_sizes([30])


def _who(step):
    return "own" if step["implementation"].startswith("own") else "library"


def _between(low, high, count=60):
    return [low * (high / low) ** (i / (count - 1)) for i in range(count)]


if __name__ == "__main__":
    main()
