// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "a0b770fd2b4fae0bf694ce92b8b8ca2af1f4d5be9815f13d7f971985a13b42ec"
