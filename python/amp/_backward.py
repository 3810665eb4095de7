"""Gradients of what was recorded."""

import threading

import numpy as np

from . import _recording
from ._core import NDArray
from ._invoke import invoke
from ._recording import Leaf, Result, Retained, is_differentiable, leaf_of
from .base import ArgumentError

_lock = threading.Lock()  # who takes a graph, and writes to gradients that threads share


def backward(heads, head_gradients, retain_graph, train_mode):
    """Writes the gradients of the sum of all heads, each times its head gradient, to the arrays they depend on."""
    graph = Graph(heads)
    places = [*graph.leaves.values(), *(place for node in graph.nodes for place in node.retained)]
    wanted = [place for place in places if _leaf(place).request != "null"]
    terms = _Terms()
    awaited = _Awaited(graph, wanted, terms)
    totals = _run(graph, heads, head_gradients, wanted, retain_graph, False, train_mode, terms, awaited)
    for place, total in zip(wanted, totals):
        if place not in awaited.stored:
            _store(_leaf(place), total, terms.replaces(key_of(place)))


def gradients_of(heads, arrays, head_gradients, retain_graph, create_graph, train_mode):
    """The gradients with respect to `arrays`, as new ones."""
    graph = Graph(heads)
    for i, array in enumerate(arrays):
        if not is_differentiable(array._place):
            raise ArgumentError(
                f"grad: variable {i} is not part of what was recorded: call attach_grad() before autograd.record()"
            )
        if not graph.reaches(array._place):
            raise ArgumentError(f"grad: the heads do not depend on variable {i}: there is no gradient")
    places = [array._place for array in arrays]
    totals = _run(graph, heads, head_gradients, places, retain_graph, create_graph, train_mode, _Terms())
    if not create_graph:
        totals = [None if total is None else total.copy() for total in totals]  # some may share memory
    return [_of_class(type(array), _zeros(array) if t is None else t) for array, t in zip(arrays, totals)]


def _zeros(array):
    return NDArray(np.zeros(array.shape, array.dtype))


def _of_class(cls, array):
    return array if type(array) is cls else cls(array)


def _leaf(place):
    return place if isinstance(place, Leaf) else place.leaf


def key_of(place):
    return id(place) if isinstance(place, Leaf) else (id(place.node), place.index)


class Graph:
    """The nodes behind some arrays, inputs before what reads them."""

    def __init__(self, heads):
        self.leaves = {}
        self.nodes = []
        for i, head in enumerate(heads):
            if not isinstance(head, NDArray):
                raise ArgumentError(f"backward: head {i}: expected an array, got {type(head).__name__}")
            if not is_differentiable(head._place):
                raise ArgumentError(
                    f"backward: head {i} depends on nothing that was recorded: compute it inside of autograd.record() "
                    "from arrays with attach_grad()"
                )
        self._visit([head._place for head in heads])
        self._known = {id(node) for node in self.nodes}

    def _visit(self, places):
        seen = set()
        stack = [(place, False) for place in reversed(places)]
        while stack:
            place, is_finished = stack.pop()
            if isinstance(place, Leaf):
                self.leaves[id(place)] = place
            elif is_finished:
                self.nodes.append(place.node)
            elif id(place.node) not in seen:
                seen.add(id(place.node))
                stack.append((place, True))
                stack.extend((inner, False) for inner in reversed(place.node.places) if is_differentiable(inner))

    def reaches(self, place):
        return id(place) in self.leaves if isinstance(place, Leaf) else id(place.node) in self._known

    def take(self, retain_graph):
        """Raises ArgumentError where the graph has been taken; `retain_graph` leaves it for the next one."""
        with _lock:
            for node in self.nodes:
                if node.is_spent:
                    raise ArgumentError(
                        f"backward: the graph behind {node.name} has been differentiated before; pass "
                        "retain_graph=True to the earlier call"
                    )
            if not retain_graph:
                for node in self.nodes:
                    node.is_spent = True

    def release(self, used):
        """Frees the nodes whose gradients were computed; the others belong to other heads, too."""
        for node in self.nodes:
            if node in used:
                node.free()
            else:
                node.is_spent = False

    def needed(self, wanted):
        """Keys of the places that lie on a way to one of `wanted`."""
        keys = {key_of(place) for place in wanted}
        for node in self.nodes:
            if any(is_differentiable(place) and key_of(place) in keys for place in node.places):
                keys.update((id(node), i) for i in range(len(node.types)))
        return keys


