// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "79277c556b0deb1b91ecba2ae7be34990bf8894425b1c3ef7dc88d12312681be"
