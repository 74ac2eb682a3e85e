// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "71e78f330a7014be89ed23b67e2f02356e7f29ad0d24530da4218762fef1eb6e"
