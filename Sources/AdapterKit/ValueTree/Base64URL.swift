/// Base64 for addresses and tokens (RFC 4648, section 5), without padding.
public enum Base64URL {
    public static func encode(_ bytes: some RandomAccessCollection<UInt8>) -> String {
        let letters = Base64.encode(bytes).compactMap { byte -> UInt8? in
            switch byte {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            case UInt8(ascii: "="): nil
            default: byte
            }
        }
        return String(decoding: letters, as: UTF8.self)
    }

    /// Nil for any character outside the alphabet, for padding, for unused bits that are set and for a length that no
    /// bytes have.
    public static func decode(_ text: String) -> [UInt8]? {
        text.utf8.contains { "+/=".utf8.contains($0) } ? nil : decode(lenient: text)
    }

    /// Takes the standard alphabet and padding too, which clients send.
    public static func decode(lenient text: String) -> [UInt8]? {
        var standard = text.utf8.map { byte in
            switch byte {
            case UInt8(ascii: "-"): UInt8(ascii: "+")
            case UInt8(ascii: "_"): UInt8(ascii: "/")
            default: byte
            }
        }
        while standard.count % 4 != 0 { standard.append(UInt8(ascii: "=")) }
        return Base64.decode(standard)
    }
}
