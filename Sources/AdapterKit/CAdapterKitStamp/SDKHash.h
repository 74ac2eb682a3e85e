// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "4a1aea85d776067bbadb6a70571ab0885faf0edb6fa8aa75fba651902da17794"
