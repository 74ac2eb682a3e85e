// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "98c848d92809959d47011077c35d0eb14b95ad5214ac2cd197f859f302b1edd0"
