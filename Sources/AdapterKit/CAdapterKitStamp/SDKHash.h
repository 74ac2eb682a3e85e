// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "56c825db6c299e7433df1b16ccba4037a3a18425e71984539efc7336b931097f"
