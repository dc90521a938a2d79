/* A rank of two of a program with two fields that viewers may pause. usage: two_fields RANK */
#define _POSIX_C_SOURCE 199309L
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <visapult.h>

enum { N = 24, RANKS = 2, PART = N / RANKS };
static float fields[2][N * N * PART];

int main(int argc, char **argv) {
  int rank = argc > 1 ? atoi(argv[1]) : 0;
  int64_t whole[3] = {N, N, N}, offset[3] = {0, 0, rank * PART}, size[3] = {N, N, PART};
  visapult_declaration *declaration = visapult_declare("two", whole);
  if (visapult_declare_rank(declaration, rank, RANKS) || visapult_declare_box(declaration, offset, size) ||
      visapult_declare_field(declaration, "Bx", NULL, VISAPULT_FLOAT32) != 0 ||
      visapult_declare_field(declaration, "By", NULL, VISAPULT_FLOAT32) != 1 ||
      visapult_declare_parameter(declaration, "any", NULL, VISAPULT_NUMBER, 0, 1, 0) != 0)
    return 1;
  visapult_publisher *publisher = visapult_publish_listen(declaration, "127.0.0.1:0", NULL);
  visapult_declare_free(declaration);
  if (!publisher) return 1;
  printf("%s\n", visapult_url(publisher));
  fflush(stdout);
  for (int step = 0;; step++) {
    int said = visapult_steer(publisher);
    if (said != VISAPULT_OK) return said != VISAPULT_STOP;
    for (int i = 0; i < N * N * PART; i++) {
      fields[0][i] = (float)(i % N);
      fields[1][i] = (float)(1000 * (rank + 1) + step);
    }
    if (visapult_begin(publisher, step) || visapult_put(publisher, 0, fields[0], NULL) ||
        visapult_put(publisher, 1, fields[1], NULL) || visapult_end(publisher))
      return 1;
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
  }
}
