// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "6c1ec8fe00d58654a838696078eab6639e84485096a2cb87b8b85c4b5b1c384a"
