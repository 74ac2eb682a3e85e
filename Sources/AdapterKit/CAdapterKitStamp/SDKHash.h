// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "35ad1d97260bc4f997c4ccf303405ae5ba1727b94f9b0ed61329a2f68bc8dadd"
