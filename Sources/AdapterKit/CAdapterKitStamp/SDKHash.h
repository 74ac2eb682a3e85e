// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "32c28455e6bb7abeca7a20998bf4c383deb8e0e26bade4c3d3d94ca64f0d2f4e"
