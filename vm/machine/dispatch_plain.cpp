// The loop for runs that do not record on a tape.
#define CAIRN_TAPED false
#include "vm/machine/handlers/dispatch.h"
