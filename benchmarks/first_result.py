"""A process that loads a model in one way, runs it once, and tells what that took: see `benchmarks.start_up`.

    python -m benchmarks.first_result WAY PRECISION MODEL_FOLDER INPUTS.npz OUTPUTS.npz

Imports nothing but what the way needs. Writes one JSON object: memory in MB at the end.
"""

import json
import sys

import numpy as np


def from_plan(precision, folder):
    """The plan file beside the model's files."""
    import amp

    return amp.Executor.load(f"{folder}/{precision}.plan")


def from_files(precision, folder, shapes):
    """The model's files, whose parameters the executor reads for itself."""
    import amp

    reduced = "bfloat16" if precision == "bf16" else None
    paths = f"{folder}/model-symbol.json", f"{folder}/model-0000.params"
    return amp.Executor.open(*paths, shapes, reduce_precision=reduced, num_threads=1)


def openvino(precision, folder, shapes, cache):
    """OpenVINO's request for the model; `cache`: with its folder of compiled models.

    It compiles the file by its path. With a model that was read and reshaped, as `compare.contestants` does, a start
    with the folder took as long as one without it (VGG-16: 1.0 of the CPU time instead of 0.4).
    """
    import openvino as ov

    core = ov.Core()
    if cache:
        core.set_property({"CACHE_DIR": f"{folder}/openvino-{precision}"})
    settings = {
        "INFERENCE_PRECISION_HINT": "bf16" if precision == "bf16" else "f32",
        "PERFORMANCE_HINT": "LATENCY",
        "NUM_STREAMS": "1",
        "INFERENCE_NUM_THREADS": "1",
    }
    batch = next(iter(shapes.values()))[0]
    request = core.compile_model(static_model(folder, batch), "CPU", settings).create_infer_request()
    return lambda inputs: list(request.infer(inputs, share_inputs=True).values())


def static_model(folder, batch):
    """The path of the ONNX file, whose batch size is fixed: `benchmarks.start_up` makes it."""
    return f"{folder}/static{batch}.onnx"


def onnxruntime(folder, shapes):
    """ONNX Runtime's session for the model."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    batch = next(iter(shapes.values()))[0]
    session = ort.InferenceSession(static_model(folder, batch), options, ["CPUExecutionProvider"])
    return lambda inputs: session.run(None, inputs)


def runner(way, precision, folder, shapes):
    """A function of {input: array} that gives the outputs."""
    if way in ("plan", "files"):
        executor = from_plan(precision, folder) if way == "plan" else from_files(precision, folder, shapes)
        return lambda inputs: [array.asnumpy() for array in executor(inputs)]
    if way == "onnxruntime":
        return onnxruntime(folder, shapes)
    return openvino(precision, folder, shapes, way == "openvino-cache")


def memory():
    """{"peak_mb", "own_mb"}: the most that was resident, and what is resident now and not of a file."""
    with open("/proc/self/status") as status:
        fields = dict(line.split(":", 1) for line in status)
    return {key: int(fields[name].split()[0]) / 1024 for key, name in (("peak_mb", "VmHWM"), ("own_mb", "RssAnon"))}


def main(way, precision, folder, inputs, outputs):
    with np.load(inputs) as stored:
        arrays = {name: stored[name] for name in stored.files}
    run = runner(way, precision, folder, {name: array.shape for name, array in arrays.items()})
    results = run(arrays)
    found = memory()
    np.save(outputs, np.asarray(results[0], np.float32))
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
