// The stamp that every plugin carries and the host compares with its own before it loads the plugin.
//
// Host and plugin share Swift types whose layout is fixed when they are compiled. The same AdapterKit version with
// another struct layout, or code of another compiler, crashes on the first call; so the stamp names all three: the
// version, the sources, the compiler.
//
// It is C because its bytes must stand in the file as they are: a section of constant data, found without relocations
// and without running anything. It is `static`, so it is compiled into every library that includes it: the stamp of a
// plugin states what it was compiled against, not what it was loaded beside.
//
// Format: 256 bytes, four texts of ASCII, each filled up with zeros and with one zero at least (but for the magic).
#ifndef ADAPTERKIT_STAMP_H
#define ADAPTERKIT_STAMP_H

#include "SDKHash.h"

#define ADAPTERKIT_SDK_VERSION "1.0.0"

typedef struct AdapterKitStamp {
    char magic[16];
    char sdkVersion[16];
    char sdkHash[72];
    char compiler[152];
} AdapterKitStamp;

_Static_assert(sizeof(AdapterKitStamp) == 256, "the stamp's layout is read from files");
_Static_assert(sizeof(ADAPTERKIT_SDK_VERSION) <= 16, "the version does not fit into the stamp");
_Static_assert(sizeof(ADAPTERKIT_SDK_HASH) <= 72, "the hash does not fit into the stamp");
_Static_assert(sizeof(__VERSION__) <= 152, "the compiler's version does not fit into the stamp");

// Not named like a C function: a section that is makes Swift 6.3.1 write an object without relocations at -Onone.
__attribute__((used, section(".adapterkit.stamp"))) static const AdapterKitStamp adapterKitStampData = {
    "AdapterKit-Stamp", ADAPTERKIT_SDK_VERSION, ADAPTERKIT_SDK_HASH, __VERSION__,
};

/// The stamp of the code that calls this function.
static inline const AdapterKitStamp *_Nonnull adapterKitStamp(void) { return &adapterKitStampData; }

#endif
