"""What this build can do, under MXNet's names of features."""

from ..base import ArgumentError, cpu_info, did_you_mean
from ._missing import getter

__all__ = ["Feature", "Features", "feature_list"]

_THERE = "F16C INT64_TENSOR_SIZE MKLDNN ONEDNN OPENMP SIGNAL_HANDLER".split()
_NOT_THERE = (
    "BLAS_APPLE BLAS_ATLAS BLAS_MKL BLAS_OPEN CAFFE CPU_SSE4A CUDA CUDA_RTC CUDNN CXX14 "
    "DEBUG DIST_KVSTORE JEMALLOC LAPACK NCCL OPENCV PROFILER SSE TENSORRT TVM_OP"
).split()


class Feature:
    """A feature: `name` and whether it is `enabled`.

    >>> mx.runtime.Feature("ONEDNN", True).enabled
    True
    """

    def __init__(self, name, enabled):
        self.name, self.enabled = name, enabled

    def __repr__(self):
        return f"{'✔' if self.enabled else '✖'} {self.name}"


class UnknownFeatureError(ArgumentError):
    """A name that is no feature; in MXNet a RuntimeError."""


class Features(dict):
    """{name: Feature}: one object for all.

    >>> mx.runtime.Features().is_enabled("ONEDNN")
    True
    """

    _only = None

    def __new__(cls):
        if cls._only is None:
            cls._only = super().__new__(cls)
            cls._only.update((feature.name, feature) for feature in feature_list())
        return cls._only

    def is_enabled(self, feature_name):
        """Whether a feature is there; raises RuntimeError (an ArgumentError, too) for names that are no features."""
        feature = self.get(str(feature_name).upper())
        if feature is None:
            raise UnknownFeatureError(f"unknown feature {feature_name!r}{did_you_mean(feature_name, self)}")
        return feature.enabled

    def __repr__(self):
        return str(list(self.values()))


def feature_list():
    """A list of all Features, those of the CPU included.

    >>> [feature.name for feature in mx.runtime.feature_list()][:3]
    ['BLAS_APPLE', 'BLAS_ATLAS', 'BLAS_MKL']
    """
    isa = cpu_info()["isa"].lower()
    has_avx2 = "avx" in isa  # of oneDNN's names for sets of instructions, each contains those before it
    flags = {"CPU_SSE": True, "CPU_SSE2": True, "CPU_AVX": has_avx2, "CPU_AVX2": has_avx2}
    flags.update(dict.fromkeys(("CPU_SSE3", "CPU_SSE4_1", "CPU_SSE4_2"), has_avx2 or "sse41" in isa))
    flags.update(dict.fromkeys(_THERE, True))
    flags.update(dict.fromkeys(_NOT_THERE, False))
    return [Feature(name, flags[name]) for name in sorted(flags)]


__getattr__ = getter(__name__)
