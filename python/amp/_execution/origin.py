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
        self._whole = None

    @classmethod
    def of_file(cls, file):
        """All that a ParameterFile holds."""
        parameters = cls({})
        parameters._whole = file
        return parameters

    def read(self):
        """{name: array}. Raises ArgumentError for a file that is gone or has changed."""
        if self._whole is not None:
            return self._whole.read()
        places = {name: place for name, place in self._places.items() if place is not None}
        contents = {file: file.read() for file in dict.fromkeys(place.file for place in places.values())}
        return {**self._arrays, **{name: contents[place.file][place.name] for name, place in places.items()}}

    def source_for(self, symbol):
        """A function that reads (arguments, auxiliary states) of a symbol again; None where an array is the caller's,
        who may have changed it since."""
        if self._arrays or (not self._places and self._whole is None):
            return None

        def read():
            arrays = self.read()
            names = symbol.list_arguments(), symbol.list_auxiliary_states()
            return tuple({name: arrays[name] for name in group if name in arrays} for group in names)

        return read

    def are_of(self, path):
        """Whether all of them are what this file holds."""
        if self._whole is not None:
            return self._whole.path == path
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
