"""Makes the files of one network: `python -m benchmarks.compare.prepare NETWORK BATCH FOLDER`.

A process of its own, so that the driver stays small. In FOLDER: model-symbol.json, model-0000.params, model.onnx, and
per batch inputs and the fp32 outputs of ONNX Runtime (of OpenVINO where that is missing), which all have to meet.
"""

import hashlib
import json
import sys
from pathlib import Path

import numpy as np

SOURCES = ("bert.py", "bert_onnx.py", "networks.py", "onnx_export.py", "prepare.py")


def stamp():
    """Changes with everything that the files depend on."""
    here = Path(__file__).parent
    return hashlib.sha256(b"".join((here / name).read_bytes() for name in SOURCES)).hexdigest()


def batch_folder(folder, batch):
    return Path(folder) / f"batch{batch}"


def is_prepared(folder, batch):
    marker = batch_folder(folder, batch) / "stamp"
    return marker.exists() and marker.read_text() == stamp()


def main(network, batch, folder):
    folder, batch = Path(folder), int(batch)
    folder.mkdir(parents=True, exist_ok=True)
    model_marker = folder / "stamp"
    if not model_marker.exists() or model_marker.read_text() != stamp():
        _write_model(network, folder)
        model_marker.write_text(stamp())
    target = batch_folder(folder, batch)
    target.mkdir(exist_ok=True)
    from .networks import inputs_of

    inputs = inputs_of(network, batch)
    np.savez(target / "inputs.npz", **inputs)
    save_outputs(target / "expected.npz", _expected(folder / "model.onnx", inputs))
    (target / "stamp").write_text(stamp())


def _write_model(network, folder):
    import onnx

    import amp

    from . import bert_onnx, onnx_export
    from .networks import BERT, inputs_of, parameters_of, symbol_of

    symbol = symbol_of(network)
    args, aux = parameters_of(network, symbol)
    amp.save_checkpoint(str(folder / "model"), 0, symbol, args, aux)
    params = {**args, **aux}
    if network == BERT:
        model = bert_onnx.export(params)
    else:
        shapes = {name: array.shape for name, array in inputs_of(network, 1).items()}
        model = onnx_export.export(json.loads(symbol.tojson()), params, shapes)
    onnx.save(model, str(folder / "model.onnx"))


def _expected(model, inputs):
    try:
        import onnxruntime
    except ImportError:
        import openvino

        compiled = openvino.Core().compile_model(str(model), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        return [np.array(value) for value in compiled(inputs).values()]
    return onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"]).run(None, inputs)


def save_outputs(path, outputs):
    np.savez(path, **{f"out{i}": np.asarray(array) for i, array in enumerate(outputs)})


def load_outputs(path):
    with np.load(path) as stored:
        return [stored[f"out{i}"] for i in range(len(stored.files))]


if __name__ == "__main__":
    main(*sys.argv[1:])
