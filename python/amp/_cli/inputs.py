"""Inputs on the command line: `--input` and `--random` are data, `--shape` is a type."""

import argparse
import os
import zipfile

import numpy as np

from .. import _core
from .._execution.bound_model import near_matches
from ..base import ArgumentError, did_you_mean, dtype_name
from ..sym.slots import inputs_of
from .models import missing_inputs

_HOW_OF_FILES = "an array {0!r} in the file of --data"
_HOW = "--input {0}=FILE.npy or --random {0}=1x3x224x224"


# ---- NAME=1x3x224x224:float32 ----


def type_spec(text):
    """'data=1x3x224x224:float32' -> ('data', (1, 3, 224, 224), 'float32'); shape and dtype may be None.

    Raises argparse.ArgumentTypeError.
    """
    name, equals, rest = text.partition("=")
    if not equals:
        name, colon, dtype = text.rpartition(":")
        return _checked_spec(text, name if colon else text, None, dtype if colon else None)
    if _is_file_name(rest):
        raise argparse.ArgumentTypeError(
            f"{text!r}: expected a shape such as {name}=1x3x224x224; --input {text} reads data from a file"
        )
    shape, _, dtype = rest.partition(":")
    return _checked_spec(text, name, _dims(text, shape), dtype or None)


def random_spec(text):
    """The same, with a shape."""
    name, shape, dtype = type_spec(text)
    if shape is None:
        raise argparse.ArgumentTypeError(f"{text!r}: a shape is needed, such as {name}=1x3x224x224")
    return name, shape, dtype


def file_spec(text):
    """'data=x.npy' -> ('data', 'x.npy'). Raises argparse.ArgumentTypeError."""
    name, equals, path = text.partition("=")
    if not name or not path:
        raise argparse.ArgumentTypeError(f"{text!r}: expected NAME=FILE.npy")
    if not os.path.exists(path) and _is_shape(path):
        raise argparse.ArgumentTypeError(
            f"{text!r}: expected NAME=FILE.npy; --shape {text} gives a type, and --random {text} random data"
        )
    return name, path


def _dims(text, shape):
    try:
        return tuple(int(dim) for dim in shape.replace(",", "x").split("x") if dim != "")
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a shape such as 1x3x224x224, got {shape!r}") from None


def _checked_spec(text, name, dims, dtype):
    if not name or dims == () or any(dim < 0 for dim in dims or ()):
        raise argparse.ArgumentTypeError(f"{text!r}: expected NAME=1x3x224x224, NAME=SHAPE:DTYPE or NAME:DTYPE")
    try:
        return name, dims, dtype_name(dtype) if dtype else None
    except ArgumentError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _is_file_name(text):
    return os.path.isfile(text) or text.endswith((".npy", ".npz", ".params"))


def _is_shape(text):
    shape = text.partition(":")[0]
    return shape.replace("x", "").replace(",", "").isdecimal()


# ---- types and arrays ----


def types_of(options):
    """({input: shape}, {input: dtype}) that `--shape` and the files of `--input` give."""
    _refuse_repeated([name for name, *_ in options.shape] + [name for name, _ in options.input])
    shapes = {name: shape for name, shape, _ in options.shape if shape}
    dtypes = {name: dtype for name, _, dtype in options.shape if dtype}
    for name, path in options.input:
        array = array_of_file(name, path)
        shapes[name], dtypes[name] = array.shape, dtype_name(array.dtype)
    return shapes, dtypes


def arrays_of(options, model):
    """{input: array} of `--input` and `--random`. Raises ArgumentError unless these are what the model needs."""
    given = [name for name, *_ in options.random] + [name for name, _ in options.input]
    _refuse_repeated(given)
    _refuse_unknown(given, model[0])
    arrays = {name: _random_array(name, shape, dtype) for name, shape, dtype in options.random}
    arrays.update((name, array_of_file(name, path)) for name, path in options.input)
    return _checked(arrays, model, _HOW)


def arrays_of_bound(options, bound, what="plan"):
    """{input: array} of `--input` and `--random` for an Executor or a Client; without them random data of its types.

    Raises ArgumentError unless these are its inputs.
    """
    given = [name for name, *_ in options.random] + [name for name, _ in options.input]
    _refuse_repeated(given)
    shapes, dtypes = bound.input_shapes, bound.input_dtypes
    for name in given:
        if name not in shapes:
            raise ArgumentError(f"the {what} has no input {name!r}{near_matches(name, list(shapes))}")
    arrays = {name: _random_array(name, shape, dtype or dtypes[name]) for name, shape, dtype in options.random}
    arrays.update((name, array_of_file(name, path)) for name, path in options.input)
    missing = {name: shape for name, shape in shapes.items() if name not in arrays}
    if arrays:
        _refuse_missing(list(missing), "data", _HOW)
    return arrays | {name: _random_array(name, shape, dtypes[name]) for name, shape in missing.items()}


