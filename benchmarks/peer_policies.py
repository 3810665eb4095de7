"""The networks of the benchmark under the policies of other programs: casts, kept operators, error, predicted time.

    python -m benchmarks.peer_policies [--networks NETWORK ...] [--machine CLASS]

Parameters and inputs are seeded, the batch is 1. A policy decides for any machine, and batch norms are folded. Casts
are those in every run, those of parameters are made offline; kept are operators that neither read nor write low
precision. The error is the root mean square over that of the float32 outputs, each node run as it stands. The time is
what CLASS is predicted to take, relative to float32 with folded batch norms.
"""

import argparse
import functools

import numpy as np

import amp

from .compare.networks import NETWORKS, inputs_of, parameters_of, symbol_of
from .low_operators import operators_of

MACHINE = "avx512_bf16_fast"
# {name: options of a conversion}; sources are what each program does where it is told nothing.
POLICIES = {
    "`default`": dict,
    "`optimal`": lambda: {"policy": "optimal"},
    "`tensorflow`": lambda: amp.peer_policy("tensorflow", {}),
    "`pytorch`": lambda: amp.peer_policy("pytorch"),
    "`onnxconverter`": lambda: amp.peer_policy("onnxconverter", {}),
    "`tensorrt` with `*:bf16`": lambda: amp.peer_policy("tensorrt", "*:bf16"),
    "`autocast` with `data_max` 512": lambda: amp.peer_policy("autocast", {"data_max": 512}),
}
HEADER = ("network", "policy", "casts", "kept", "error", "time")


class Network:
    """A network with its data and its float32 outputs."""

    def __init__(self, name, machine):
        symbol = symbol_of(name)
        self.model, self.inputs = (symbol, *parameters_of(name, symbol)), inputs_of(name, 1)
        self._machine = machine
        self._shapes = {key: array.shape for key, array in self.inputs.items()}

    def row(self, options):
        """(casts, kept operators of all, error, relative time) of a conversion with these options."""
        data = {"data": self.inputs} if "limits" in options else {}
        *low, report = self._converted(return_report=True, **data, **options)
        touched, every = operators_of(low, self.inputs)
        kept = sum(name not in touched for name in every)
        time = self._predicted(low) / self._time_in_float32
        return report.totals["casts"]["run_time"], f"{kept} of {len(every)}", f"{self._error(low):.1e}", f"{time:.2f}"

    def _converted(self, **options):
        return amp.convert_model(*self.model, cast_params_offline=True, fold_batch_norm=True, **options)

    @functools.cached_property
    def _time_in_float32(self):
        return self._predicted(self._converted(policy="mxnet", target_dtype_ops=[]))

    def _predicted(self, model):
        """Picoseconds of a model as it is: preset mp0 changes nothing, and predicts."""
        asked = {"policy": "graphamp", "preset": "mp0", "machine": self._machine, "return_report": True}
        return amp.convert_model(*model, input_shapes=self._shapes, **asked)[3].predicted["as_decided"]

    @functools.cached_property
    def _float32(self):
        return self._outputs(self.model)

    def _outputs(self, model):
        run = amp.Executor(*model, self._shapes, mode="exact", machine="any")
        return [np.asarray(output, np.float64) for output in run(self.inputs)]

    def _error(self, low):
        squares = [np.mean((b - a) ** 2) / np.mean(a**2) for a, b in zip(self._float32, self._outputs(low))]
        return float(np.sqrt(np.average(squares, weights=[a.size for a in self._float32])))


def main():
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--networks", nargs="+", choices=NETWORKS, default=NETWORKS, metavar="NETWORK")
    parser.add_argument("--machine", default=MACHINE, metavar="CLASS", help=f"default: {MACHINE}")
    options = parser.parse_args()
    cpu = amp.cpu_info()
    print(f"CPU: {cpu['cpu']}, {cpu['isa']}; times are predicted for {options.machine}\n")
    print("| " + " | ".join(HEADER) + " |")
    print("|" + "---|" * len(HEADER))
    for name in options.networks:
        network = Network(name, options.machine)
        for policy, options_of in POLICIES.items():
            print("| " + " | ".join(map(str, (name, policy, *network.row(options_of())))) + " |", flush=True)


if __name__ == "__main__":
    main()
