// zlib's initialisers are macros that Swift cannot see: these fix the version and the size that they pass along.
#include <zlib.h>

static inline int portico_inflate_init(z_streamp stream, int window_bits) {
    return inflateInit2(stream, window_bits);
}

static inline int portico_deflate_init(z_streamp stream, int level, int window_bits) {
    return deflateInit2(stream, level, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY);
}
