"""Which variables of a symbol are inputs, and which are parameters, by the slots of operators that they feed."""

# Ends of slots' names; those of fused nodes are made of the names inside, with a number.
_PARAMETER_SLOTS = ("weight", "bias", "gamma", "beta", "moving_mean", "moving_var", "parameters")


def inputs_of(symbol):
    """Arguments that are expected to change with each call: all but those that only feed slots of parameters."""
    fed = symbol._handle.without_amp_casts({}).slots_of_variables()
    return {name for name in symbol.list_arguments() if not all(map(_is_for_parameters, fed.get(name) or ["data"]))}


def _is_for_parameters(slot):
    return slot.rstrip("0123456789").endswith(_PARAMETER_SLOTS)
