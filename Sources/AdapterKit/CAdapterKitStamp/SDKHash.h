// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "a9173ade451461bfa2db5b962dc00ef8d94ea05be686ee888d19a6c4ce5d4a9d"
