"""Work of several ranks: threads of one process (`run_local`) or processes of MPI (`mpi`).

A rank has a `Comm`, through which it sends and receives. `ring_attention` is attention over a sequence that is cut
over the ranks; `gluon.Trainer(kvstore="mpi")` trains one model on each rank's part of the data.

>>> def sum_of_ranks(comm):
...     return comm.all_reduce(np.float32([comm.rank]))
>>> [float(total.asscalar()) for total in amp.distributed.run_local(4, sum_of_ranks)]
[6.0, 6.0, 6.0, 6.0]
"""

from ._comm import Comm, current_comm, group
from ._local import run_local
from ._mpi import mpi
from ._ring import ring_attention, ring_attention_backward
from ._split import join_from_ring, split_for_ring

__all__ = [
    "Comm",
    "current_comm",
    "group",
    "join_from_ring",
    "mpi",
    "ring_attention",
    "ring_attention_backward",
    "run_local",
    "split_for_ring",
]