class _Terms:
    """The gradients that have arrived at places, by key."""

    def __init__(self):
        self._arrived = {}
        self._replacing = set()

    def add(self, key, gradient, replaces=False):
        self._arrived.setdefault(key, []).append(gradient)
        if replaces:
            self._replacing.add(key)

    def total(self, key):
        """The sum of what has arrived at a place, in float32; None for nothing."""
        arrived = self._arrived.get(key)
        if not arrived:
            return None
        if len(arrived) > 1:
            self._replacing.discard(key)
            inputs = [NDArray(term) for term in arrived]
            self._arrived[key] = arrived = [invoke("add_n", inputs, {}, _count(arrived))[0]]
        return arrived[0]

    def has(self, key):
        """Whether anything has arrived there."""
        return key in self._arrived

    def replaces(self, key):
        """Whether one gradient has arrived there, and overwrites what it is to be added to."""
        return key in self._replacing


class _Awaited:
    """Gradients with a callback (`Leaf.on_stored`): they are written as soon as they are complete."""

    def __init__(self, graph, wanted, terms):
        self.stored = set()
        self._terms = terms
        leaves = {
            id(leaf): leaf
            for leaf in wanted
            if isinstance(leaf, Leaf) and leaf.on_stored is not None and leaf.request == "write"
        }
        self._ending = {}  # by node: leaves whose last reader, in the order of the pass, it is
        if not leaves:
            return
        last = {}  # reader by leaf
        for node in reversed(graph.nodes):
            last.update((id(place), node) for place in node.places if id(place) in leaves)
        for key, node in last.items():
            self._ending.setdefault(id(node), []).append(leaves[key])

    def observer(self, node):
        """What a node may tell gradients to before it returns them."""
        alone = {
            node.places.index(leaf): leaf
            for leaf in self._ending.get(id(node), ())
            if node.places.count(leaf) == 1 and not self._terms.has(key_of(leaf))
        }
        if not alone:
            return None

        def tell(i, gradient):
            if i in alone:
                self._store(alone[i], gradient)

        return tell

    def after(self, node):
        """The gradients of a node's inputs are among the terms."""
        for leaf in self._ending.get(id(node), ()):
            total = None if leaf in self.stored else self._terms.total(key_of(leaf))
            if total is not None:
                self._store(leaf, total)

    def _store(self, leaf, total):
        _store(leaf, total, replaces=False)
        self.stored.add(leaf)
        leaf.on_stored()


def _run(graph, heads, head_gradients, wanted, retain_graph, create_graph, train_mode, terms, awaited=None):
    for i, (head, gradient) in enumerate(zip(heads, head_gradients)):
        terms.add(key_of(head._place), _head_gradient(i, head, gradient))
    graph.take(retain_graph)
    used = set(graph.nodes)  # where an error ends the run
    try:
        totals, used = _totals(graph, wanted, create_graph, train_mode, terms, awaited or _Awaited(graph, (), terms))
    finally:
        if not retain_graph:
            graph.release(used)
    return totals


def _totals(graph, wanted, create_graph, train_mode, terms, awaited):
    """The gradients of `wanted`, and the nodes whose gradients were computed on the way."""
    needed = graph.needed(wanted)
    used = set()
    with _recording.scope(create_graph, create_graph and train_mode):
        for node in reversed(graph.nodes):
            node.observer = awaited.observer(node)
            if _differentiate(node, terms, needed, create_graph, train_mode):
                used.add(node)
            node.observer = None
            awaited.after(node)
        return [terms.total(key_of(place)) for place in wanted], used


