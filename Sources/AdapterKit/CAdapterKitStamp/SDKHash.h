// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "775c39cc53bd9eab4efb53294a3dd668c4f3e3522a27e6f09db6bc4db3ce1ba6"
