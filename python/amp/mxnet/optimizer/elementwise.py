"""Formulas of NumPy as one pass over memory.

A formula is called with `Number`s in place of arrays: each stands for an element of each array. What it does with them
is written down as the steps of an elementwise program, which then runs once over all elements, on all threads.
"""

import numpy as np

from ..._core import run_elementwise
from ...base import ArgumentError

_BINARY = {
    np.add: "add",
    np.subtract: "sub",
    np.multiply: "mul",
    np.divide: "div",
    np.maximum: "max",
    np.minimum: "min",
    np.greater: "greater",
    np.less: "less",
}
_UNARY = {np.negative: "negative", np.absolute: "abs", np.sqrt: "sqrt"}


class _Program:
    """Steps of (operation, x, y, z, alpha, beta); equal ones stand once."""

    def __init__(self, num_operands):
        self.steps = []
        self._num_operands = num_operands
        self._registers = {}

    def register_of(self, *step):
        step = (*step, *(0,) * (6 - len(step)))
        if step not in self._registers:
            self._registers[step] = self._num_operands + len(self.steps)
            self.steps.append(step)
        return self._registers[step]

    def constant(self, value):
        return self.register_of("constant", 0, 0, 0, float(value))


class Number(np.lib.mixins.NDArrayOperatorsMixin):
    """An element of an array in a formula: understands operators, and those functions of NumPy that formulas use.

    Operators in place, `out=` and `x[...] = y` change what the name stands for, as they do with arrays.
    """

    def __init__(self, program, register):
        self._program, self.register = program, register

    def __array_ufunc__(self, function, method, *inputs, out=None, **options):
        if method != "__call__" or options:
            return NotImplemented
        register = self._register_of(function, inputs)
        if register is None:
            return NotImplemented
        if out is None:
            return Number(self._program, register)
        out[0].register = register
        return out[0]

    def __array_function__(self, function, types, args, options):
        if function is np.where and not options:
            condition, x, y = (self._operand(value) for value in args)
            return Number(self._program, self._program.register_of("select", condition, x, y))
        if function is np.clip:
            x, low, high = args
            self._set(options["out"], self._program.register_of("clip", x.register, 0, 0, float(low), float(high)))
            return options["out"]
        return NotImplemented

    def __setitem__(self, key, value):
        if key is not Ellipsis:
            raise ArgumentError("formulas of elements write to whole arrays")
        self.register = self._operand(value)

    @staticmethod
    def _set(number, register):
        number.register = register

    def _operand(self, value):
        return value.register if isinstance(value, Number) else self._program.constant(value)

    def _register_of(self, function, inputs):
        if function is np.sign:
            return self._sign(inputs[0].register)
        if function in _UNARY:
            return self._program.register_of(_UNARY[function], inputs[0].register)
        if function not in _BINARY:
            return None
        linear = self._linear(function, *inputs)
        if linear is not None:
            return self._program.register_of("linear", *linear)
        return self._program.register_of(_BINARY[function], *(self._operand(value) for value in inputs))

    @staticmethod
    def _linear(function, x, y):
        """(register, 0, 0, factor, summand) where one operand is a constant and no rounding changes; else None."""
        if isinstance(y, Number) and isinstance(x, Number):
            return None
        number, constant = (x, float(y)) if isinstance(x, Number) else (y, float(x))
        if function is np.multiply:
            return number.register, 0, 0, constant, 0.0
        if function is np.add:
            return number.register, 0, 0, 1.0, constant
        if function is np.subtract:
            return (number.register, 0, 0, 1.0, -constant) if number is x else (number.register, 0, 0, -1.0, constant)
        return None

    def _sign(self, register):
        zero = self._program.constant(0)
        above, below = (self._program.register_of(op, register, zero) for op in ("greater", "less"))
        return self._program.register_of("sub", above, below)


def run_formula(formula, arrays):
    """Calls `formula(*numbers)` once, and does to the elements of `arrays` (float32 or bfloat16) what it did to them.

    Computes in float32. The first array is read alone; the others are written where the formula changed them. Raises
    ArgumentError for formulas that are too long.
    """
    program = _Program(len(arrays))
    numbers = [Number(program, register) for register in range(len(arrays))]
    formula(*numbers)
    results = [(n.register, array) for i, (n, array) in enumerate(zip(numbers, arrays)) if i > 0 and n.register != i]
    if program.steps and results:
        run_elementwise(program.steps, arrays, results)
