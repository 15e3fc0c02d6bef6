#include "sim/low/low.h"
#include "sim/low/inside.h"
