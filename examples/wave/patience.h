#ifndef PATIENCE_H
#define PATIENCE_H

#include <mpi.h>

enum { MOST_REQUESTS = 12 };

/* Waits until `count` requests are done, at most MOST_REQUESTS, and leaves the core to others meanwhile. MPI's own waits spin: where there are
   more ranks than cores, or threads that encrypt and send beside the solver, spinning takes the time they need. */
void await(int count, MPI_Request requests[]);

#endif
