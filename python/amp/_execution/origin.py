"""What an executor was made from, so that it can be made again: in another process, too."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..sym import Symbol
from . import parameter_files


class Parameters:
    """Arrays by name. What was read from a file and not changed since is a place in the file."""

    def __init__(self, arrays):
        self._places = {name: parameter_files.place_of(array) for name, array in arrays.items()}
        self._arrays = {name: array for name, array in arrays.items() if self._places[name] is None}

    def read(self):
        """{name: array}. Raises ArgumentError for a file that is gone or has changed."""
        places = {name: place for name, place in self._places.items() if place is not None}
        contents = {file: file.read() for file in dict.fromkeys(place.file for place in places.values())}
        return {**self._arrays, **{name: contents[place.file][place.name] for name, place in places.items()}}

    def are_of(self, path):
        """Whether all of them are what this file holds."""
        return not self._arrays and all(place.file.path == path for place in self._places.values())

    def __deepcopy__(self, memo):
        return self  # nobody writes to them


class Origin(NamedTuple):
    """What an executor was made from."""

    symbol: Symbol
    parameters: Parameters
    input_types: dict[str, Any]  # {name: (dtype or None, shape)}
    options: dict[str, Any]
    shapes: dict[str, Any] | None = None  # of `reshape` afterwards

    def with_shapes(self, shapes):
        """The origin of an executor that `reshape` made for these shapes."""
        return self._replace(shapes={**(self.shapes or {}), **shapes})
