// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "0f8021fdd1604faa48ee4098cae661b73616d3048229ca00365f784fd293592a"
