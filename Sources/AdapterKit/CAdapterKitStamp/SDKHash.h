// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "643c68eac9c5c658109016e80d89b443bc638636b29792aa9b270bc4d708362a"
