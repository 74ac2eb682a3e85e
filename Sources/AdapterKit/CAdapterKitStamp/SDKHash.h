// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "27b856d2f73b57e64cc0be058ce4796b1d0a27fbad7cc6eb5050bc0566c823f0"
