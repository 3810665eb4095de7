"""The table of error targets: `make trust-report TRUST_ARGS=--targets`. Its times are those of this machine."""

import time

import numpy as np

import amp

from . import networks

NETWORKS = ("digits", "det1", "det2", "det3", "gender-age", "bert", "resnet20", "mobilenetv2", "squeezenet")
PARTS = (0.5, 0.25, 0.1)  # of the error of a conversion without a goal
_SECONDS, _FEWEST = 2.0, 10  # of a measured time
_HEADER = (
    (
        "network",
        "target",
        "error: predicted",
        "measured",
        "ms: predicted",
        "measured",
        "evaluations",
        "kept in float32",
    ),
    ("---", "---:", "---:", "---:", "---:", "---:", "---:", "---"),
)


def lines():
    """The lines of a Markdown table: of each network float32, what there is without a goal, and each goal."""
    yield from map(_line, _HEADER)
    for name in NETWORKS:
        for cells in _rows(name):
            yield _line((name, *cells))


def _line(cells):
    return f"| {' | '.join(cells)} |"


def _rows(name):
    model, data = networks.load(name)
    inputs = {key: array for key, array in data.items() if key not in model[1]}
    options = {"input_shapes": {key: array.shape for key, array in inputs.items()}, "machine": "this", "data": inputs}
    options |= {"sensitivity": amp.sensitivity(*model, inputs), "cast_params_offline": True, "return_report": True}
    dtypes = {key: array.dtype for key, array in inputs.items()}
    *full, report = amp.convert_model(*model, dtypes, accuracy={"error": 1e3}, **options)
    yield "float32", "0", "0", _ms(report, "unchanged"), _measured(model, data), "", ""
    yield _row("none", report, full, data)
    for part in PARTS if report.accuracy["measured_error"] else ():
        goal = part * report.accuracy["measured_error"]
        *low, found = amp.convert_model(*model, dtypes, accuracy={"error": goal}, **options)
        yield _row(f"{goal:.2e} ({part:g})", found, low, data)


def _row(target, report, low, data):
    facts = report.accuracy
    errors = (facts["predicted_error"], facts["measured_error"])
    error_cells = ["0" if error is None else f"{error:.2e}" for error in errors]
    times = (_ms(report, "as_decided"), _measured(low, data))
    return target, *error_cells, *times, str(facts["evaluations"]), _kept(facts)


def _kept(facts):
    kept = facts["kept"]
    if not facts["reached"]:
        return "all: no conversion meets it"
    if not facts["measured_error"]:
        return "all: low precision does not pay"
    return f"{len(kept)} nodes, such as `{kept[0]['node']}`: {kept[0]['why'].split(': ')[-1]}" if kept else ""


def _ms(report, key):
    return f"{report.predicted[key] * 1e-9:.3f}"


def _measured(model, data):
    """The shortest of several runs in milliseconds, as text."""
    shapes, dtypes = ({name: getattr(array, key) for name, array in data.items()} for key in ("shape", "dtype"))
    run = amp.Executor(*model, shapes, input_dtypes=dtypes)
    times, end = [], time.perf_counter() + _SECONDS
    while len(times) < _FEWEST or time.perf_counter() < end:
        begin = time.perf_counter()
        np.asarray(run(data)[0].astype("float32"))
        times.append(time.perf_counter() - begin)
    return f"{1e3 * min(times):.3f}"
