"""What training loops of their own take from MXNet's module `model`: updates with a store and without."""

from . import kvstore as stores


def _create_kvstore(kvstore, num_device, arg_params):
    """(a KVStore or None, whether updates run in it). One device needs none, unless there are ranks."""
    if isinstance(kvstore, str):
        kvstore = None if num_device == 1 and "dist" not in kvstore else stores.create(kvstore)
    return kvstore, kvstore is not None


def _initialize_kvstore(kvstore, param_arrays, arg_params, param_names, update_on_kvstore):
    for name, arrays in zip(param_names, param_arrays):
        kvstore.init(name, arg_params[name])
        if update_on_kvstore:
            kvstore.pull(name, out=arrays)


def _update_params_on_kvstore(param_arrays, grad_arrays, kvstore, param_names):
    for name, weights, gradients in zip(param_names, param_arrays, grad_arrays):
        if gradients[0] is not None:
            kvstore.push(name, gradients)
            kvstore.pull(name, out=weights)


def _update_params(param_arrays, grad_arrays, updater, num_device, kvstore=None, param_names=None):
    for index, (weights, gradients) in enumerate(zip(param_arrays, grad_arrays)):
        if gradients[0] is None:
            continue
        if kvstore:
            kvstore.push(param_names[index], gradients)
            kvstore.pull(param_names[index], out=gradients)
        for device, (weight, gradient) in enumerate(zip(weights, gradients)):
            updater(index * num_device + device, gradient, weight)
