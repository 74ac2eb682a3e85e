import NIOCore

/// As much of a request's head as tells that it can be refused unread: where it goes, and that it is its connection's last.
///
/// It decides nothing but whether to refuse. Whatever is odd about a head is for the decoder and ``RequestHeadValidation`` to say.
struct RequestHeadPeek {
    let path: String

    /// Nil for a head that is not whole, that reads otherwise than is expected, or whose connection is to stay.
    init?(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes[...]
        guard let line = Self.nextLine(&rest), let (path, endsByVersion) = Self.target(of: line) else { return nil }
        var ends = endsByVersion
        while let line = Self.nextLine(&rest) {
            guard !line.isEmpty else {
                guard ends else { return nil }
                self.path = path
                return
            }
            if let value = Self.value(of: "connection", line) {
                guard value.isEqualCaseInsensitive("close") else { return nil }
                ends = true
            }
        }
        return nil
    }

    /// Without its end, which has been taken off `rest` too.
    private static func nextLine(_ rest: inout Slice<UnsafeRawBufferPointer>) -> Slice<UnsafeRawBufferPointer>? {
        guard let end = rest.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        let line = rest[rest.startIndex..<end]
        rest = rest[(end + 1)...]
        return line.last == UInt8(ascii: "\r") ? line.dropLast() : nil
    }

    private static func target(of line: Slice<UnsafeRawBufferPointer>) -> (path: String, ends: Bool)? {
        let words = line.split(separator: UInt8(ascii: " "), maxSplits: 3, omittingEmptySubsequences: false)
        guard words.count == 3, words[1].first == UInt8(ascii: "/") else { return nil }
        switch String(decoding: words[2], as: UTF8.self) {
        case "HTTP/1.1": return (String(decoding: words[1], as: UTF8.self), false)
        case "HTTP/1.0": return (String(decoding: words[1], as: UTF8.self), true)
        default: return nil
        }
    }

    private static func value(of name: StaticString, _ line: Slice<UnsafeRawBufferPointer>) -> String? {
        let length = name.utf8CodeUnitCount
        guard line.count > length, line[line.startIndex + length] == UInt8(ascii: ":"),
            String(decoding: line.prefix(length), as: UTF8.self).isEqualCaseInsensitive(name)
        else { return nil }
        return String(Substring(decoding: line.dropFirst(length + 1), as: UTF8.self).trimmingSpaces())
    }
}
