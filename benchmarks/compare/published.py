"""Medians measured earlier on two Zen 4 cores (ms), to notice peers that run slower than they can.

Versions: OpenVINO 2026.4.1, torch 2.13.0, ONNX Runtime 1.31.1, MXNet 1.9.1. Where runs differed, the slower one.
"""

# GFLOP/s of that machine by threads and precision.
PEAKS = {1: {"fp32": 117.0, "bf16": 235.0}, 2: {"fp32": 227.0, "bf16": 468.0}}

_COLUMNS = (
    ("openvino", "fp32"),
    ("openvino", "bf16"),
    ("torch", "fp32"),
    ("torch", "bf16"),
    ("mxnet", "fp32"),
    ("mxnet", "bf16"),
    ("onnxruntime", "fp32"),
)
_TWO_THREADS = {
    ("resnet50_v1", 1): (32.1, 18.4, 40.1, 21.4, 42.0, 139.7, 48.5),
    ("resnet50_v1", 16): (507, 255, 608, 291, 593, 435, 817),
    ("mobilenetv2_1.0", 1): (3.58, 2.04, 5.92, 4.01, 4.48, 16.6, 8.96),
    ("mobilenetv2_1.0", 16): (71.3, 32.9, 113, 46.7, 72.1, 69.9, 150),
    ("vgg16", 1): (151, 77.4, None, None, 147, 89.0, 178),
    ("vgg16", 16): (2159, 1080, None, None, 2256, 1123, 2543),
    ("densenet121", 1): (29.2, 19.6, None, None, 34.7, 49.2, 59.3),
    ("densenet121", 16): (527, 241, None, None, 537, 433, 679),
    ("inceptionv3", 1): (51.9, 26.7, None, None, 56.7, 159, 67.4),
    ("inceptionv3", 16): (846, 410, None, None, 832, 552, 1085),
    ("bert_base", 1): (108, 68.4, 151, 61.1, 184, None, 118),
    ("bert_base", 8): (846, 426, 962, 460, 1064, None, 938),
}
_ONE_THREAD = {("resnet50_v1", 1): (63.5, 33.1), ("mobilenetv2_1.0", 1): (7.5, 4.1)}


def published_ms(network, batch, threads, contestant, precision):
    """The earlier figure, or None."""
    table = {1: _ONE_THREAD, 2: _TWO_THREADS}.get(threads, {})
    figures = dict(zip(_COLUMNS, table.get((network, batch), ())))
    return figures.get((contestant, precision))
