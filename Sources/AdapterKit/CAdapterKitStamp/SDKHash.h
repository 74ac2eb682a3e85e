// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "5ced037a7d1d95792a73c46aab6777531c53defaadaa7e31e06a580893cbdc28"