def _differentiate(node, terms, needed, create_graph, train_mode):
    """Adds the gradients of a node's inputs to `terms`; False where there is nothing to compute."""
    arrived = [terms.total((id(node), i)) for i in range(len(node.types))]
    is_asked = [is_differentiable(place) and key_of(place) in needed for place in node.places]
    if not any(is_asked) or all(gradient is None for gradient in arrived) and not node.owns_gradient():
        return False
    with _recording.scope(is_training=train_mode):
        gradients = node.gradients(arrived, is_asked, create_graph)
    for place, asked, gradient, replaces in zip(node.places, is_asked, gradients, node.replaces):
        if asked and gradient is not None:
            terms.add(key_of(place), gradient, replaces)
    return True


def _count(arrays):
    return {"num_args": str(len(arrays))}


def _head_gradient(i, head, gradient):
    if gradient is None:
        return NDArray(np.ones(head.shape, head.dtype))
    gradient = gradient if isinstance(gradient, NDArray) else NDArray(gradient)
    if gradient.shape != head.shape or gradient.dtype != head.dtype:
        raise ArgumentError(
            f"backward: the gradient of head {i}: expected {head.dtype}{list(head.shape)}, "
            f"got {gradient.dtype}{list(gradient.shape)}"
        )
    return gradient


def _store(leaf, total, replaces):
    with _lock:
        if leaf.request == "write" or replaces:
            leaf.store(0 if total is None else np.asarray(total))
        elif total is not None:
            leaf.store(np.asarray(leaf.gradient) + np.asarray(total).astype(leaf.gradient.dtype))
        leaf.is_fresh = True


_all_stay = False  # legacy arrays, too: MXNet 2


def let_all_stay(active):
    """Whether `attach` leaves legacy arrays in their graphs."""
    global _all_stay
    _all_stay = bool(active)


def attach(array, request="write"):
    """Attaches a gradient of zeros to an array.

    A legacy array forgets where it came from, as in MXNet 1.x, unless `let_all_stay` was told. One of NumPy's kind
    stays part of its graph, as in 2.x.
    """
    place = array._place
    attach_buffer(array, None, request)
    if (array._is_numpy or _all_stay) and isinstance(place, Result) and not place.node.is_spent:
        array._place = Retained(drop_retained(place), array._place)


def drop_retained(place):
    """The place without a gradient that was attached to it."""
    return place.drop() if isinstance(place, Retained) else place


def drop(array):
    """Takes an attached gradient away; a computed array stays part of its graph."""
    array._place = None if isinstance(array._place, Leaf) else drop_retained(array._place)


def attach_buffer(array, gradient, request):
    """The same with an array to write gradients to."""
    if request not in ("write", "add", "null"):
        raise ArgumentError(f"grad_req: expected 'write', 'add' or 'null', got {request!r}")
    if gradient is not None and gradient.shape != array.shape:
        raise ArgumentError(f"mark_variables: a gradient of shape {gradient.shape} for an array of shape {array.shape}")
    array._place = Leaf(array, request, gradient)


def is_float(array):
    """Whether the elements have gradients; bfloat16 is a kind of its own in NumPy."""
    return array.dtype.kind == "f" or array.dtype.name == "bfloat16"


def gradient_of(array):
    """What `attach` or the last backward left; None where nothing is attached, or nothing asked for."""
    leaf = leaf_of(array)
    return leaf.gradient if leaf is not None and leaf.has_gradient else None


def is_fresh(array):
    """Whether a backward pass wrote the gradient since it was last said to be used."""
    leaf = leaf_of(array)
    return leaf is not None and leaf.is_fresh


def set_fresh(array, value):
    """Says so, or that it was used."""
    leaf = leaf_of(array)
    if leaf is not None:
        leaf.is_fresh = bool(value)


def detached(array):
    """The same elements in shared memory, as a constant."""
    other = type(array)(array)
    other._place = None
    return other
