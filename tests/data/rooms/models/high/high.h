#include "sim/low/inside.h"
#include "sim/low/low.h"
