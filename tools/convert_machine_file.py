"""Converts machine files of version 1 to version 2.

    python tools/convert_machine_file.py FILE ...

Groups of samples get the names of the kernels that they were measured with, one group a line. What the machine can do
has keys of its own, where version 1 said it by what was measured.
"""

import json
import sys
from pathlib import Path

from amp._machine_file import text_of

# The beginnings of groups in version 1, the longest first, and the names of kernels.
NAMES = {
    "convolution_pointwise_strassen_": "gemm_strassen_",
    "convolution_scaled_pointwise_": "scaled_gemm_",
    "convolution_pooled_image_": "pooled_image_convolution_",
    "convolution_pointwise_": "gemm_",
    "convolution_windows_": "implicit_gemm_",
    "convolution_winograd_line7_": "winograd_1x7_",
    "convolution_winograd_line3_": "winograd_1x3_",
    "convolution_winograd_": "winograd_",
    "convolution_image_": "image_convolution_",
    "expanding_depthwise_block_": "expanding_fused_depthwise_",
    "depthwise_block_": "fused_depthwise_",
}
AFTER = "has_bfloat16"  # where the new facts stand


def converted(file):
    """A machine file of version 2, as a dict."""
    if file["format"] != "amp-machine" or file["version"] != 1:
        sys.exit(f"expected a machine file of version 1, got {file['format']}, version {file['version']}")
    facts = {
        "has_int16": "convolution_winograd_f4x4_int16 bfloat16" in _without_layouts(file["steps"]),
        "has_tiles": "convolution_winograd_f1x4_bf16 bfloat16" in _without_layouts(file["steps"]),
        "onednn_is_channels_last": any(
            group.startswith("convolution_kxk float32 channels_last") for group in file["steps"]
        ),
    }
    result = {}
    for key, value in file.items():
        result[key] = 2 if key == "version" else value
        if key == AFTER:
            result.update(facts)
    result["steps"] = {}
    for group, samples in file["steps"].items():
        result["steps"].setdefault(renamed(group), []).extend(samples)
    result.pop("tuned", None)  # by names that are gone
    return result


def renamed(group):
    """The key of version 2: kernels of ours are measured in whatever layout."""
    for old, new in NAMES.items():
        if group.startswith(old):
            step, dtypes, *_ = group.split(" ")
            return f"{new}{step.removeprefix(old)} {dtypes}"
    return group


def _without_layouts(groups):
    return {" ".join(group.split(" ")[:2]) for group in groups}


def main(paths):
    for path in map(Path, paths):
        path.write_text(text_of(converted(json.loads(path.read_text()))))


if __name__ == "__main__":
    main(sys.argv[1:])
