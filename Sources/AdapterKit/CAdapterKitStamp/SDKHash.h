// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "520a6ba708eaf2d094be3161e8cfa8f9a4a2b3591b813ca7e67318fec44a581c"
