"""The functions that NumPy computes in MXNet; here some have operators: those of `mx.np` itself.

`__all__` has MXNet's list, which depends on the version, as far as the NumPy at hand has them.
"""

import sys

import numpy as _numpy

from .. import _generation

_NAMES = """
allclose alltrue apply_along_axis apply_over_axes argpartition argwhere array_equal array_equiv choose compress corrcoef
correlate count_nonzero cov digitize divmod extract float_power frexp heaviside histogram2d histogram_bin_edges
histogramdd i0 in1d intersect1d isclose isin ix_ lexsort min_scalar_type mirr modf msort nanargmax nanargmin nancumprod
nancumsum nanmax nanmedian nanmin nanpercentile nanprod nanquantile ndim npv packbits partition
piecewise poly polyadd polydiv polyfit polyint polymul polysub positive ppmt promote_types ptp pv rate real roots
searchsorted select setdiff1d setxor1d signbit size spacing take_along_axis trapz tril_indices_from trim_zeros union1d
unpackbits unwrap vander
""".split()

_NAMES_OF_1 = "flatnonzero interp result_type rollaxis triu_indices_from".split()
_NAMES_OF_2 = "cumprod nanstd nansum nanvar pmt".split()


def _names():
    names = _NAMES + (_NAMES_OF_1 if _generation.default().number == 1 else _NAMES_OF_2)
    # NumPy keeps the names of functions of finance that moved to another package.
    return sorted(name for name in names if getattr(getattr(_numpy, name, None), "__name__", "_expired") != "_expired")


def __getattr__(name):
    return _names() if name == "__all__" else getattr(sys.modules[__package__], name)
