// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "3c9d725c8cadb7888bc75f6e5e5bb68fc76ea24bdbfe72992457d16990ca4732"
