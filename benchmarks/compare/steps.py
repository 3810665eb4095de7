"""The engines that train: a run is a step, which is forward, backward and SGD with momentum.

The loss is the sum of all outputs, so that every engine does the same. The learning rate is so small that thousands of
steps change no time. The result of a run is the first output.
"""

from .contestants import Contestant

RATE, MOMENTUM = 1e-9, 0.9


class _Bound(Contestant):
    """A symbol bound to arrays, as programs of MXNet 1.x do it."""

    def train(self, mx, folder, shapes):
        symbol, args, aux = mx.model.load_checkpoint(f"{folder}/model", 0)
        requests = {name: "write" if name in args else "null" for name in symbol.list_arguments()}
        gradients = {name: mx.nd.zeros(array.shape) for name, array in args.items()}
        inputs = {name: mx.nd.zeros(shape) for name, shape in shapes.items()}
        self.args = args
        self.bound = symbol.bind(mx.cpu(), {**args, **inputs}, gradients, requests, aux)
        self.update = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=RATE, momentum=MOMENTUM))
        self.heads = None
        self.ones = mx.nd.ones

    def run(self, inputs):
        outputs = self.bound.forward(is_train=True, **inputs)
        self.heads = self.heads or [self.ones(output.shape) for output in outputs]
        self.bound.backward(self.heads)
        for index, (name, weight) in enumerate(self.args.items()):
            self.update(index, self.bound.grad_dict[name], weight)
        return [outputs[0].asnumpy()]


class OursInSteps(_Bound):
    def load(self, folder, shapes):
        import amp
        import amp.mxnet as mx

        if self.precision == "bf16":
            mx.amp.init("bfloat16")
        self.train(mx, folder, shapes)
        self.version = f"{amp.__version__}, oneDNN {amp.cpu_info()['onednn']}"
        self.settings = "Symbol.bind(grad_req='write'), optimizer.SGD, bf16 by amp.init"


class MXNetInSteps(_Bound):
    precisions = ("fp32",)

    def load(self, folder, shapes):
        import mxnet

        self.train(mxnet, folder, shapes)
        self.version = mxnet.__version__
        self.settings = "Symbol.bind(grad_req='write'), optimizer.SGD"


class TorchInSteps(Contestant):
    compiles = False

    def load(self, folder, shapes):
        import torch

        from .torch_graph import read

        torch.set_num_threads(self.threads)
        self.torch = torch
        module = read(f"{folder}/model.onnx", training=True)
        self.channels_last = any(len(shape) == 4 for shape in shapes.values())
        if self.channels_last:
            module = module.to(memory_format=torch.channels_last)
        self.optimizer = torch.optim.SGD(module.parameters(), lr=RATE, momentum=MOMENTUM, fused=True)
        self.module = torch.compile(module) if self.compiles else module
        self.version = torch.__version__
        self.settings = f"{'compiled' if self.compiles else 'eager'}, channels_last, fused SGD, bf16 by autocast"

    def run(self, inputs):
        torch = self.torch
        tensors = [torch.from_numpy(array) for array in inputs.values()]
        if self.channels_last:
            tensors = [tensor.to(memory_format=torch.channels_last) for tensor in tensors]
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=self.precision == "bf16"):
            outputs = self.module(*tensors)
            loss = sum(output.float().sum() for output in outputs)
        loss.backward()
        self.optimizer.step()
        return [outputs[0].detach().float().numpy()]


class CompiledTorchInSteps(TorchInSteps):
    compiles = True


STEP_CONTESTANTS = {
    "ours-steps": OursInSteps,
    "mxnet-steps": MXNetInSteps,
    "torch-steps": TorchInSteps,
    "torch-compiled-steps": CompiledTorchInSteps,
}
