// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "1a8154db9222cde039b7e39923cd92456e9ca1ec53ae679371dea1c30cc04edb"
