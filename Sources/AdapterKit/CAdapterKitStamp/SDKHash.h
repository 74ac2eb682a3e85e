// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "58ce32ec38e738407707e8633cd41dce37d068526b534aafd4ecaf8dda632100"
