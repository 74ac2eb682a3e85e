// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "dfaa09fca26bc274057241ee1040bba1af6568b872c61c3d607828a69589f4d5"
