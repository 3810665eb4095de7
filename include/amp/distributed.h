// What programs of several ranks need, beside amp.h: communicators of threads and of MPI, sums over ranks, and ring
// attention. The library links no MPI: who includes this header where <mpi.h> is found compiles that communicator.
#pragma once

#include "dist/all_reduce.h"     // IWYU pragma: export
#include "dist/local_comm.h"     // IWYU pragma: export
#include "dist/mpi_comm.h"       // IWYU pragma: export
#include "dist/ring_backward.h"  // IWYU pragma: export
#include "dist/ring_forward.h"   // IWYU pragma: export
