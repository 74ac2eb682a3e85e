// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "d39303472982db4050a2070c6a6a9315ffe353bcac15d9b798dec650c4d3c4c4"
