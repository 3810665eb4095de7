"""The engines that are compared, each with its best documented settings.

A contestant has `load(folder, shapes)` and `run(inputs)`: float32 NumPy arrays in, a list of fresh arrays out, for
every engine alike. Imports stand inside: a worker has one engine.
"""


class Contestant:
    precisions = ("fp32", "bf16")

    def __init__(self, precision, threads):
        self.precision, self.threads = precision, threads
        self.version, self.settings = "", ""


class Ours(Contestant):
    def load(self, folder, shapes):
        import amp

        reduce_precision = "bfloat16" if self.precision == "bf16" else None
        model = amp.load(f"{folder}/model-symbol.json", f"{folder}/model-0000.params")
        self.executor = amp.Executor(*model, shapes, reduce_precision=reduce_precision, num_threads=self.threads)
        self.version = f"{amp.__version__}, oneDNN {amp.cpu_info()['onednn']}"
        self.settings = f"Executor(reduce_precision={reduce_precision!r})"

    def run(self, inputs):
        return [array.asnumpy() for array in self.executor(inputs)]


class OpenVino(Contestant):
    def load(self, folder, shapes):
        import openvino
        import openvino.properties as properties
        import openvino.properties.hint as hint

        core = openvino.Core()
        model = core.read_model(f"{folder}/model.onnx")
        model.reshape({name: list(shape) for name, shape in shapes.items()})
        settings = {
            hint.performance_mode: hint.PerformanceMode.LATENCY,
            hint.inference_precision: openvino.Type.bf16 if self.precision == "bf16" else openvino.Type.f32,
            hint.enable_cpu_pinning: True,
            properties.num_streams: 1,
            properties.inference_num_threads: self.threads,
        }
        self.request = core.compile_model(model, "CPU", settings).create_infer_request()
        self.version = openvino.__version__.split("-")[0]
        self.settings = "LATENCY, NUM_STREAMS 1, CPU pinning, static shapes, inputs shared, outputs copied"

    def run(self, inputs):
        return list(self.request.infer(inputs, share_inputs=True, share_outputs=False).values())


class OnnxRuntime(Contestant):
    precisions = ("fp32",)  # it has no bf16 kernels on x86

    def load(self, folder, shapes):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self.threads
        options.inter_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.add_free_dimension_override_by_name("N", next(iter(shapes.values()))[0])
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(f"{folder}/model.onnx", options, ["CPUExecutionProvider"])
        self.version = onnxruntime.__version__
        self.settings = "ORT_ENABLE_ALL, static batch, sequential"

    def run(self, inputs):
        return self.session.run(None, inputs)


class Torch(Contestant):
    def load(self, folder, shapes):
        import torch
        import torch._inductor.config

        from .torch_graph import read

        torch.set_num_threads(self.threads)
        torch._inductor.config.freezing = True
        self.torch = torch
        module = read(f"{folder}/model.onnx").eval()
        self.channels_last = any(len(shape) == 4 for shape in shapes.values())
        if self.channels_last:
            module = module.to(memory_format=torch.channels_last)
        self.module = torch.compile(module)
        self.version = torch.__version__
        self.settings = "torch.compile, freezing, channels_last, bf16 by autocast"

    def run(self, inputs):
        torch = self.torch
        tensors = [torch.from_numpy(array) for array in inputs.values()]
        if self.channels_last:
            tensors = [tensor.to(memory_format=torch.channels_last) for tensor in tensors]
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=self.precision == "bf16"):
            outputs = self.module(*tensors)
        return [output.float().numpy() for output in outputs]


class MXNet(Contestant):
    def load(self, folder, shapes):
        import mxnet
        from mxnet.contrib import amp

        symbol, args, aux = mxnet.model.load_checkpoint(f"{folder}/model", 0)
        if self.precision == "bf16":
            symbol, args, aux = amp.convert_model(symbol, args, aux, target_dtype="bfloat16")
        args = {**args, **{name: mxnet.nd.zeros(shape) for name, shape in shapes.items()}}
        symbol = symbol.optimize_for("MKLDNN", args, aux)
        arrays = {name: args[name] for name in symbol.list_arguments()}
        self.bound = symbol.bind(mxnet.cpu(), arrays, aux_states=aux, grad_req="null")
        self.version = mxnet.__version__
        self.settings = "optimize_for('MKLDNN'), bf16 by its amp.convert_model"

    def run(self, inputs):
        return [output.asnumpy() for output in self.bound.forward(is_train=False, **inputs)]


CONTESTANTS = {"ours": Ours, "openvino": OpenVino, "onnxruntime": OnnxRuntime, "torch": Torch, "mxnet": MXNet}
PEERS = tuple(name for name in CONTESTANTS if name != "ours")
