// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "a12975078ad4ce86f49a83384a01d56fbc44163e96d1104ad22cd196b4ca6838"
