"""Modules: models that are bound to shapes, given parameters and trained, with MXNet 1.x's interface."""

from ._bucketing_module import BucketingModule
from ._missing import getter
from ._module import Module
from ._module_base import BaseModule
from ._module_names import _check_input_names, _check_names_match, _parse_data_desc  # noqa: F401 - for toolkits
from ._python_module import PythonLossModule, PythonModule
from ._sequential_module import SequentialModule
from .base import _as_list  # noqa: F401

__all__ = ["BaseModule", "BucketingModule", "Module", "PythonLossModule", "PythonModule", "SequentialModule"]

__getattr__ = getter(__name__)
