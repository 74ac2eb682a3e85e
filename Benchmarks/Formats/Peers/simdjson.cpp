#include "Peers.h"

#include <simdjson.h>

extern "C" void *peer_simdjson_make(void) { return new simdjson::dom::parser; }

extern "C" void peer_simdjson_free(void *parser) { delete static_cast<simdjson::dom::parser *>(parser); }

extern "C" size_t peer_simdjson_parse(void *parser, const uint8_t *json, size_t count, size_t capacity) {
    if (capacity < count + simdjson::SIMDJSON_PADDING) return 0;
    simdjson::dom::element root;
    auto *dom = static_cast<simdjson::dom::parser *>(parser);
    if (dom->parse(json, count, /* realloc_if_needed */ false).get(root)) return 0;
    return 1 + static_cast<size_t>(root.type());
}