def _checked(arrays, model, how):
    """These arrays. Raises ArgumentError where the model needs others beside them (`how` they are given) or dtypes."""
    refuse_missing(model, arrays, "data", how)
    _check_dtypes(arrays, model)
    return arrays


def refuse_missing(model, given, what, how):
    """Raises ArgumentError where the model needs more inputs than those that are given; `how` says how to give one."""
    missing = missing_inputs(model, given)
    labels = _ignored_labels(model, missing)
    _refuse_missing([name for name in missing if name not in labels], what, how)


def _refuse_missing(missing, what, how):
    if missing:
        names = f"{'s' if len(missing) > 1 else ''} {', '.join(missing)}"
        raise ArgumentError(f"no {what} for the input{names}: give {'; '.join(map(how.format, missing[:3]))}")


def data_of(options, model):
    """{input: array} of `--data`, a file with an array for each input, or of `--random`."""
    if options.data is None:
        return arrays_of(options, model)
    if options.random or options.input:
        raise ArgumentError("--data has the data of all inputs: leave --random and --input out")
    return data_of_file(options.data, model)


def data_of_file(path, model):
    """{input: array} of the .npz file of `--data`. Raises ArgumentError unless these are what the model needs."""
    arrays = _arrays_of_file(path)
    _refuse_unknown(list(arrays), model[0])
    return _checked(arrays, model, _HOW_OF_FILES)


def _arrays_of_file(path):
    """{name: array} of a .npz file. Raises ArgumentError for any other file."""
    try:
        file = np.load(path, allow_pickle=False)
        if isinstance(file, np.ndarray):
            raise ArgumentError(f"--data {path}: it holds one array; numpy.savez(file, data=array) writes names")
        with file:
            return {name: file[name] for name in file.files}
    except OSError as error:
        raise ArgumentError(f"--data {path}: {error.strerror or error}") from None
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        if isinstance(error, ArgumentError):
            raise
        raise ArgumentError(f"--data {path}: expected a .npz file of arrays by input: {error}") from None


def _refuse_repeated(names):
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ArgumentError(f"the input {repeated[0]!r} is given twice")


def _refuse_unknown(names, symbol):
    for name in names:
        if name not in symbol.list_arguments():
            inputs = sorted(inputs_of(symbol))
            hint = did_you_mean(name, inputs) or f"; its inputs are {', '.join(inputs)}"
            raise ArgumentError(f"the model has no input {name!r}{hint}")


def _ignored_labels(model, names):
    """Labels of losses, which inference does not read."""
    fed = model[0]._handle.without_amp_casts({}).slots_of_variables()
    return {name for name in names if all(slot.endswith("label") for slot in fed.get(name) or ["data"])}


def _random_array(name, shape, dtype):
    count = int(np.prod(shape, dtype=object))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if 4 * count > memory:
        raise ArgumentError(f"--random {name}: {4e-9 * count:,.1f} GB of data, this machine has {memory / 1e9:,.1f} GB")
    values = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
    return values if dtype is None else values.astype(_core.numpy_dtype(dtype))


def array_of_file(name, path):
    """The array in a file of NumPy's. Raises ArgumentError for any other file."""
    try:
        with open(path, "rb") as file:
            magic = file.read(6)
    except OSError as error:
        raise ArgumentError(f"{path}: {error.strerror}") from None
    if magic.startswith(b"PK"):
        raise ArgumentError(f"{path} holds several arrays; --input takes a .npy file with one")
    if magic != b"\x93NUMPY":
        raise ArgumentError(f"--input {name}: {path} is no .npy file; numpy.save('{name}.npy', array) writes one")
    try:
        array = np.load(path, allow_pickle=False)
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        is_pickle = "allow_pickle" in str(error)
        text = "it holds Python objects, not numbers" if is_pickle else str(error)
        raise ArgumentError(f"--input {name}: {path}: {text}") from None
    return array


def _check_dtypes(arrays, model):
    """What the parameters ask of the inputs' dtypes, told of the input and not of the weight."""
    symbol, *params = model
    held = {name: array for group in params for name, array in group.items() if name in set(symbol.list_inputs())}
    known = {name: (dtype_name(array.dtype), array.shape) for name, array in held.items()}
    types = symbol._handle.infer({**known, **{name: (None, array.shape) for name, array in arrays.items()}})[0]
    expected = {name: dtype for name, (dtype, _) in zip(symbol.list_arguments(), types)}
    for name, array in arrays.items():
        found = dtype_name(array.dtype)
        if expected.get(name) not in (None, found):
            raise ArgumentError(
                f"the input {name!r} is {found}, and the model computes in {expected[name]}: "
                f"write array.astype('{expected[name]}')"
            )
