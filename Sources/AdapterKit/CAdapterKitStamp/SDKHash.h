// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "b24e5bede453d95e52e5e6b7459b53c54f0822b2e11f27e1388d4b883c07b1c2"
