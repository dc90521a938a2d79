/* A program whose viewers turn its parameters, pause it and stop it. usage: steered */
#define _POSIX_C_SOURCE 199309L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <visapult.h>

enum { N = 32 };
static float field[N][N][N];

/* The simulation: rings around an axis, that run outwards. */
static void compute(double phase, int rings) {
  for (int z = 0; z < N; z++)
    for (int y = 0; y < N; y++)
      for (int x = 0; x < N; x++) field[z][y][x] = (float)sin(6.28 * (rings * hypot(x - 16, y - 16) / N - phase));
}

static void give_up(void) {
  fprintf(stderr, "steered: %s\n", visapult_last_error());
  exit(1);
}

int main(void) {
  int64_t size[3] = {N, N, N};
  visapult_declaration *declaration = visapult_declare("steered", size);
  if (!declaration) give_up();
  int height = visapult_declare_field(declaration, "height", "m", VISAPULT_FLOAT32);
  int speed = visapult_declare_parameter(declaration, "speed", "turns/s", VISAPULT_NUMBER, 0, 2, 0.5);
  int rings = visapult_declare_parameter(declaration, "rings", NULL, VISAPULT_INTEGER, 1, 8, 3);
  if (height < 0 || speed < 0 || rings < 0) give_up();
  visapult_publisher *publisher = visapult_publish_listen(declaration, "127.0.0.1:0", NULL);
  if (!publisher) give_up();
  visapult_declare_free(declaration);
  printf("%s\n", visapult_url(publisher));
  fflush(stdout);

  double phase = 0;
  for (int step = 0;; step++) {
    int said = visapult_steer(publisher); /* waits while it is paused */
    if (said < 0) give_up();
    if (said == VISAPULT_STOP) break;
    compute(phase, (int)visapult_parameter(publisher, rings));
    if (visapult_begin(publisher, step * 0.02) || visapult_put(publisher, height, field, NULL) || visapult_end(publisher))
      give_up();
    phase += 0.02 * visapult_parameter(publisher, speed);
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
  }
  printf("stopped with speed %g and %g rings\n", visapult_parameter(publisher, speed), visapult_parameter(publisher, rings));
  visapult_close(publisher);
  return 0;
}
