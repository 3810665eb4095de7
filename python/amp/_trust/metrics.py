"""How far two arrays are apart, as sums over batches."""

import math

import ml_dtypes
import numpy as np

from .._core import numpy_dtype

# How much of a tensor's rms, and of a sum of magnitudes, the float32 arithmetic of two kernels may differ by.
_NOISE_OF_RMS = 2.0**-20
_NOISE_OF_SUM = 2.0**-22


def noise_of(exact, magnitudes):
    """How far two float32 kernels may be apart without a fault, for each number of `exact`.

    `magnitudes` are the sums of the magnitudes of the products that were summed up, or None: sums that cancel err by
    more than the rounding of what is left.
    """
    finite = exact[np.isfinite(exact)]
    noise = _NOISE_OF_RMS * math.sqrt(np.mean(np.square(finite, dtype=np.float64))) if finite.size else 0.0
    return noise if magnitudes is None else np.maximum(noise, _NOISE_OF_SUM * np.abs(magnitudes))


def half_units(array, dtype):
    """Half a unit in the last place of each number in the format `dtype`: how far rounding to nearest may move it."""
    info = ml_dtypes.finfo(numpy_dtype(dtype))
    exponents = np.frexp(array)[1]
    units = np.ldexp(np.float64(1), exponents - 2 - info.nmant)
    return np.maximum(np.where(array == 0, 0.0, units), float(info.smallest_subnormal) / 2)


def own_units(wrote, exact, dtype, noise=0.0):
    """The largest difference in halves of a unit in the last place of the larger number; inf where one is not finite.

    What overflows when it is rounded may be infinite or the largest number, as casts of conversions make it. `noise` is
    what is no rounding.
    """
    wrote, exact = np.asarray(wrote, np.float64), np.asarray(exact, np.float64)
    finite = np.isfinite(wrote) & np.isfinite(exact)
    largest = np.where(finite, np.maximum(np.abs(wrote), np.abs(exact)), 1.0)
    with np.errstate(invalid="ignore", over="ignore"):
        units = np.abs(wrote - exact) / (half_units(largest, dtype) + noise)
        overflows = ~np.isfinite(exact.astype(numpy_dtype(dtype)).astype(np.float64))
    limit = float(ml_dtypes.finfo(numpy_dtype(dtype)).max)
    is_right = overflows & ((np.abs(wrote) >= limit) | np.isnan(wrote)) & ~(wrote * exact < 0)
    units = np.where(is_right, 0.0, np.where(finite, units, np.inf))
    return float(units.max(initial=0.0))


class Difference:
    """Sums over batches of what tells a tensor of the low model from the reference."""

    def __init__(self):
        self.count = self.born = self.zeros_changed = 0
        self.squares = self.reference_squares = self.products = 0.0
        self.largest_difference = self.largest_reference = 0.0
        self.sample = None

    def add(self, reference, low, axis, first_sample):
        """Adds a batch; `axis` is where samples lie, `first_sample` the number of the first one."""
        a, b = np.asarray(reference, np.float64), np.asarray(low, np.float64)
        finite = np.isfinite(a) & np.isfinite(b)
        self.born += int(np.count_nonzero(np.isfinite(a) & ~np.isfinite(b)))
        self.count += a.size
        self.zeros_changed += int(np.count_nonzero((a == 0) != (b == 0)))
        a, b = np.where(finite, a, 0.0), np.where(finite, b, 0.0)
        difference = b - a
        self.squares += float(np.vdot(difference, difference))
        self.reference_squares += float(np.vdot(a, a))
        self.products += float(np.vdot(a, b))
        self.largest_reference = max(self.largest_reference, float(np.abs(a).max(initial=0.0)))
        self._find_largest(np.abs(difference), axis, first_sample)

    def _find_largest(self, difference, axis, first_sample):
        largest = float(difference.max(initial=0.0))
        if largest > self.largest_difference:
            self.largest_difference = largest
            place = np.unravel_index(int(difference.argmax()), difference.shape)
            self.sample = None if axis is None else first_sample + int(place[axis])

    @property
    def error(self):
        """Root mean square of the difference over that of the reference; inf where something is not finite."""
        return math.inf if self.born else ratio(self.squares, self.reference_squares)

    def facts(self):
        """error, snr_db, largest, gain, born, zeros_changed and sample, as a dict."""
        error = self.error
        largest = self.largest_difference / self.largest_reference if self.largest_reference else 0.0
        return {
            "error": error,
            "snr_db": -20 * math.log10(error) if 0 < error < math.inf else None,
            "largest": largest if self.largest_reference else (math.inf if self.largest_difference else 0.0),
            "gain": self.products / self.reference_squares - 1 if self.reference_squares else 0.0,
            "born": self.born,
            "zeros_changed": self.zeros_changed / self.count if self.count else 0.0,
            "sample": self.sample,
        }


class OwnError:
    """Sums over batches of what one step adds: what it wrote less the exact result for the same inputs."""

    def __init__(self, dtype):
        self._dtype = dtype
        self.squares = self.exact_squares = self.units = 0.0
        self.saturated = self.flushed = 0

    def add(self, wrote, exact, noise):
        """Adds a batch, `noise` as of `own_units`; returns the own error as float32, 0 where a number is not finite."""
        finite = np.isfinite(wrote) & np.isfinite(exact)
        with np.errstate(invalid="ignore"):
            own = np.where(finite, wrote - exact, np.float32(0))
        self.squares += float(np.sum(np.square(own, dtype=np.float64)))
        self.exact_squares += float(np.sum(np.square(np.where(finite, exact, 0), dtype=np.float64)))
        self.units = max(self.units, own_units(wrote, exact, self._dtype, noise))
        largest = float(ml_dtypes.finfo(numpy_dtype(self._dtype)).max)
        self.saturated += int(np.count_nonzero(np.abs(wrote) == largest))
        self.flushed += int(np.count_nonzero((wrote == 0) & (exact != 0)))
        return own.astype(np.float32, copy=False)

    def facts(self):
        """own, own_units, saturated and flushed, as a dict."""
        return {
            "own": ratio(self.squares, self.exact_squares),
            "own_units": self.units,
            "saturated": self.saturated,
            "flushed": self.flushed,
        }


def ratio(squares, reference_squares):
    """The root of a ratio of sums of squares; inf where only the second is 0."""
    if reference_squares:
        return math.sqrt(squares / reference_squares)
    return math.inf if squares else 0.0
