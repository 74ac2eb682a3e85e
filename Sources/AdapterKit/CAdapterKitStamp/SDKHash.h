// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "993bb39304185a1424263a2dfcf230902ab674084234d4bcffa4d0886a87db4e"
