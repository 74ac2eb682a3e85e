// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "8692f52aff93fcdd82e843d694f3d43e19aa9bfc538c6b9a933504181bc31720"
