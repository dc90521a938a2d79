/* Calls that make no sense: each is refused with a message, and none ends the program. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <visapult.h>

static int wrong;

static void refused(int was_refused, const char *call, const char *expected) {
  const char *said = visapult_last_error();
  if (was_refused && strstr(said, expected)) return;
  wrong++;
  printf("%s: %s, and said: %s\n", call, was_refused ? "refused" : "not refused", said);
}

#define REFUSED(call, expected) refused((call) < 0, #call, expected)
#define NO_OBJECT(call, expected) refused(!(call), #call, expected)

static void declaring(void) {
  int64_t size[3] = {8, 4, 2}, empty[3] = {8, 0, 2}, vast[3] = {INT64_MAX, INT64_MAX, INT64_MAX}, negative[3] = {-1, 0, 0};
  int64_t none[3] = {0, 0, 0}, far[3] = {INT64_MAX, 0, 0};
  double spacing[3] = {1, 0, 1}, nowhere[3] = {0, NAN, 0};
  NO_OBJECT(visapult_declare(NULL, size), "name is NULL");
  NO_OBJECT(visapult_declare("x", NULL), "size is NULL");
  NO_OBJECT(visapult_declare("\xff", size), "UTF-8");
  NO_OBJECT(visapult_declare("", size), "the run has no name");
  NO_OBJECT(visapult_declare("a\nb", size), "cannot be shown");
  NO_OBJECT(visapult_declare("x", empty), "empty");
  NO_OBJECT(visapult_declare("x", vast), "too large");
  NO_OBJECT(visapult_declare("x", negative), "negative");
  visapult_declaration *it = visapult_declare("x", size);
  REFUSED(visapult_declare_rank(NULL, 0, 1), "declaration is NULL");
  REFUSED(visapult_declare_rank(it, 1, 1), "rank 1 of 1");
  REFUSED(visapult_declare_rank(it, -1, 1), "rank -1 of 1");
  REFUSED(visapult_declare_box(it, none, none), "empty");
  REFUSED(visapult_declare_box(it, far, size), "leaves the grid of [8, 4, 2] samples: give its offset, counted from 0");
  REFUSED(visapult_declare_box(it, negative, size), "negative");
  REFUSED(visapult_declare_grid(it, spacing, NULL, NULL), "spacing");
  REFUSED(visapult_declare_grid(it, NULL, nowhere, NULL), "origin");
  REFUSED(visapult_declare_time_unit(it, NULL), "unit is NULL");
  REFUSED(visapult_declare_delivery(it, 7), "7 is none of");
  REFUSED(visapult_declare_centering(it, 7), "7 is neither");
  double places[4] = {0, 1, 3, 2};
  REFUSED(visapult_declare_coordinates(it, 3, places, 4, NULL, NULL, NULL), "3 is none of VISAPULT_X");
  REFUSED(visapult_declare_coordinates(it, VISAPULT_X, places, 4, NULL, NULL, NULL), "4 coordinates along x, of 8 samples");
  REFUSED(visapult_declare_coordinates(it, VISAPULT_Y, NULL, 4, NULL, NULL, NULL), "values is NULL");
  REFUSED(visapult_declare_coordinates(it, VISAPULT_Y, places, 4, NULL, NULL, NULL), "along y neither grow nor fall");
  REFUSED(visapult_declare_coordinates(it, VISAPULT_Y, places, 4, NULL, NULL, "left"), "\"up\" or \"down\"");
  REFUSED(visapult_declare_calendar(it, "no_leap"), "calendar \"no_leap\" is none of standard");
  REFUSED(visapult_declare_field(it, " ", "Pa", VISAPULT_FLOAT32), "a field has no name");
  REFUSED(visapult_declare_parameter(it, " ", NULL, VISAPULT_NUMBER, 0, 1, 0.5), "a parameter has no name");
  REFUSED(visapult_declare_field(it, "p", "Pa", 99), "no type");
  REFUSED(visapult_declare_range(it, 0, 0, 1), "no field 0");
  if (visapult_declare_field(it, "p", NULL, VISAPULT_FLOAT32) != 0) wrong++;
  REFUSED(visapult_declare_field(it, "p", NULL, VISAPULT_FLOAT32), "a field p already");
  REFUSED(visapult_declare_range(it, 0, 1, 0), "no range");
  REFUSED(visapult_declare_parameter(it, "c", NULL, 7, 0, 1, 0.5), "neither");
  REFUSED(visapult_declare_parameter(it, "c", NULL, VISAPULT_NUMBER, 1, 0, 0.5), "no range");
  REFUSED(visapult_declare_parameter(it, "c", NULL, VISAPULT_NUMBER, 0, 1, 2), "0 to 1, not 2");
  REFUSED(visapult_declare_parameter(it, "c", NULL, VISAPULT_INTEGER, 0, 1, 0.5), "whole numbers");
  if (visapult_declare_parameter(it, "c", NULL, VISAPULT_NUMBER, 0, 1, 0.5) != 0) wrong++;
  REFUSED(visapult_declare_parameter(it, "c", NULL, VISAPULT_NUMBER, 0, 1, 0.5), "a parameter c already");
  /* For a program that does not look: what is put would not be what is declared. */
  NO_OBJECT(visapult_publish_listen(it, "127.0.0.1:0", NULL), "refused: visapult_declare_rank: rank 1 of 1");
  NO_OBJECT(visapult_publish_dial(it, NULL), "refused: visapult_declare_rank: rank 1 of 1");
  NO_OBJECT(visapult_publish_dial(NULL, NULL), "declaration is NULL");
  visapult_declare_free(it);
  visapult_declare_free(NULL);
}

