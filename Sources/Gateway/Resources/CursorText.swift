import AdapterKit
import ValueTree
import WireFormats

/// A cursor as callers carry it: opaque, URL-safe, bound to the order it belongs to.
///
/// Format: base64url of CBOR `[order fingerprint, [values]]`. It needs no signature: a forged one only asks for another
/// place in rows that the caller may read anyway.
enum CursorText {
    static func encode(_ cursor: Cursor, for query: Query) throws -> String {
        let value = WireValue.array([.string(fingerprint(query)), .array(cursor.values)])
        return URLSafeBase64.encode(try CBORFormat().write(value))
    }

    static func decode(_ text: String, for query: Query) throws(PorticoError) -> Cursor {
        guard let bytes = URLSafeBase64.decode(text),
            let parts = try? CBORFormat().read(bytes, limits: ReadingLimits(depth: 8, values: 64)).arrayValue,
            parts.count == 2, parts[0] == .string(fingerprint(query)), let values = parts[1].arrayValue,
            values.count == query.order.count + 1
        else { throw PorticoError(.cursorInvalid, "The cursor does not belong to this list.", target: "cursor") }
        return Cursor(values: values)
    }

    private static func fingerprint(_ query: Query) -> String {
        query.order.map { ($0.isDescending ? "-" : "") + $0.field.text }.joined(separator: ",")
    }
}

/// RFC 4648, section 5, without padding.
enum URLSafeBase64 {
    static func encode(_ bytes: [UInt8]) -> String {
        let translated = Base64.encode(bytes).compactMap { byte -> UInt8? in
            switch byte {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            case UInt8(ascii: "="): nil
            default: byte
            }
        }
        return String(decoding: translated, as: UTF8.self)
    }

    static func decode(_ text: String) -> [UInt8]? {
        var translated: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "-"): translated.append(UInt8(ascii: "+"))
            case UInt8(ascii: "_"): translated.append(UInt8(ascii: "/"))
            case UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="): return nil
            default: translated.append(byte)
            }
        }
        while translated.count % 4 != 0 { translated.append(UInt8(ascii: "=")) }
        return Base64.decode(translated)
    }
}
