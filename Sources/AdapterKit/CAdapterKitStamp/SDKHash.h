// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "d57a752a098d2b9e69871d27b2380e3a32825552aadec0191669522862b59bfc"
