// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "51be03dbb1d5c8fb1420dcde00d0319bd49f5e8023c4a5087ee5b2a1d013ae6e"
