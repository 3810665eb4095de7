"""Functions of `mx.nd` that are no operators here: random arrays, updates of weights, loops."""

from .. import nd
from . import control_flow, random
from .optimizer.updates import FUNCTIONS as UPDATES

_SAMPLERS = ("uniform", "normal", "poisson", "exponential", "negative_binomial", "generalized_negative_binomial")


def install():
    """Puts them there."""
    for name in _SAMPLERS:  # under both names of MXNet's operators
        setattr(nd, name, getattr(random, name))
        setattr(nd, f"random_{name}", getattr(random, name))
    nd.random_gamma, nd.random_randint = random.gamma, random.randint
    for name, function in UPDATES.items():
        setattr(nd, name, function)
    for name in control_flow.__all__:
        setattr(nd.contrib, name, getattr(control_flow, name))
