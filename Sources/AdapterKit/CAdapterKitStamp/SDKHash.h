// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "b12456d54c8e98257ef1920bc6b1cab6ae52a54dbd32c2fe92b47850629e0bfd"
