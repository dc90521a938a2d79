#include "settings.h"

const setting SETTING[SETTINGS] = {
    [SOURCES] = {"sources", "", 1, 0, MOST_SOURCES, 5},
    /* Height of the field at a source that is alone and at rest. */
    [STRENGTH] = {"strength", "Pa", 0, 0, 4, 1},
    /* Of each source, in terms of its own pitch. */
    [FREQUENCY] = {"frequency", "", 0, 0.25, 2, 1},
    /* Below 1 / sqrt(3) = 0.577, where the scheme ceases to be stable. */
    [COURANT] = {"courant", "", 0, 0.05, 0.57, 0.5},
    /* The medium gives way beyond it: the field stays within plus and minus so much. */
    [RANGE] = {"range", "Pa", 0, 0.1, 10, 10},
};
