// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "1bd42920403db0e18834af3c82d6d2ee1aedbe8fabd59a5ad16e72722dda73fa"
