// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "ffb33e434bf3d992ed7d110be0f6f460d5ac4ac01d87e1c3c4b029c4f39522d4"
