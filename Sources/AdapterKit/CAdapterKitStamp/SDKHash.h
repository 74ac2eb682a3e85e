// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "19dadd356e7e7763b7ee6e085121f2d407b1b7b44ecf248e501c7d5b5118ea74"
