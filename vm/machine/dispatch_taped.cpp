// The loop for runs that record on a tape.
#define CAIRN_TAPED true
#include "vm/machine/handlers/dispatch.h"
