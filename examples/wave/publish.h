/* All that the program has to do with Visapult. */
#ifndef WAVE_PUBLISH_H
#define WAVE_PUBLISH_H

#include <visapult.h>

#include "options.h"
#include "solver.h"

/* Speed of sound in air, m/s, and edge of the cube, m. */
#define SOUND_M_S 343.0
#define EDGE_M 100.0

/* Opens the publisher of this rank; NULL after saying why there is none. */
visapult_publisher *publish_open(const options *options, const solver *solver);
/* What viewers want from the next published step on; waits while they have paused it. 1 to go on, 0 to end in order, less after saying why not. */
int publish_steer(visapult_publisher *publisher, double settings[SETTINGS]);
/* Publishes the field as it is, at `time` in s. */
int publish_step(visapult_publisher *publisher, const solver *solver, double time);
/* Rank 0 prints the URLs of all ranks that listen, on one line. */
void publish_tell(visapult_publisher *publisher, MPI_Comm ranks);

#endif
