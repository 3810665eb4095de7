"""Batches on their way from one process to another: large arrays lie in memory that both see.

The memory has no name. The system frees it when both processes have closed it or ended.
"""

import mmap
import os
import pickle
from multiprocessing import reduction

_SMALL = 16384  # bytes of an array that is sent along instead
_ALIGNMENT = 64


def pack(value):
    """What `send` takes. Raises what pickle raises."""
    buffers = []

    def keep(buffer):
        is_small = buffer.raw().nbytes < _SMALL
        if not is_small:
            buffers.append(buffer.raw())
        return is_small

    return pickle.dumps(value, protocol=5, buffer_callback=keep), buffers


def send(connection, destination, packed):
    """Sends what `pack` gave to the process `destination`, for `receive` to unpack."""
    text, buffers = packed
    places, total = _places([buffer.nbytes for buffer in buffers])
    if not buffers:
        connection.send((text, places, total))
        return
    handle = os.memfd_create("amp-batch")
    try:
        os.ftruncate(handle, total)
        with mmap.mmap(handle, total) as memory:
            for (begin, end), buffer in zip(places, buffers):
                memory[begin:end] = buffer
        connection.send((text, places, total))
        reduction.send_handle(connection, handle, destination)
    finally:
        os.close(handle)


def receive(connection):
    """What was sent; its arrays keep the memory alive. Raises EOFError or OSError where the sender is gone."""
    text, places, total = connection.recv()
    if not places:
        return pickle.loads(text)
    handle = reduction.recv_handle(connection)
    try:
        memory = memoryview(mmap.mmap(handle, total))
    finally:
        os.close(handle)
    return pickle.loads(text, buffers=[memory[begin:end] for begin, end in places])


def _places(sizes):
    """([(begin, end)], bytes in all)"""
    places, total = [], 0
    for size in sizes:
        places.append((total, total + size))
        total += -(-size // _ALIGNMENT) * _ALIGNMENT
    return places, total
