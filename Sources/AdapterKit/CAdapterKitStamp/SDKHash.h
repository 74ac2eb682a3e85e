// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "bda1f7a3f4c55a6c70a2d1ac1b9be0660b00e7ceb355f553b21aa89664c745ec"
