// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "6bda75e2f9a815138e38135f45b1f6e8f5c919246c200b8a4b8da74be1e3d8a4"
