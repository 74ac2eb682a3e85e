// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "c84782ef077cf5adb8c0ac50568db82d2af1b9ca376f97de25e6b466b91aaee7"
