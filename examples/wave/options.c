#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char USAGE[] =
    "usage: wave [--n 128] [--every 4] [--rate 12] [--steps N] [--seconds S] [--sources 5] [--strength 1]\n"
    "            [--frequency 1] [--courant 0.5] [--range 10]\n"
    "            [--url ripp://...] [--listen 127.0.0.1:0 [--host NAME]]\n"
    "  --n        samples per edge of the cube, 16 or more\n"
    "  --every    solver steps per published step\n"
    "  --sources, --strength, --frequency, --courant, --range   at the start: viewers may change them\n"
    "  --rate     published steps per second at most; 0: as fast as it goes\n"
    "  --steps, --seconds   ends after so many published steps, or so much time\n"
    "  --url      back end to dial; without it VISAPULT_URL, and without that nothing is published\n"
    "  --listen   listen instead, every rank at a port of its own: rank 0 prints the URLs\n";

static int number(const char *text, double least, double most, double *value) {
  char *end;
  *value = strtod(text, &end);
  return *text && !*end && *value >= least && *value <= most;
}

static const setting *setting_of(const char *name) {
  for (int i = 0; i < SETTINGS; i++)
    if (!strncmp(name, "--", 2) && !strcmp(name + 2, SETTING[i].name)) return &SETTING[i];
  return NULL;
}

static int set(options *o, const char *name, const char *text) {
  double value;
  if (!strcmp(name, "--url")) return (o->url = text) != NULL;
  if (!strcmp(name, "--listen")) return (o->listen = text) != NULL;
  if (!strcmp(name, "--host")) return (o->host = text) != NULL;
  const setting *changeable = setting_of(name);
  if (changeable) {
    double *own = &o->settings[changeable - SETTING];
    return number(text, changeable->least, changeable->most, own) && (!changeable->whole || *own == (int)*own);
  }
  if (!number(text, 0, 1e9, &value)) return 0;
  if (!strcmp(name, "--n")) return (o->n = (int)value) >= 16 && o->n <= 4096;
  if (!strcmp(name, "--every")) return (o->every = (int)value) >= 1;
  if (!strcmp(name, "--steps")) return (o->steps = (long)value) >= 0;
  if (!strcmp(name, "--seconds")) return (o->seconds = value) >= 0;
  if (!strcmp(name, "--rate")) return (o->rate = value) >= 0;
  return 0;
}

int read_options(options *o, int count, char **arguments, int loud) {
  *o = (options){.n = 128, .every = 4, .rate = 12};
  for (int i = 0; i < SETTINGS; i++) o->settings[i] = SETTING[i].value;
  for (int i = 1; i < count; i += 2) {
    if (i + 1 < count && set(o, arguments[i], arguments[i + 1])) continue;
    const char *value = i + 1 < count ? arguments[i + 1] : "";
    const setting *known = setting_of(arguments[i]);
    if (loud && known)
      fprintf(stderr, "wave: %s takes %s from %g to %g, not %s\n", arguments[i], known->whole ? "whole numbers" : "numbers",
              known->least, known->most, value);
    else if (loud)
      fprintf(stderr, "wave: %s %s makes no sense\n%s", arguments[i], value, USAGE);
    return 0;
  }
  return 1;
}
