// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "f63a8321a1bfec1b5132ec09e0bf55fcc214b1bb5b83170d3b04baaef558ce67"
