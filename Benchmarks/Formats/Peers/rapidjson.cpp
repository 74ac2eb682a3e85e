#include "Peers.h"

#include <plist/plist.h>
#include <rapidjson/document.h>

#include <cstdlib>

namespace {

plist_t node_of(const rapidjson::Value &value) {
    switch (value.GetType()) {
    case rapidjson::kFalseType:
    case rapidjson::kTrueType: return plist_new_bool(value.IsTrue());
    case rapidjson::kNumberType:
        if (value.IsUint64()) return plist_new_uint(value.GetUint64());
        return plist_new_real(value.GetDouble());
    case rapidjson::kStringType: return plist_new_string(value.GetString());
    case rapidjson::kArrayType: {
        plist_t array = plist_new_array();
        for (const auto &item : value.GetArray()) plist_array_append_item(array, node_of(item));
        return array;
    }
    case rapidjson::kObjectType: {
        plist_t dictionary = plist_new_dict();
        for (const auto &member : value.GetObject())
            plist_dict_set_item(dictionary, member.name.GetString(), node_of(member.value));
        return dictionary;
    }
    case rapidjson::kNullType: break;
    }
    return plist_new_string("");
}

}  // namespace

extern "C" size_t peer_rapidjson_parse(const uint8_t *json, size_t count) {
    rapidjson::Document document;
    document.Parse(reinterpret_cast<const char *>(json), count);
    return document.HasParseError() ? 0 : 1 + document.GetType();
}

extern "C" size_t peer_json_to_binary(const uint8_t *json, size_t count) {
    rapidjson::Document document;
    document.Parse(reinterpret_cast<const char *>(json), count);
    if (document.HasParseError()) return 0;
    plist_t tree = node_of(document);
    size_t written = peer_plist_to_binary(tree);
    plist_free(tree);
    return written;
}
