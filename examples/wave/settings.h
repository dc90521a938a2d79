/* What viewers may change while it runs, and the command line beforehand. */
#ifndef WAVE_SETTINGS_H
#define WAVE_SETTINGS_H

enum { SOURCES, STRENGTH, FREQUENCY, COURANT, RANGE, SETTINGS };
enum { MOST_SOURCES = 64 };

typedef struct {
  const char *name, *unit;
  int whole; /* takes whole numbers */
  double least, most, value;
} setting;

/* By number. Their ranges are such that no choice makes the scheme unstable. */
extern const setting SETTING[SETTINGS];

#endif
