// What the room XMLSchema and its tests (canonical form) need of libxml2.
#include <libxml/parser.h>
#include <libxml/parserInternals.h>
#include <libxml/c14n.h>
#include <libxml/tree.h>
#include <libxml/xmlerror.h>
#include <libxml/xmlschemas.h>
