// The gradient of a step of one unit of a recurrent cell.
#pragma once

#include <cmath>

#include "ops/nn/rnn.h"

namespace amp {

// The states of a unit around a step.
template <class T>
struct RnnStates {
  T hidden, next_hidden, cell, next_cell;
};

// Makes of the unit's sums their gradients, from that of its state, dh; `dc`, of an LSTM's cell, becomes that before
// the step. Returns the gradient of the state before the step as far as it is read directly.
template <class T>
T RnnStepBackward(const RnnParam& p, const RnnStates<T>& states, T dh, T* dc, RnnGates<T>* x, RnnGates<T>* h) {
  const RnnGates<T> from_x = *x, from_h = *h;
  const auto sum_of = [&](std::size_t gate) { return from_x[gate] + from_h[gate]; };
  const auto set = [&](std::size_t gate, T value) { (*x)[gate] = (*h)[gate] = value; };
  if (IsLstm(p)) {
    const T in = Sigmoid(sum_of(0)), forget = Sigmoid(sum_of(1)), update = std::tanh(sum_of(2)),
            out = Sigmoid(sum_of(3)), shown = std::tanh(states.next_cell);
    const T sum = forget * states.cell + in * update;
    const T inside = RnnClipped(p, sum) == sum ? T{1} : T{0};
    const T dcell = (*dc + dh * out * (1 - shown * shown)) * inside;
    set(0, dcell * update * in * (1 - in));
    set(1, dcell * states.cell * forget * (1 - forget));
    set(2, dcell * in * (1 - update * update));
    set(3, dh * shown * out * (1 - out));
    *dc = dcell * forget;
    return 0;
  }
  if (IsGru(p)) {
    const T reset = Sigmoid(sum_of(0)), update = Sigmoid(sum_of(1)), fresh = std::tanh(from_x[2] + reset * from_h[2]);
    const T dfresh = dh * (1 - update) * (1 - fresh * fresh);
    set(0, dfresh * from_h[2] * reset * (1 - reset));
    set(1, dh * (states.hidden - fresh) * update * (1 - update));
    (*x)[2] = dfresh;
    (*h)[2] = dfresh * reset;
    return dh * update;
  }
  const T y = states.next_hidden;
  set(0, p.mode == "rnn_tanh" ? dh * (1 - y * y) : y > 0 ? dh : T{0});
  return 0;
}

}  // namespace amp
