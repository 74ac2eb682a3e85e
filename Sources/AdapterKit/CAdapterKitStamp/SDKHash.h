// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "ee0a914f61393e64544c630e9dbb878baf9dfce029ecb9b588928a11c1d693fb"
