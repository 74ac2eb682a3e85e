// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "f524e8bae340d4393932e8d0136fab1579b9321b8812a680e526709a54770708"
