"""Modules: models that are bound to shapes, given parameters and trained, with MXNet 1.x's interface.

A Module is a base class (`base_module`) with parts for loops, predictions, parameters, training and files. They import
iterators, metrics, optimizers and bound symbols, never blocks.
"""

from .._missing import getter
from ..base import _as_list  # noqa: F401
from .base_module import BaseModule
from .bucketing_module import BucketingModule
from .module import Module
from .names import _check_input_names, _check_names_match, _parse_data_desc  # noqa: F401 - for toolkits
from .python_module import PythonLossModule, PythonModule
from .sequential_module import SequentialModule

__all__ = ["BaseModule", "BucketingModule", "Module", "PythonLossModule", "PythonModule", "SequentialModule"]

__getattr__ = getter(__name__)
