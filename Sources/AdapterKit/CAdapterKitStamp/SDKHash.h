// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "00aee8d10e739b2333c26e8bea566cb9fd2ad75176fcb7db93ccfb306779b797"
