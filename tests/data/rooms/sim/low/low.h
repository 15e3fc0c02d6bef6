#include "models/high/high.h"
