"""The categorical distribution."""

from .... import np, npx
from ._probabilities import OfEvents
from .constraint import IntegerInterval, Real, Simplex
from .utils import cached_property, sample_n_shape_converter

__all__ = ["Categorical"]


class Categorical(OfEvents):
    """Categorical(num_events, prob=None, logit=None): numbers below `num_events`.

    The last axis of `prob` has their probabilities, that of `logit` logarithms of these up to a constant. Raises
    ValueError unless one of the two is given, and without events.

    >>> mx.gluon.probability.Categorical(2, prob=mx.np.array([0.25, 0.75])).enumerate_support()
    array([0., 1.])
    """

    has_enumerate_support = True
    arg_constraints = {"prob": Simplex(), "logit": Real()}

    def __init__(self, num_events, prob=None, logit=None, validate_args=None):
        self._take_number(num_events)
        self._take_parameter(prob, logit)
        super().__init__(event_dim=0, validate_args=validate_args)

    @property
    def support(self):
        return IntegerInterval(0, self.num_events - 1)

    @cached_property
    def _log_probabilities(self):
        """Those of the events, which add up to 1."""
        return npx.log_softmax(self.logit, axis=-1)

    def _log_prob(self, value):
        logarithms, index = self._log_probabilities, np.expand_dims(value, -1)
        logarithms = logarithms + np.zeros_like(index).astype(logarithms.dtype)
        index = np.squeeze(index + np.zeros_like(logarithms[..., :1]), -1)
        return npx.pick(logarithms[None], index[None], axis=-1).squeeze(0)  # of a vector it would keep an axis

    def sample(self, size=None):
        logit = self.logit
        if size is not None:
            logit = np.broadcast_to(logit, (size, -2) if isinstance(size, int) else (*size, -2))
        return np.argmax(np.random.gumbel(logit), axis=-1)

    def sample_n(self, size=None):
        return np.argmax(np.random.gumbel(self.logit, size=sample_n_shape_converter(size)), axis=-1)

    def enumerate_support(self):
        return np.moveaxis(npx.arange_like(self.logit) % self.num_events, -1, 0)
