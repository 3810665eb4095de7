"""The engines that compute gradients, each with its best documented settings.

A run is a forward and a backward pass in training mode. Its results are the outputs and the gradients of three
parameters: the first, one in the middle and the last.
"""

from .contestants import Contestant


def shown(names):
    """Parameters whose gradients are results."""
    weights = sorted(name for name in names if name.endswith("weight"))
    return [weights[0], weights[len(weights) // 2], weights[-1]]


class OursInTraining(Contestant):
    def load(self, folder, shapes):
        import amp

        reduce_precision = "bfloat16" if self.precision == "bf16" else None
        symbol, args, aux = amp.load(f"{folder}/model-symbol.json", f"{folder}/model-0000.params")
        self.executor = amp.TrainingExecutor(
            symbol,
            args,
            aux,
            shapes,
            reduce_precision=reduce_precision,
            num_threads=self.threads,
            grad_req={name: "write" for name in symbol.list_arguments() if name in args},
        )
        self.shown = shown(self.executor.gradients)
        self.version = f"{amp.__version__}, oneDNN {amp.cpu_info()['onednn']}"
        self.settings = f"TrainingExecutor(grad_req='write', reduce_precision={reduce_precision!r})"

    def run(self, inputs):
        outputs = self.executor.forward(is_train=True, **inputs)
        self.executor.backward()
        return [array.asnumpy() for array in (*outputs, *(self.executor.gradients[name] for name in self.shown))]


class MXNetInTraining(Contestant):
    precisions = ("fp32",)

    def load(self, folder, shapes):
        import mxnet

        symbol, args, aux = mxnet.model.load_checkpoint(f"{folder}/model", 0)
        requests = {name: "write" if name in args else "null" for name in symbol.list_arguments()}
        gradients = {name: mxnet.nd.zeros(array.shape) for name, array in args.items()}
        inputs = {name: mxnet.nd.zeros(shape) for name, shape in shapes.items()}
        self.bound = symbol.bind(mxnet.cpu(), {**args, **inputs}, gradients, requests, aux)
        self.heads = [mxnet.nd.ones(output.shape) for output in self.bound.outputs]
        self.shown = shown(args)
        self.version = mxnet.__version__
        self.settings = "Symbol.bind(grad_req='write')"

    def run(self, inputs):
        outputs = self.bound.forward(is_train=True, **inputs)
        self.bound.backward(self.heads)
        return [array.asnumpy() for array in (*outputs, *(self.bound.grad_dict[name] for name in self.shown))]


TRAINING_CONTESTANTS = {"ours-training": OursInTraining, "mxnet-training": MXNetInTraining}
