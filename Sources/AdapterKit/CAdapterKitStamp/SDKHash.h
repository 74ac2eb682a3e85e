// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "8ee26d3150398e1bbd4aba75b601aef532672d0d5b48f271c6430a35026a0046"
