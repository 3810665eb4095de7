"""The tables and the plot of docs/benchmarks.md and of README.md, made from benchmarks/results/*.json.

    python -m benchmarks.page                    writes them anew; a test compares
    python -m benchmarks.page --add RUN.json --name 2026-12-24-zen4 --machine "AMD Zen 4" --class avx512_bf16_fast
        --cpu "AMD EPYC, family 25 model 17" --commit abc1234 --automatic "bfloat16 nearly everywhere"
                                                 adds what `python -m benchmarks.compare` measured

A result file has the facts of a measurement and a row for each network and batch size. A ratio is the time of nnvm-amp
over that of the other engine, so its inverse is how many times as fast nnvm-amp is.
"""

import argparse
import json
import re
import textwrap
from pathlib import Path
from statistics import geometric_mean, median

from .compare.verdicts import find

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PLOT = ROOT / "docs" / "images" / "benchmarks.svg"
PAGES = (ROOT / "docs" / "benchmarks.md", ROOT / "README.md")
MARKED = re.compile(r"(<!-- made by `python -m benchmarks.page`: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
NETWORKS = {
    "resnet50_v1": "ResNet-50",
    "mobilenetv2_1.0": "MobileNetV2",
    "vgg16": "VGG-16",
    "densenet121": "DenseNet-121",
    "inceptionv3": "Inception-v3",
    "bert_base": "BERT-base",
}


def load(kind):
    """The result files of a kind ("networks", "zoo" or "training"), slowest machine last."""
    found = [json.loads(path.read_text()) for path in sorted(RESULTS.glob("*.json"))]
    return sorted((run for run in found if run["kind"] == kind), key=lambda run: mean(run["rows"], main_key(run)))


def main_key(run):
    return "mxnet" if run["kind"] == "zoo" else "automatic"


def mean(rows, key):
    """The geometric mean of the ratios of the rows that have one."""
    ratios = [row[key]["ratio"] if isinstance(row[key], dict) else row[key] for row in rows]
    return geometric_mean(ratio for ratio in ratios if not isinstance(ratio, str))


def speed(ratio):
    return f"{1 / ratio:.2f} x"


def table(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


# ---- the parts of the pages, by name ----


def overview():
    rows = [
        [run["machine"], speed(mean(run["rows"], "float32")), speed(mean(run["rows"], "automatic")), run["multiplies"]]
        for run in load("networks")
    ]
    return table(["two cores of", "float32", "automatic precision", "bfloat16 layers multiply"], rows)


def machines():
    return "\n".join(map(_machine, load("networks")))


def _machine(run):
    versions = ", ".join(f"{name} {version}" for name, version in run["versions"].items())
    text = (
        f"{run['cpu']}; {run['cores']} cores, {run['threads']} threads; {versions}; {run['date']}, commit "
        f"{run['commit']}. Automatic precision: {run['automatic']}. OpenVINO: {run['peer']}. {run['note']}"
    )
    if "one_thread" in run:
        single = [speed(mean(run["one_thread"], key)) for key in ("float32", "automatic")]
        text += f" One thread: {single[0]} and {single[1]}."
    header = ["network", "batch", "float32", "automatic", "ms, automatic", "error, %"]
    rows = [_network(name, [row for row in run["rows"] if row["network"] == name]) for name in NETWORKS]
    return f"### {run['machine']}\n\n{textwrap.fill(text, 120)}\n\n{table(header, rows)}"


def _network(name, rows):
    """A line for both batch sizes. Times and errors are of nnvm-amp and OpenVINO; the larger error counts."""
    times = [row["automatic"].get("best_ms", row["automatic"].get("ms", [])) for row in rows]
    errors = [row["error_percent"] for row in rows if "error_percent" in row]
    return [
        NETWORKS[name],
        ", ".join(str(row["batch"]) for row in rows),
        *(", ".join(speed(row[key]["ratio"]) for row in rows) for key in ("float32", "automatic")),
        ", ".join(" / ".join(f"{float(f'{each:.3g}'):g}" for each in pair) for pair in times if pair),
        " / ".join(f"{max(pair):.2f}" for pair in zip(*errors)),
    ]


def zoo():
    rows = []
    for run in load("zoo"):
        cells = [run["machine"]]
        for engine in ("mxnet", "openvino"):
            ratios = [row[engine] for row in run["rows"] if not isinstance(row.get(engine, ""), str)]
            cells += [speed(geometric_mean(ratios)), f"{len(ratios)}", speed(max(ratios))] if ratios else [""] * 3
        rows.append(cells)
    return table(
        ["two cores of", *(text for name in ("MXNet 1.9.1", "OpenVINO") for text in (name, "networks", "least"))], rows
    )


def training():
    rows = [
        [run["machine"], f"{NETWORKS[row['network']]}, {row['batch']}"]
        + [speed(row[key]["ratio"]) for key in ("float32", "automatic")]
        + [f"{row['float32_ms']:.0f}", f"{row['peak_mb']:.0f}"]
        for run in load("training")
        for row in run["rows"]
    ]
    return table(["two cores of", "network, batch", "float32", "automatic", "ms, float32", "peak MB"], rows)


PARTS = {part.__name__: part for part in (overview, machines, zoo, training)}


def page(text):
    """The text with its marked parts made anew."""
    return MARKED.sub(lambda match: match[1] + PARTS[match[2]]() + match[3], text)


# ---- the plot: a row for each machine and precision, a mark for each network, a bar at the mean ----

COLOURS = {"float32": "#2471a3", "automatic": "#c0392b"}
LEFT, WIDTH, ROW, TOP, MOST = 210, 560, 22, 40, 5


def plot():
    """An SVG document of all speeds over OpenVINO."""
    runs = load("networks")
    height = TOP + len(runs) * 2 * ROW + 46
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 30} {height}" font-family="sans-serif" '
        'font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        '<text x="10" y="20" font-size="14">Speed over OpenVINO: six networks, two batch sizes, geometric mean</text>',
    ]
    for tick in range(MOST + 1):
        x, bottom = LEFT + WIDTH * tick / MOST, height - 40
        colour = "#333" if tick == 1 else "#ddd"
        parts.append(f'<line x1="{x:.0f}" x2="{x:.0f}" y1="{TOP - 6}" y2="{bottom}" stroke="{colour}"/>')
        parts.append(f'<text x="{x:.0f}" y="{bottom + 16}" text-anchor="middle">{tick} x</text>')
    for i, run in enumerate(runs):
        parts.append(f'<text x="10" y="{TOP + ROW * (2 * i + 1) + 4}">{run["machine"]}</text>')
        parts += [_marks(run, key, TOP + ROW * (2 * i + j) + ROW // 2) for j, key in enumerate(COLOURS)]
    for i, key in enumerate(COLOURS):
        x = LEFT + 160 * i
        parts.append(f'<circle cx="{x}" cy="{height - 10}" r="4" fill="{COLOURS[key]}"/>')
        parts.append(f'<text x="{x + 10}" y="{height - 6}">{key}{" precision" if i else ""}</text>')
    return "\n".join([*parts, "</svg>\n"])


def _marks(run, key, y):
    def place(ratio):
        return LEFT + WIDTH * min(1 / ratio, MOST) / MOST

    middle = place(mean(run["rows"], key))
    spots = [
        f'<circle cx="{place(row[key]["ratio"]):.1f}" cy="{y}" r="4" fill="{COLOURS[key]}" fill-opacity="0.35">'
        f"<title>{NETWORKS[row['network']]}, batch {row['batch']}: {speed(row[key]['ratio'])}</title></circle>"
        for row in run["rows"]
    ]
    bar = f'<line x1="{middle:.1f}" x2="{middle:.1f}" y1="{y - 8}" y2="{y + 8}" stroke="{COLOURS[key]}"'
    return "\n".join([*spots, f'{bar} stroke-width="3"/>'])


# ---- results of `python -m benchmarks.compare` ----


def condense(run):
    """The rows of a result file from the JSON of benchmarks.compare: two threads, or as many as it had, no load."""
    return [_condensed(cell) for cell in run["cells"] if cell["busy"] == "0"]


def _condensed(cell):
    own = {key: find(cell, "ours", key) for key in ("fp32", "bf16")}
    peers = {key: find(cell, "openvino", key) for key in ("fp32", "bf16")}
    faster = min(peers.values(), key=lambda peer: peer["ms"])
    return {
        "network": cell["network"],
        "batch": cell["batch"],
        "float32": _ratio(own["fp32"], peers["fp32"]),
        "automatic": _ratio(own["bf16"], faster),
        "error_percent": [float(f"{100 * each['error_rms']:.2g}") for each in (own["bf16"], peers["bf16"])],
    }


def _ratio(own, peer):
    pairs = zip(own["rounds"], peer["rounds"])
    ratio = median(a["median"] / b["median"] for a, b in pairs)
    return {"ratio": round(ratio, 2), "best_ms": [float(f"{each['best_ms']:.4g}") for each in (own, peer)]}


def add(options):
    """Writes a result file from a run of benchmarks.compare and the facts that only people know."""
    run = json.loads(Path(options.add).read_text())
    how, threads = run["settings"], run["cells"][0]["threads"]
    facts = {
        "kind": "networks",
        "cores": threads,
        "threads": threads,
        "versions": _versions(run),
        **{key: getattr(options, key) for key in FACTS},
        "date": run["started"].split()[0],
        "command": f"python -m benchmarks.compare --threads {threads} --peers openvino --rounds {how['rounds']} "
        f"--seconds {how['seconds']}",
    }
    write(RESULTS / f"{options.name}.json", {**facts, "rows": condense(run)})


def _versions(run):
    results = [result for cell in run["cells"] for result in cell["results"]]
    versions = {result["name"]: result["version"] for result in results}
    return {"nnvm-amp": versions.pop("ours"), **versions}


FACTS = ("machine", "cpu", "class", "commit", "automatic", "multiplies", "peer", "note")


def write(path, facts):
    """JSON with one row a line, so that changes can be read."""
    rows = {key: value for key, value in facts.items() if isinstance(value, list)}
    head = json.dumps({key: value for key, value in facts.items() if key not in rows}, indent=1, ensure_ascii=False)
    lines = {
        key: ",\n".join("  " + json.dumps(row, ensure_ascii=False) for row in value) for key, value in rows.items()
    }
    parts = [head.removesuffix("\n}"), *(f' "{key}": [\n{text}\n ]' for key, text in lines.items())]
    path.write_text(",\n".join(parts) + "\n}\n")


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.page", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--add", metavar="RUN.json", help="what `python -m benchmarks.compare` wrote")
    parser.add_argument("--name", help="of the new result file: date and machine")
    for fact in FACTS:
        parser.add_argument(f"--{fact}", default="", help="what the page says of the measurement")
    options = parser.parse_args(arguments)
    if options.add:
        if not (options.name and options.machine):
            parser.error("--add needs --name and --machine")
        add(options)
    for path in PAGES:
        path.write_text(page(path.read_text()))
    PLOT.write_text(plot())


if __name__ == "__main__":
    main()
