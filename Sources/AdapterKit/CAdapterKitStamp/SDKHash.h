// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "95c997b705073eeaa7cd0d0dcb4b7b9aaa91bdecd127613e32c005fcf7806dca"
