"""Stores of arrays by key: `mx.kv.create("local")` of one rank, `mx.kv.create("dist_sync")` of several.

A value that is pushed replaces what is there, or is the gradient that an optimizer updates it with. Stores import
optimizers and `amp.distributed`, never blocks.
"""

from .._missing import getter
from .kvstore import KVStore, KVStoreOfRanks, create, has_ranks  # noqa: F401
from .kvstore_base import KVStoreBase, TestStore

__all__ = ["KVStore", "KVStoreBase", "KVStoreOfRanks", "TestStore", "create"]

__getattr__ = getter(__name__)
