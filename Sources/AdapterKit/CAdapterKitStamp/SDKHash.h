// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "fc3b7ff9eeb3b5ebc9d298f19d96ed5b6770bf90b5490c61281553d6f226e648"
