// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "42a626531a6b0ae32e4865938c4b1295bd2f663c56863548db397eec7cbb4d72"
