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
        return Base64URL.encode(try CBORFormat().write(value))
    }

    static func decode(_ text: String, for query: Query) throws(PorticoError) -> Cursor {
        guard let bytes = Base64URL.decode(text),
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
