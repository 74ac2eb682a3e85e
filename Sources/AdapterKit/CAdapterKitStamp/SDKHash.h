// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "cbbbc7c4c3b97e68de33fdf3096f1551221a59bee018c6f9fcc8b118458bea3d"
