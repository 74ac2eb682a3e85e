// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "d75b12bc312f06b172e4cc751909ceea067baa4f34631e8af287a5abffafb433"
