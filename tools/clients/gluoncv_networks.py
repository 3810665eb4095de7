"""Runs networks of all families of GluonCV as a program does: as they are, hybridized, exported and read again.

One line for each, `ok <name>` or `failed <name>: <why>`. Outputs agree by all three ways; those of detectors, whose
random weights give nearly equal scores that suppression and sorting tell apart, agree in their shapes.
"""

import sys
import tempfile
import warnings
from pathlib import Path

import mxnet as mx
import numpy as np

warnings.simplefilter("ignore")

from gluoncv import model_zoo  # noqa: E402

# Size of pictures -> names.
NETWORKS = {
    32: """
    cifar_resnet20_v1 cifar_resnet20_v2 cifar_wideresnet16_10 cifar_resnet56_v1 cifar_residualattentionnet56
    """,
    64: """
    resnet18_v1 resnet34_v1 resnet50_v1 resnet18_v2 resnet50_v2 resnet18_v1b resnet50_v1b resnet50_v1c resnet50_v1d
    resnet50_v1s vgg13 se_resnet18_v1 se_resnet50_v1 se_resnet18_v2 resnext50_32x4d se_resnext50_32x4d resnest14
    resnest50 senet_154 vgg11 vgg11_bn vgg16_bn mobilenet1.0 mobilenet0.5
    mobilenetv2_1.0 mobilenetv2_0.25 mobilenetv3_small mobilenetv3_large darknet53 shufflenet_v1 shufflenet_v2
    hrnet_w18_small_v1_c resnet18_v1b_0.89 hrnet_w18_small_v1_s resnet34_v2 mobilenetv2_0.5
    """,
    128: "alexnet xception nasnet_4_1056",
    299: "inceptionv3",
    300: "ssd_300_vgg16_atrous_voc",
    256: """
    ssd_512_resnet50_v1_voc ssd_512_mobilenet1.0_voc ssd_512_resnet18_v1_voc
    yolo3_darknet53_voc yolo3_mobilenet1.0_voc yolo3_mobilenet0.25_voc center_net_resnet18_v1b_voc
    center_net_mobilenetv3_small_duc_voc center_net_resnet18_v1b_dcnv2_voc faster_rcnn_resnet50_v1b_voc
    faster_rcnn_fpn_resnet50_v1b_coco mask_rcnn_resnet18_v1b_coco mask_rcnn_fpn_resnet18_v1b_coco
    yolo3_mobilenet1.0_coco
    """,
    224: """
    densenet121 densenet169 residualattentionnet56 squeezenet1.0 squeezenet1.1 googlenet inceptionv1_ucf101
    inceptionv1_hmdb51
    """,
    480: """
    fcn_resnet50_ade fcn_resnet101_voc psp_resnet50_ade deeplab_resnet50_ade deeplab_v3b_plus_wideresnet_citys
    icnet_resnet50_citys danet_resnet50_citys
    """,
    160: """
    simple_pose_resnet18_v1b simple_pose_resnet50_v1b simple_pose_resnet50_v1d mobile_pose_resnet18_v1b
    mobile_pose_mobilenet1.0 mobile_pose_mobilenetv3_small alpha_pose_resnet101_v1b_coco
    """,
    112: """
    vgg16_ucf101 vgg16_hmdb51 vgg16_sthsthv2
    """,
}
DETECTORS = ("ssd", "yolo3", "center_net", "faster_rcnn", "mask_rcnn")
CLIPS = "c3d_kinetics400 p3d_resnet50_kinetics400 r2plus1d_resnet18_kinetics400 i3d_resnet50_v1_kinetics400".split()


def cases():
    """(name, shape of the input)"""
    for size, names in NETWORKS.items():
        for name in names.split():
            yield name, (1, 3, size, size)
    for name in CLIPS:
        yield name, (1, 3, 16, 112, 112)


def leaves(outputs):
    if isinstance(outputs, (list, tuple)):
        return [leaf for each in outputs for leaf in leaves(each)]
    return [outputs.asnumpy()]


def check(name, shape):
    """Raises where something fails or outputs differ."""
    mx.random.seed(1), np.random.seed(1)
    options = {"pretrained": False, "pretrained_base": False}
    try:
        net = model_zoo.get_model(name, **options)
    except (TypeError, Warning):  # families refuse the second option in ways of their own
        net = model_zoo.get_model(name, pretrained=False)
    net.initialize(mx.init.Xavier())
    x = mx.nd.array(np.random.uniform(-1, 1, shape))
    first = leaves(net(x))
    net.hybridize()
    compare = compare_shapes if name.startswith(DETECTORS) else compare_numbers
    compare(first, leaves(net(x)))
    with tempfile.TemporaryDirectory() as folder:
        net.export(str(Path(folder) / "net"))
        files = str(Path(folder) / "net-symbol.json"), str(Path(folder) / "net-0000.params")
        compare(first, leaves(mx.gluon.SymbolBlock.imports(files[0], ["data"], files[1])(x)))


def compare_shapes(first, second):
    assert [one.shape for one in first] == [other.shape for other in second]
    assert all(np.isfinite(each).all() for each in (*first, *second))


def compare_numbers(first, second):
    assert len(first) == len(second), f"{len(first)} outputs and {len(second)}"
    for one, other in zip(first, second):
        scale = max(1.0, float(np.abs(one).max()))
        np.testing.assert_allclose(one / scale, other / scale, rtol=1e-3, atol=1e-4)


if __name__ == "__main__":
    chosen = set(sys.argv[1:])
    for name, shape in cases():
        if chosen and name not in chosen:
            continue
        try:
            check(name, shape)
        except Exception as error:
            print(f"failed {name}: {type(error).__name__}: {' '.join(str(error).split())[:160]}", flush=True)
        else:
            print(f"ok {name}", flush=True)
