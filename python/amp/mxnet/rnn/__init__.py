"""Cells of MXNet 1.x, which make symbols of recurrent networks, and batches of sentences.

They import symbols, initializers and iterators (`io`), never blocks.
"""

from ... import checkpoint
from .._missing import getter
from . import base, cells, combined, convolutional, fused, io
from .base import BaseRNNCell, RNNParams
from .cells import GRUCell, LSTMCell, RNNCell
from .combined import BidirectionalCell, DropoutCell, ModifierCell, ResidualCell, SequentialRNNCell, ZoneoutCell
from .convolutional import ConvGRUCell, ConvLSTMCell, ConvRNNCell
from .fused import FusedRNN, FusedRNNCell
from .io import BucketSentenceIter, encode_sentences

__all__ = [
    "BaseRNNCell",
    "BidirectionalCell",
    "BucketSentenceIter",
    "ConvGRUCell",
    "ConvLSTMCell",
    "ConvRNNCell",
    "DropoutCell",
    "FusedRNN",
    "FusedRNNCell",
    "GRUCell",
    "LSTMCell",
    "ModifierCell",
    "RNNCell",
    "RNNParams",
    "ResidualCell",
    "SequentialRNNCell",
    "ZoneoutCell",
    "base",
    "cells",
    "combined",
    "convolutional",
    "do_rnn_checkpoint",
    "encode_sentences",
    "fused",
    "io",
    "load_rnn_checkpoint",
    "rnn_unroll",
    "save_rnn_checkpoint",
]


def _list(cells):
    return [cells] if isinstance(cells, BaseRNNCell) else list(cells)


def save_rnn_checkpoint(cells, prefix, epoch, symbol, arg_params, aux_params):
    """Writes a symbol and parameters, in which the weights of each gate are by themselves.

    >>> cell = mx.rnn.GRUCell(3)
    >>> output, _ = cell(mx.sym.Variable("data"), [mx.sym.Variable("state")])
    >>> weights = {"gru_i2h_bias": amp.nd.ones((9,)), "gru_h2h_bias": amp.nd.ones((9,))}
    >>> mx.rnn.save_rnn_checkpoint(cell, "gru", 0, output, weights, {})
    >>> sorted(mx.rnn.load_rnn_checkpoint(cell, "gru", 0)[1])
    ['gru_h2h_bias', 'gru_i2h_bias']
    """
    for cell in _list(cells):
        arg_params = cell.unpack_weights(arg_params)
    checkpoint.save_checkpoint(prefix, epoch, symbol, arg_params, aux_params)


def load_rnn_checkpoint(cells, prefix, epoch):
    """(symbol, arg_params, aux_params) of what `save_rnn_checkpoint` wrote.

    >>> cell = mx.rnn.GRUCell(3)
    >>> mx.rnn.load_rnn_checkpoint(cell, "model", 0)[0].list_outputs()
    ['relu_output']
    """
    symbol, arg_params, aux_params = checkpoint.load_checkpoint_leniently(prefix, epoch)
    for cell in _list(cells):
        arg_params = cell.pack_weights(arg_params)
    return symbol, arg_params, aux_params


def do_rnn_checkpoint(cells, prefix, period=1):
    """A callback of `Module.fit` that calls `save_rnn_checkpoint` after each `period` epochs.

    >>> callback = mx.rnn.do_rnn_checkpoint(mx.rnn.GRUCell(3), "gru", 2)
    >>> callback(0, None, {}, {})  # not yet
    """
    period = max(1, int(period))

    def callback(iter_no, sym=None, arg=None, aux=None):
        if (iter_no + 1) % period == 0:
            save_rnn_checkpoint(cells, prefix, iter_no + 1, sym, arg, aux)

    return callback


def rnn_unroll(cell, length, inputs=None, begin_state=None, input_prefix="", layout="NTC"):
    """`cell.unroll`, by its old name; without inputs there are variables `<input_prefix>t<step>_data`.

    >>> outputs, _ = mx.rnn.rnn_unroll(mx.rnn.GRUCell(3), 2)
    >>> outputs[1].list_arguments()[:2]
    ['t1_data', 'gru_i2h_weight']
    """
    if inputs is None:
        inputs = [base.sym.Variable(f"{input_prefix}t{i}_data") for i in range(length)]
    return cell.unroll(length, inputs, begin_state, layout)


__getattr__ = getter(__name__)
