// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "35d2ff5ef504efb0c0356c491a00f67e309e29aa433d2f8abaea93d00a2891b0"
