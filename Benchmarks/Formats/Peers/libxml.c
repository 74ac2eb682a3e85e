#include "Peers.h"

#include <libxml/parser.h>
#include <string.h>

static void started(
    void *events, const xmlChar *name, const xmlChar *prefix, const xmlChar *namespace, int namespaces,
    const xmlChar **declared, int attributes, int defaulted, const xmlChar **values) {
    (void)prefix, (void)namespace, (void)namespaces, (void)declared, (void)defaulted, (void)values;
    *(size_t *)events += 1 + (size_t)attributes + name[0];
}

static void ended(void *events, const xmlChar *name, const xmlChar *prefix, const xmlChar *namespace) {
    (void)name, (void)prefix, (void)namespace;
    *(size_t *)events += 1;
}

static void characters(void *events, const xmlChar *text, int count) {
    (void)text;
    *(size_t *)events += (size_t)count;
}

size_t peer_libxml_events(const uint8_t *xml, size_t count) {
    xmlSAXHandler handler;
    memset(&handler, 0, sizeof handler);
    handler.initialized = XML_SAX2_MAGIC;
    handler.startElementNs = started;
    handler.endElementNs = ended;
    handler.characters = characters;
    handler.ignorableWhitespace = characters;
    size_t events = 0;
    return xmlSAXUserParseMemory(&handler, &events, (const char *)xml, (int)count) == 0 ? events : 0;
}
