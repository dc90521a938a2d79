/* What the command line asks for. */
#ifndef WAVE_OPTIONS_H
#define WAVE_OPTIONS_H

#include "settings.h"

typedef struct {
  int n;              /* samples per edge */
  int every;          /* solver steps per published step */
  long steps;         /* published steps; 0: no limit */
  double seconds;     /* wall time; 0: no limit */
  double rate;        /* published steps per second at most; 0: as fast as it goes */
  const char *url;    /* back end to dial; NULL: VISAPULT_URL */
  const char *listen; /* address to listen at instead; NULL: dial */
  const char *host;   /* this machine's name in the URL */
  double settings[SETTINGS]; /* at the start */
} options;

/* Reads the command line; on nonsense says what is wrong, if `loud`, and returns 0. */
int read_options(options *options, int count, char **arguments, int loud);

#endif
