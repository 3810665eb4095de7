"""Rows about the option `accuracy` of conversions: goals, predicted and measured errors, times, evaluations."""

import numpy as np

import amp

from . import networks
from .report import Row

NETWORKS = ("digits", "det2", "det3", "bert", "gender-age", "resnet20")
PARTS = (0.5, 0.25, 0.1)  # of the error of a conversion without a goal
MACHINE = "avx512_bf16_fast"


def rows():
    """A row for each goal of each network, then how many evaluations they took."""
    counts = []
    for name in NETWORKS:
        for row, evaluations in _goals(name):
            counts.append(evaluations)
            yield row
    seen = f"at most {max(counts)}, mean {np.mean(counts):.2f}"
    yield Row("accuracy: evaluations", "<= 4, mean <= 3", seen, max(counts) <= 4 and np.mean(counts) <= 3)


def _goals(name):
    """(row, evaluations) of each part of the full error."""
    model, data = networks.load(name)
    inputs = {key: array for key, array in data.items() if key not in model[1]}
    shapes = {key: array.shape for key, array in inputs.items()}
    dtypes = {key: array.dtype for key, array in inputs.items()}
    options = {"input_shapes": shapes, "machine": MACHINE, "data": inputs}
    options["sensitivity"] = amp.sensitivity(*model, inputs)
    exact = networks.run(model, data)

    def converted(goal):
        options_of_goal = {"accuracy": {"error": goal}, "cast_params_offline": True, "return_report": True}
        return amp.convert_model(*model, dtypes, **options, **options_of_goal)

    *_, full = converted(1e3)
    for part in PARTS:
        goal = part * full.accuracy["measured_error"]
        *low, report = converted(goal)
        error = networks.error_of(exact, networks.run(low, data))
        check = f"accuracy: {name}, {part} of the error of {full.accuracy['measured_error']:.2e}"
        yield Row(check, f"<= {goal:.2e}", _seen(report, full, error), error <= goal), report.accuracy["evaluations"]


def _seen(report, full, error):
    facts, kept = report.accuracy, report.accuracy["kept"]
    saved, all_saved = (r.predicted["unchanged"] - r.predicted["as_decided"] for r in (report, full))
    text = f"{error:.2e} (predicted {facts['predicted_error']:.2e}), {facts['evaluations']} evaluations, "
    text += f"{100 * saved / all_saved if all_saved else 0:.0f} % of the predicted saving left, {len(kept)} nodes kept"
    return f"{text}, such as {kept[0]['node']} ({kept[0]['why']})" if kept else text
