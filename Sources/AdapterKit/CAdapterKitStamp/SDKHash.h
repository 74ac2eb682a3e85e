// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "95985e1b4b3657c499243febebf466b05dc6b6bef7b205b0e9df295cc17014c2"
