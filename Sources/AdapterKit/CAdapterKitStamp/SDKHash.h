// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "0421a1a7cfdba44780afe233047fd5e18e7a57a59bf968185292222d2cc1c1b1"
