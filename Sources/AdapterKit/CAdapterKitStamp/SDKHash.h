// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "0547a7cff60a74ec3526784ef88e2f9cec2283c7842a4903b7ac94aa779b7e8c"
