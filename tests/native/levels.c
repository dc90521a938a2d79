/* A rank of an atmosphere from the top down and from north to south, cut into slabs of planes. usage: levels RANK RANKS */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <visapult.h>

enum { NX = 12, NY = 6, NZ = 4 };
static float values[NZ][NY][NX];

int main(int argc, char **argv) {
  int rank = argc > 1 ? atoi(argv[1]) : 0, ranks = argc > 2 ? atoi(argv[2]) : 1, part = NZ / ranks;
  double lon[NX], lat[NY] = {60, 50, 30, 0, -30, -60}, plev[NZ] = {100, 300, 700, 1000};
  int64_t whole[3] = {NX, NY, NZ}, offset[3] = {0, 0, rank * part}, size[3] = {NX, NY, part};
  for (int x = 0; x < NX; x++) lon[x] = 30 * x;
  for (int z = 0; z < part; z++)
    for (int y = 0; y < NY; y++)
      for (int x = 0; x < NX; x++) values[z][y][x] = (float)(x + 10 * y + 100 * (z + rank * part));

  visapult_declaration *it = visapult_declare("levels", whole);
  if (visapult_declare_rank(it, rank, ranks) || visapult_declare_box(it, offset, size) ||
      visapult_declare_field(it, "ta", "K", VISAPULT_FLOAT32) != 0 ||
      visapult_declare_coordinates(it, VISAPULT_X, lon, NX, "degrees_east", "lon", NULL) ||
      visapult_declare_coordinates(it, VISAPULT_Y, lat, NY, "degrees_north", "lat", NULL) ||
      visapult_declare_coordinates(it, VISAPULT_Z, plev, NZ, "hPa", "plev", "down") ||
      visapult_declare_time_unit(it, "hours since 2001-01-01") || visapult_declare_calendar(it, "noleap")) {
    printf("%s\n", visapult_last_error());
    return 1;
  }
  visapult_publisher *publisher = visapult_publish_listen(it, "127.0.0.1:0", NULL);
  visapult_declare_free(it);
  if (!publisher || visapult_begin(publisher, 6) || visapult_put(publisher, 0, values, NULL) || visapult_end(publisher)) {
    printf("%s\n", visapult_last_error());
    return 1;
  }
  printf("%s\n", visapult_url(publisher));
  fflush(stdout);
  getchar();
  return visapult_close(publisher) != 0;
}
