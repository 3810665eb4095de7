"""Training with gradients of less variance, after R. Johnson and T. Zhang (2013)."""

from . import svrg_module, svrg_optimizer

__all__ = ["svrg_module", "svrg_optimizer"]
