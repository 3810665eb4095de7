"""`amp serve`"""

from .._serve.settings import Settings, checked
from ..base import ArgumentError
from .models import is_plan


def serve(options):
    """`amp serve`"""
    if not is_plan(options.plan):
        raise ArgumentError(f"there is no plan file {options.plan}; `amp compile` makes one of a model")
    settings = checked(Settings(**{key: getattr(options, key) for key in Settings._fields}))
    from .._serve import supervisor  # which needs the extra

    return supervisor.run(settings)
