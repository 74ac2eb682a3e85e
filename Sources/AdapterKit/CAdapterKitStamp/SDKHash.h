// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "7b6dcc87835d69fe8664e305eff611bc36e6208436c252bcb7959c05227aeb31"
