"""`amp serve`"""

from .._serve.settings import Settings, checked


def serve(options):
    """`amp serve`"""
    settings = checked(Settings(**{key: getattr(options, key) for key in Settings._fields}))
    from .._serve import supervisor  # which needs the extra

    return supervisor.run(settings)
