"""Makes FOLDER/model.onnx of FOLDER/model-symbol.json and -0000.params: `python -m benchmarks.zoo_onnx FOLDER`.

Runs under a Python with MXNet 1.9.1 and onnx, whose exporter it is.
"""

import sys

import mxnet
import numpy as np


def main(folder):
    """Exports in float32, with the shapes of FOLDER/inputs.npz."""
    symbol = mxnet.sym.load(f"{folder}/model-symbol.json")
    with np.load(f"{folder}/inputs.npz") as stored:
        shapes = {name: stored[name].shape for name in stored.files}
    names = [name for name in symbol.list_inputs() if name in shapes]
    mxnet.onnx.export_model(
        f"{folder}/model-symbol.json",
        f"{folder}/model-0000.params",
        [shapes[name] for name in names],
        [np.float32] * len(names),
        f"{folder}/model.onnx",
    )


if __name__ == "__main__":
    main(sys.argv[1])
