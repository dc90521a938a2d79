/* A program that publishes while it computes. usage: first [SECONDS] */
#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <visapult.h>

enum { NX = 48, NY = 40, NZ = 32 };
static double field[NZ][NY][NX];

/* The simulation: squared distance from a point that wanders along x. */
static void compute(int step) {
  for (int z = 0; z < NZ; z++)
    for (int y = 0; y < NY; y++)
      for (int x = 0; x < NX; x++) {
        int dx = x - step % NX, dy = y - NY / 2, dz = z - NZ / 2;
        field[z][y][x] = dx * dx + dy * dy + dz * dz;
      }
}

static void give_up(void) {
  fprintf(stderr, "first: %s\n", visapult_last_error());
  exit(1);
}

int main(int count, char **arguments) {
  double seconds = count > 1 ? atof(arguments[1]) : 60;

  int64_t size[3] = {NX, NY, NZ};
  visapult_declaration *declaration = visapult_declare("first", size);
  if (!declaration) give_up();
  int distance = visapult_declare_field(declaration, "distance", "m2", VISAPULT_FLOAT64);
  if (distance < 0 || visapult_declare_time_unit(declaration, "s")) give_up();

  visapult_publisher *publisher = visapult_publish_listen(declaration, "127.0.0.1:0", NULL);
  if (!publisher) give_up();
  visapult_declare_free(declaration);
  printf("%s\n", visapult_url(publisher));
  fflush(stdout);

  for (int step = 0; step * 0.02 < seconds; step++) {
    compute(step);
    if (visapult_begin(publisher, step * 0.02) || visapult_put(publisher, distance, field, NULL) ||
        visapult_end(publisher))
      give_up();
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
  }
  visapult_close(publisher);
  return 0;
}
