"""Networks of MXNet's Gluon vision model zoo, as symbols.

Structure, names and attributes are those of the files that MXNet writes, so that its parameter files fit.

A network is a tree of blocks (`blocks`, and one file per family). Binding the tree gives every layer its
name, as making Gluon blocks does; applying it to the input gives the graph, written in one of two forms
(`forms`): MXNet 1.x, or 2.0.
"""

from .parameters import seeded_params
from .table import get_model, list_models

__all__ = ["get_model", "list_models", "seeded_params"]
