/* Publishes 60 steps as fast as it is let, every one of which is to arrive. usage: every */
#include <stdint.h>
#include <stdio.h>
#include <visapult.h>

enum { N = 24 };
static float field[N * N * N];

int main(void) {
  int64_t size[3] = {N, N, N};
  visapult_counts counts;
  visapult_declaration *declaration = visapult_declare("every", size);
  if (visapult_declare_field(declaration, "step", NULL, VISAPULT_FLOAT32) != 0 ||
      visapult_declare_delivery(declaration, VISAPULT_EVERY_FROM_FIRST))
    return 1;
  visapult_publisher *publisher = visapult_publish_listen(declaration, "127.0.0.1:0", NULL);
  visapult_declare_free(declaration);
  if (!publisher) return 1;
  printf("%s\n", visapult_url(publisher));
  fflush(stdout);
  for (int step = 0; step < 60; step++) {
    for (int i = 0; i < N * N * N; i++) field[i] = (float)(step + i);
    if (visapult_begin(publisher, step) || visapult_put(publisher, 0, field, NULL) || visapult_end(publisher)) return 1;
  }
  visapult_statistics(publisher, &counts);
  visapult_close(publisher);
  printf("%d put, %d sent, %d missed\n", (int)counts.steps, (int)counts.sent, (int)counts.missed);
  return 0;
}
