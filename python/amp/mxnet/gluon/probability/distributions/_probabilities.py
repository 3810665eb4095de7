"""Parameters that are given as probabilities or as their logarithms."""

from .distribution import Distribution
from .utils import cached_property, logit2prob, prob2logit


class ByProbability(Distribution):
    """A distribution with `prob` or `logit`, of which each follows from the other.

    `_is_binary`: `logit` has the logarithms of odds; else the last axis has those of the probabilities of events.
    """

    _is_binary = True

    def _take_parameter(self, prob, logit):
        if (prob is None) == (logit is None):
            raise ValueError(
                f"Either `prob` or `logit` must be specified, but not both. Received prob={prob}, logit={logit}"
            )
        if prob is not None:
            self.prob = prob
        else:
            self.logit = logit

    @cached_property
    def prob(self):
        """The probabilities."""
        return logit2prob(self.logit, self._is_binary)

    @cached_property
    def logit(self):
        """The logarithms of odds, or of probabilities."""
        return prob2logit(self.prob, self._is_binary)


class OfEvents(ByProbability):
    """A distribution of events, whose probabilities are the last axis."""

    _is_binary = False
    _event_axes = {"prob": 1, "logit": 1}

    def _take_number(self, num_events):
        if not num_events > 0:
            raise ValueError(f"`num_events` should be greater than zero. Received num_events={num_events}")
        self.num_events = int(num_events)
