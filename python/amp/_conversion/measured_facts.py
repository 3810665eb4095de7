"""What a report says of numbers: of the model's parameters, and of data that it was run on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


class MeasuredFacts:
    """The part of a ConversionReport that numbers gave, and not the graph."""

    _facts: dict[str, Any]

    @property
    def accuracy(self) -> dict[str, Any] | None:
        """How the conversion met the goal of its option `accuracy`; None without that option.

        goal, reached, evaluations (how many models were measured), predicted_error (to first order), measured_error or
        metric (None where none was needed), samples (how many of the data gave measured_error; None where no data did),
        interrupted (whether ctrl-C ended the search), kept (nodes that stay float32 for it: dicts with node and why),
        and curve: what the search found, dicts with predicted_time (seconds, or None), predicted_error, measured_error
        or metric, and kept (how many nodes).

        >>> sym, args, aux = amp.load("model-symbol.json", "model-0000.params")
        >>> data = np.random.default_rng(0).standard_normal((8, 4), dtype="float32")
        >>> goal = {"error": 0.1}
        >>> *_, report = amp.convert_model(sym, args, aux, accuracy=goal, data=data, return_report=True)
        >>> report.accuracy["reached"], report.accuracy["evaluations"]
        (True, 1)
        """
        return self._facts.get("accuracy")

    @property
    def verified(self) -> dict[str, Any] | None:
        """What `verify=True` found; None without it.

        samples, error (of the outputs), suspects, not_judged (loops and branches with converted bodies, which round
        more than once) and kept (whether the model stayed as it was).
        """
        return self._facts.get("verified")

    @property
    def ranges(self) -> list[dict[str, Any]]:
        """What inputs and results were on the `data` of the conversion, in float32; [] without data.

        Dicts with id and name of the tensor, smallest and largest finite number (None: there is none), not_finite (how
        many are not), and proven: [low, high] of all data there can be, None for an end that is infinite.
        """
        return self._facts.get("ranges", [])

    @property
    def parameters(self) -> list[dict[str, Any]]:
        """What the conversion does to the values of floating-point parameters, in the order of the graph.

        Dicts with name, dtype (that operators read), smallest and largest magnitude but 0, error (rms of what rounding
        changed, relative to that of the values, batch norms folded), is_exact, worst_channel ({index, error}, or None).
        Numbers that are infinite or NaN and stay so do not count; those that become so have an infinite error.

        >>> net = amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=2, no_bias=True, name="fc")
        >>> args = {"fc_weight": np.array([[1, 2], [1, 1.001]], "float32")}
        >>> (weight,) = amp.convert_model(net, args, {}, return_report=True)[3].parameters
        >>> weight["dtype"], weight["is_exact"], weight["worst_channel"]["index"]
        ('bfloat16', False, 1)
        """
        return self._facts.get("parameters", [])

    @property
    def denormal_parameters(self) -> dict[str, dict[str, int]]:
        """{parameter: {'are': n, 'become': n}}: how many of its numbers are, or become by the conversion, denormal.

        Below 1.18e-38 in float32 and bfloat16, 6.1e-5 in float16; what becomes zero counts, too. See amp.alternate.

        >>> net = amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=1, no_bias=True, name="fc")
        >>> args = {"fc_weight": np.array([[1, 1e-39, 1e-40]], "float32")}
        >>> amp.convert_model(net, args, {}, return_report=True)[3].denormal_parameters
        {'fc_weight': {'are': 2, 'become': 0}}
        """
        return self._facts.get("denormal_parameters", {})
