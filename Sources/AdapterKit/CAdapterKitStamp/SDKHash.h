// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "c3f614097265a4d32b51c48689ae1eb7d7c1be0f370afc8cc154ca322c1b5044"
