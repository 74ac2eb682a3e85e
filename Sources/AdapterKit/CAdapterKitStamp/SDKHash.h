// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "1af5a2fe3b88a771df665fb350c19001f743b44c08f988aa6f980b45ef203305"
