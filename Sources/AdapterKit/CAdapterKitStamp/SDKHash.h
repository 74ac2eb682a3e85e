// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "0a90450e3cdcdb605c9b83b6209fbe7e7c8fd42eedb724702e0d387d8ca8a9c4"
