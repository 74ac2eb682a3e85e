#include "Peers.h"

#include <plist/plist.h>
#include <stdlib.h>

void *peer_plist_tree(const uint8_t *bplist, size_t count) {
    plist_t tree = NULL;
    plist_from_bin((const char *)bplist, (uint32_t)count, &tree);
    return tree;
}

void peer_plist_free(void *tree) { plist_free(tree); }

size_t peer_plist_to_xml(void *tree) {
    char *text = NULL;
    uint32_t written = 0;
    plist_to_xml(tree, &text, &written);
    free(text);
    return written;
}

size_t peer_plist_to_binary(void *tree) {
    char *bytes = NULL;
    uint32_t written = 0;
    plist_to_bin(tree, &bytes, &written);
    free(bytes);
    return written;
}

static size_t taken(plist_t tree) {
    if (tree == NULL) return 0;
    size_t kind = 1 + (size_t)plist_get_node_type(tree);
    plist_free(tree);
    return kind;
}

size_t peer_plist_from_xml(const uint8_t *xml, size_t count) {
    plist_t tree = NULL;
    plist_from_xml((const char *)xml, (uint32_t)count, &tree);
    return taken(tree);
}

size_t peer_plist_from_binary(const uint8_t *bplist, size_t count) {
    return taken(peer_plist_tree(bplist, count));
}
