// Written by stamp.sh; do not edit. On a merge conflict here, run it again.
#define ADAPTERKIT_SDK_HASH "974d0d8e75a398e87b3bda9fd49952ee5329130e1bd9e617fd2a650bddedba8f"
