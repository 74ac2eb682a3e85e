// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "f8e749d5b665fa3ca493bcb88e3c5cbf5710172297395c3295c5c7531c2ad6a6"
