"""Rows about the option `accuracy` beside the searches of other programs, in the same cut model.

Each search chooses among the same nodes by the same conversions and measured errors.
"""

import sys
from pathlib import Path

import numpy as np

import amp
from amp._trust.data import Reruns, inputs_of_model
from amp._trust.measuring import Measure

from . import networks
from .accuracy_rows import MACHINE
from .peer_searches import SEARCHES
from .report import Row

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.low_operators import operators_of  # noqa: E402

NETWORKS = ("digits", "det2", "det3", "bert", "resnet20", "gender-age")
PARTS = (0.8, 0.5, 0.25, 0.1)  # of the error of a conversion without a goal


class Cases:
    """Conversions of one network that keep nodes in float32, with errors, predicted savings and how many there were."""

    def __init__(self, name):
        self.model, self.data = networks.load(name)
        inputs = {key: array for key, array in self.data.items() if key not in self.model[1]}
        self._dtypes = {key: array.dtype for key, array in inputs.items()}
        self._options = {"input_shapes": {key: array.shape for key, array in inputs.items()}, "machine": MACHINE}
        self._options |= {"cast_params_offline": True, "return_report": True}
        self._inputs, self.table = inputs, amp.sensitivity(*self.model, inputs)
        self._measure = Measure(self.model, self.table, Reruns(inputs, inputs_of_model(self.model)), ())
        self._known = {}
        *low, report = self._converted(policy="optimal")
        self.full_error, self._full = self._error(low), _saving(report)
        self.nodes = self._nodes(report, operators_of(low, inputs)[0])

    def _nodes(self, report, low):
        """Names of nodes that may go low, in the order of the graph: those that are `low`, or would be without them."""
        order, found = list(dict.fromkeys(tensor["node"] for tensor in report.tensors)), set()
        while low - found:
            found |= low
            *model, _ = self._converted(policy="optimal", excluded_sym_names=sorted(found))
            low, _ = operators_of(model, self._inputs)
        return [node for node in order if node in found]

    def _error(self, low):
        return self._measure(tuple(low))[0]

    def _converted(self, **options):
        return amp.convert_model(*self.model, self._dtypes, **self._options, **options)

    def keeping(self, kept):
        """(error, part of the full saving that is left) of the conversion that keeps these nodes."""
        key = frozenset(kept)
        if key not in self._known:
            *low, report = self._converted(policy="optimal", excluded_sym_names=sorted(key))
            self._known[key] = self._error(low), _saving(report) / self._full
        return self._known[key]

    def ours(self, goal):
        """(error, part of the full saving that is left, evaluations) of the option `accuracy`."""
        options = {"accuracy": {"error": goal}, "data": self._inputs, "sensitivity": self.table}
        *low, report = self._converted(**options)
        return self._error(low), _saving(report) / self._full, report.accuracy["evaluations"]


def _saving(report):
    return report.predicted["unchanged"] - report.predicted["as_decided"]


class Trials:
    """What a search sees of Cases, for one goal; `evaluations` counts different conversions."""

    def __init__(self, cases, goal):
        self._cases, self._goal, self._seen = cases, goal, set()

    @property
    def evaluations(self):
        return len(self._seen)

    def error(self, kept):
        self._seen.add(frozenset(kept))
        return self._cases.keeping(kept)[0]

    def meets(self, kept):
        return self.error(kept) <= self._goal


def rows():
    """A row for each network and goal, then means of what is left and of evaluations."""
    left = {"ours": [], **{name: [] for name in SEARCHES}}
    counts = {name: [] for name in left}
    for network in NETWORKS:
        cases = Cases(network)
        for part in PARTS:
            error, *found = cases.ours(part * cases.full_error)
            found = {"ours": found, **{name: _of_peer(cases, search, part) for name, search in SEARCHES.items()}}
            for name, (saving, evaluations) in found.items():
                left[name].append(100 * saving)
                counts[name].append(evaluations)
            seen = ", ".join(f"{name} {100 * saving:.0f} % ({count})" for name, (saving, count) in found.items())
            holds = error <= part * cases.full_error
            yield Row(f"searches: {network}, {part} of the error", "ours meets it; evaluations", seen, holds)
    for name in SEARCHES:
        ours, theirs = np.mean(left["ours"]), np.mean(left[name])
        seen = f"{ours:.1f} % against {theirs:.1f} %, {np.mean(counts['ours']):.1f} evaluations against "
        seen += f"{np.mean(counts[name]):.1f} (at most {max(counts[name])})"
        yield Row(f"searches: mean saving left, ours and {name}", "ours >= theirs", seen, ours >= theirs)


def _of_peer(cases, search, part):
    """(part of the saving that is left, evaluations); nothing is left where the search gives up."""
    trials = Trials(cases, part * cases.full_error)
    kept = search(cases.nodes, trials)
    return (0.0 if kept is None else cases.keeping(kept)[1]), trials.evaluations
