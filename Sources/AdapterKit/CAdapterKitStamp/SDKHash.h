// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "fb1b33dd080914e6478e5e6cd73bd84d310dcacd6e667b56fc3dda09585b2558"
