// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "d55909c1752b818691c44cfa48c435ec66d5ecce843426580f6326ffb43f369f"
