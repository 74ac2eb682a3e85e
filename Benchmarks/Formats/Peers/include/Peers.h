// What the peers are asked to do, as C functions. Each works on one document, returns a number that depends on the
// whole work (so that none of it can be optimised away), and 0 where the peer failed.
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// simdjson: its DOM, with one parser for all documents, as its documentation advises. `capacity` bytes may be read.
void *peer_simdjson_make(void);
void peer_simdjson_free(void *parser);
size_t peer_simdjson_parse(void *parser, const uint8_t *json, size_t count, size_t capacity);

// RapidJSON: its DOM with default flags, a new document for each text.
size_t peer_rapidjson_parse(const uint8_t *json, size_t count);

// libplist: trees and both encodings.
void *peer_plist_tree(const uint8_t *bplist, size_t count);
void peer_plist_free(void *tree);
size_t peer_plist_to_xml(void *tree);
size_t peer_plist_to_binary(void *tree);
size_t peer_plist_from_xml(const uint8_t *xml, size_t count);
size_t peer_plist_from_binary(const uint8_t *bplist, size_t count);

// RapidJSON's DOM walked into a libplist tree, written as a binary property list.
size_t peer_json_to_binary(const uint8_t *json, size_t count);

// libxml2: SAX2 with namespaces, handlers that count and measure what they get.
size_t peer_libxml_events(const uint8_t *xml, size_t count);

#ifdef __cplusplus
}
#endif
