// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "4ae398c394aa320d01088b7467409e59aa0479b3f4986f3b6bc0b08ac2d694dd"
