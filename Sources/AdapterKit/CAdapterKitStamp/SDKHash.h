// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "e8b396e55a5a2da46bae14bf19b305d80d10a858311ff4027b58f162d8e9c6ad"
