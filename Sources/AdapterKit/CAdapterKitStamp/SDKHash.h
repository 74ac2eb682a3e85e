// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "c327da96dd5573d6c92eeb6aef34b58b0d4f41c079920cd2eb53886ee7e52754"
