"""What rounding costs: errors tensor by tensor, what each rounding does to the outputs, and bounds.

The functions are those of the package: `amp.sensitivity`.
"""

from ._trust.sensitivity import Sensitivity, sensitivity

__all__ = ["Sensitivity", "sensitivity"]
