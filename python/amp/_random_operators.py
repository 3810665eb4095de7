"""MXNet's random functions as operators, on symbols and on arrays."""

from .base import ArgumentError


def draw(find_function, tensor_class, name, parameters, /, **options):
    """The operator that draws from a distribution with the parameters of MXNet's function of that name.

    `find_function` gives the function of an operator by its name. Parameters are numbers, or of `tensor_class`: then
    each element has samples of its own.
    Options that are None are left out. Raises ArgumentError where some parameters are numbers and others are not.
    """
    if name == "exponential":
        parameters = [1 / parameters[0]]  # the operator takes the rate, the function the mean
    are_tensors = {isinstance(parameter, tensor_class) for parameter in parameters}
    if len(are_tensors) > 1:
        kinds = f"{tensor_class.__name__}s or all numbers"
        raise ArgumentError(f"{name}: parameters must be all {kinds}, got {', '.join(map(repr, parameters))}")
    function = find_function(f"_sample_{name}" if are_tensors == {True} else f"_random_{name}")
    return function(*parameters, **{key: value for key, value in options.items() if value is not None})
