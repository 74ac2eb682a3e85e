// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "295766cee768ff24cae1c83119747f60ae9133328e4f024f78a70e2db6b8ca7f"
