// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "b95f7ab299ce02937ab600f8a494830842a038909a91803e861d21988380a179"
