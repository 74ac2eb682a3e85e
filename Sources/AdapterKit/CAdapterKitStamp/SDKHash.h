// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "82d752de88c3212cfb5013fb1359f13d3ddbbf019e10f3133d46764620c174ba"