static void opening(void) {
  int64_t size[3] = {8, 4, 2};
  visapult_declaration *it = visapult_declare("x", size);
  NO_OBJECT(visapult_publish_listen(it, "127.0.0.1:0", NULL), "0 fields");
  if (visapult_declare_field(it, "p", NULL, VISAPULT_FLOAT32) != 0) wrong++;
  NO_OBJECT(visapult_publish_listen(it, "here", NULL), "\"here\"");
  NO_OBJECT(visapult_publish_dial(it, "http://x"), "ripp://");
  if (visapult_declare_rank(it, 1, 2)) wrong++;
  NO_OBJECT(visapult_publish_listen(it, "127.0.0.1:0", NULL), "visapult_declare_box");
  visapult_declare_free(it);
}

static void publishing(void) {
  int64_t size[3] = {8, 4, 2}, other[3] = {8, 4, 3};
  float values[64] = {0};
  visapult_counts counts;
  visapult_declaration *declaration = visapult_declare("x", size);
  visapult_declare_field(declaration, "p", NULL, VISAPULT_FLOAT32);
  visapult_publisher *it = visapult_publish_listen(declaration, "127.0.0.1:0", NULL);
  visapult_declare_free(declaration);
  if (!it || !visapult_is_on(it) || !visapult_url(it)) wrong++;
  REFUSED(visapult_begin(NULL, 0), "publisher is NULL");
  REFUSED(visapult_put(it, 0, values, NULL), "begin one before");
  REFUSED(visapult_end(it), "begin one before");
  REFUSED(visapult_begin_at(it, -1, 0), "does not follow");
  /* What is put after all is nothing to be said at the end. */
  if (visapult_begin_at(it, 4, 0)) wrong++;
  REFUSED(visapult_put(it, 0, NULL, NULL), "values is NULL");
  if (visapult_put(it, 0, values, NULL) || visapult_end(it)) wrong++;
  if (visapult_begin_at(it, 5, 0)) wrong++;
  REFUSED(visapult_steer(NULL), "publisher is NULL");
  double nothing = visapult_parameter(it, 0);
  refused(nothing != nothing, "visapult_parameter(it, 0)", "no parameter 0");
  REFUSED(visapult_put(it, 1, values, NULL), "no field 1: 1 are declared, and they count from 0");
  REFUSED(visapult_put(it, 0, NULL, NULL), "values is NULL");
  REFUSED(visapult_put_array(it, 0, VISAPULT_FLOAT64, size, values, NULL), "is declared as VISAPULT_FLOAT32, the array is of VISAPULT_FLOAT64");
  REFUSED(visapult_put_array(it, 0, VISAPULT_FLOAT32, other, values, NULL), "without ghost layers, x first");
  REFUSED(visapult_statistics(it, NULL), "counts is NULL");
  if (visapult_put(it, 0, values, NULL) || visapult_end(it)) wrong++;
  REFUSED(visapult_begin_at(it, 5, 0), "6 is the least");
  if (visapult_statistics(it, &counts) || counts.steps != 2 || counts.attached != 0) wrong++;
  if (visapult_close(it) || visapult_close(NULL) || visapult_url(NULL) || visapult_is_on(NULL)) wrong++;
}

static void off(void) {
  int64_t size[3] = {8, 4, 2};
  float values[64] = {0};
  visapult_counts counts;
  visapult_declaration *declaration = visapult_declare("x", size);
  visapult_declare_field(declaration, "p", NULL, VISAPULT_FLOAT32);
  visapult_declare_parameter(declaration, "c", NULL, VISAPULT_NUMBER, 0, 1, 0.5);
  visapult_publisher *it = visapult_publish_dial(declaration, NULL);
  visapult_declare_free(declaration);
  if (!it || visapult_is_on(it) || visapult_url(it)) wrong++;
  if (visapult_steer(it) != VISAPULT_OK || visapult_parameter(it, 0) != 0.5) wrong++;
  if (visapult_begin(it, 0) || visapult_put(it, 0, values, NULL) || visapult_end(it)) wrong++;
  if (visapult_statistics(it, &counts) || counts.steps != 0 || visapult_close(it)) wrong++;
}

static void unsteered(void) {
  int64_t size[3] = {8, 4, 2};
  float values[64] = {0};
  visapult_declaration *declaration = visapult_declare("x", size);
  visapult_declare_field(declaration, "p", NULL, VISAPULT_FLOAT32);
  visapult_declare_parameter(declaration, "c", NULL, VISAPULT_NUMBER, 0, 1, 0.5);
  visapult_publisher *it = visapult_publish_listen(declaration, "127.0.0.1:0", NULL);
  visapult_declare_free(declaration);
  for (int step = 0; step < 8; step++) {
    /* After each of the first steps, and then never. */
    if (visapult_begin(it, 0) || visapult_put(it, 0, values, NULL) || visapult_end(it)) wrong++;
    if (step < 3 && visapult_steer(it)) wrong++;
  }
  if (visapult_close(it)) wrong++;
}

int main(void) {
  declaring();
  opening();
  publishing();
  unsteered();
  off();
  if (wrong)
    printf("%d wrong\n", wrong);
  else
    printf("all refused\n");
  return wrong != 0;
}
