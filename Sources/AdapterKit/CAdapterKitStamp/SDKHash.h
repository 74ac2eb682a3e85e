// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "6df087fca51856d709925fee8b50aeaa5bb1877223c371d095a34cd27bec87b0"
