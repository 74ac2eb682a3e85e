// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "f49517f356033a4997b70fdb8522283a3b918cef62fa4d99c3aa26d8d3fee04d"
