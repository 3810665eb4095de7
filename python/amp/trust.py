"""What rounding costs: errors tensor by tensor, what each rounding does to the outputs, and bounds.

The functions are those of the package, such as `amp.compare` and `amp.sensitivity`.
"""

from ._trust.bound import ErrorBound, error_bound
from ._trust.comparison import Comparison, compare
from ._trust.sensitivity import Sensitivity, sensitivity

__all__ = ["Comparison", "ErrorBound", "Sensitivity", "compare", "error_bound", "sensitivity"]
