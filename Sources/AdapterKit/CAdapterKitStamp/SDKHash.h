// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "03500c9768c44db6b84aa4788e324dbdae1e821025b9a1faaa7f9b8f01a94a40"
