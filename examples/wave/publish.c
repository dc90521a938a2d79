#include "publish.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_URL = 512 };

/* Parameters have the numbers of the settings. */
static int declare_parameters(visapult_declaration *declaration, const double settings[SETTINGS]) {
  for (int i = 0; i < SETTINGS; i++) {
    const setting *it = &SETTING[i];
    int kind = it->whole ? VISAPULT_INTEGER : VISAPULT_NUMBER;
    if (visapult_declare_parameter(declaration, it->name, it->unit, kind, it->least, it->most, settings[i]) != i) return 0;
  }
  return 1;
}

static visapult_declaration *declare(const options *o, const solver *s) {
  int rank, ranks;
  MPI_Comm_rank(s->ranks, &rank);
  MPI_Comm_size(s->ranks, &ranks);
  int64_t whole[3] = {s->n, s->n, s->n};
  int64_t offset[3] = {s->offset[0], s->offset[1], s->offset[2]}, size[3] = {s->size[0], s->size[1], s->size[2]};
  double step = EDGE_M / (s->n - 1), spacing[3] = {step, step, step};
  visapult_declaration *declaration = visapult_declare("wave", whole);
  if (!declaration || visapult_declare_rank(declaration, rank, ranks) ||
      visapult_declare_box(declaration, offset, size) || visapult_declare_grid(declaration, spacing, NULL, "m") ||
      visapult_declare_time_unit(declaration, "s") ||
      visapult_declare_field(declaration, "pressure", "Pa", VISAPULT_FLOAT32) != 0 ||
      visapult_declare_range(declaration, 0, -1, 1) || !declare_parameters(declaration, o->settings)) {
    visapult_declare_free(declaration);
    return NULL;
  }
  return declaration;
}

visapult_publisher *publish_open(const options *o, const solver *s) {
  visapult_declaration *declaration = declare(o, s);
  visapult_publisher *publisher = NULL;
  if (declaration && o->listen)
    publisher = visapult_publish_listen(declaration, o->listen, o->host);
  else if (declaration)
    publisher = visapult_publish_dial(declaration, o->url);
  if (!publisher) fprintf(stderr, "wave: %s\n", visapult_last_error());
  visapult_declare_free(declaration);
  return publisher;
}

int publish_steer(visapult_publisher *publisher, double settings[SETTINGS]) {
  int said = visapult_steer(publisher);
  if (said < 0) fprintf(stderr, "wave: %s\n", visapult_last_error());
  if (said != VISAPULT_OK) return said == VISAPULT_STOP ? 0 : said;
  for (int i = 0; i < SETTINGS; i++) settings[i] = visapult_parameter(publisher, i);
  return 1;
}

int publish_step(visapult_publisher *publisher, const solver *s, double time) {
  /* From where it is, without the ghost layer. */
  int64_t value = sizeof *s->now;
  int64_t strides[3] = {value, value * (int64_t)row_of(s), value * (int64_t)plane_of(s)};
  if (visapult_begin(publisher, time) || visapult_put(publisher, 0, s->now + place_of(s, 0, 0, 0), strides) ||
      visapult_end(publisher)) {
    fprintf(stderr, "wave: %s\n", visapult_last_error());
    return 0;
  }
  return 1;
}

void publish_tell(visapult_publisher *publisher, MPI_Comm ranks) {
  int rank, count, any, own = visapult_url(publisher) != NULL;
  MPI_Allreduce(&own, &any, 1, MPI_INT, MPI_MAX, ranks);
  if (!any) return;
  MPI_Comm_rank(ranks, &rank);
  MPI_Comm_size(ranks, &count);
  char url[LONGEST_URL] = "", *all = rank == 0 ? malloc((size_t)count * LONGEST_URL) : NULL;
  if (own) snprintf(url, sizeof url, "%s", visapult_url(publisher));
  MPI_Gather(url, LONGEST_URL, MPI_CHAR, all, LONGEST_URL, MPI_CHAR, 0, ranks);
  for (int i = 0; all && i < count; i++) printf("%s%c", all + (size_t)i * LONGEST_URL, i + 1 < count ? ' ' : '\n');
  fflush(stdout);
  free(all);
}
