// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "714833b8816a3006cc03f2bf328ec3fc7bca0bea11669fbd7a33010f99b35be2"
