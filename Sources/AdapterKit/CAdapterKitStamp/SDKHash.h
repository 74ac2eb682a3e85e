// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "eb8499c345e7c00c4dbde70e16ba31baef34c0a895dea6c1de8527682c9a5f96"
