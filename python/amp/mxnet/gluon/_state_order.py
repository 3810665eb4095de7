"""Which parameter a state in a trainer's file belongs to: the file has places in a sorted list of names.

Names of MXNet 1.x are numbered in each process, 'dense9_weight' and 'dense10_weight' may have been 'dense0_weight' and
'dense1_weight' when the file was written, and their order another one.
"""

import re
import warnings

from ... import name as names

_NUMBERED = re.compile(r"([A-Za-z_]\w*?)(\d+)(?=_)")


def outermost(name):
    """(kind, number) of the block that a name begins with, where the process has numbered it, else None."""
    found = _NUMBERED.match(name)
    counters = getattr(names.current(), "_counter", {})
    if found is None or int(found[2]) >= counters.get(found[1], 0):
        return None
    return found[1], int(found[2])


def renumbered(parameter_names):
    """The names that the same blocks have in a process that makes no others before."""
    first = {}
    for kind, number in filter(None, map(outermost, parameter_names)):
        first[kind] = min(number, first.get(kind, number))
    return [_shifted(name, first) for name in parameter_names]


def _shifted(name, first):
    found = outermost(name)
    if found is None:
        return name
    kind, number = found
    return f"{kind}{number - first[kind]}{name[len(kind) + len(str(number)) :]}"


def places_by_name(saved, own):
    """The place in `own` of each saved name, or None where the names are others. Both are lists of names."""
    if not isinstance(saved, list) or len(set(map(str, saved))) != len(saved):
        return None
    for mine in (own, renumbered(own)):
        if set(mine) == set(map(str, saved)):
            return [mine.index(name) for name in saved]
    return None


def places_in_mxnets_file(parameter_names, fits):
    """The place of each state of a file without names; `fits(places)` says whether all shapes agree.

    The names sort as now, or as in a process that made no other blocks before. Where both fit and they differ, it is
    the first, as in MXNet, and a warning says so. Parameters that are not sorted came as a list, which has its order.
    """
    now = list(range(len(parameter_names)))
    if parameter_names != sorted(parameter_names):
        return now
    before = sorted(now, key=renumbered(parameter_names).__getitem__)
    if before == now or not fits(before):
        return now
    if not fits(now):
        return before
    warnings.warn(
        "load_states: the file does not name its parameters, and blocks may have been numbered otherwise when it was "
        f"written: is the first state that of '{parameter_names[0]}', as is taken for granted, or of "
        f"'{parameter_names[before[0]]}'? Give the net a prefix to be sure",
        stacklevel=4,
    )
    return now
