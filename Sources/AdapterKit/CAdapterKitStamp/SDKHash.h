// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "1a5a9cb120ac7ea171a79f92de5c25b56b94c2c8d04d3d019e3975ff545851da"
