// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "b60d356c8d42b38acaff68afab61bb55dab0d28dd5bdbb361d07376a57d2827e"
