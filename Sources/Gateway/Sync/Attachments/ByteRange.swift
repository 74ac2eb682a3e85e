import AdapterKit

/// `Range: bytes=first-last` (RFC 9110, section 14.2): one range; more than one is answered with the whole.
struct ByteRange: Equatable {
    let first: Int64
    /// Included.
    let last: Int64

    enum Finding: Equatable {
        case whole
        case part(ByteRange)
        case unsatisfiable
    }

    static func find(_ field: String?, size: Int64) -> Finding {
        guard let field, field.hasPrefix("bytes="), !field.contains(",") else { return .whole }
        let (first, last) = String(field.dropFirst("bytes=".utf8.count)).splitOnce(at: "-")
        guard let last else { return .whole }
        if first.isEmpty {
            guard let count = Int64(last) else { return .whole }
            return count > 0 && size > 0
                ? .part(ByteRange(first: max(0, size - count), last: size - 1)) : .unsatisfiable
        }
        guard let from = Int64(first), last.isEmpty || Int64(last) != nil else { return .whole }
        let to = min(Int64(last) ?? size - 1, size - 1)
        guard from < size else { return .unsatisfiable }
        return to >= from ? .part(ByteRange(first: from, last: to)) : .whole
    }
}

/// `Content-Range: bytes first-last/total` of a piece that is sent, or `bytes */total` of none (section 14.4).
struct SentRange: Equatable {
    /// Nil: only asks how much is there.
    let first: Int64?
    let total: Int64

    /// Throws `request.malformed`; without the field the body is the whole.
    init(_ field: String?, count: Int) throws(PorticoError) {
        guard let field else {
            (first, total) = (0, Int64(count))
            return
        }
        let (range, size) = String(field.dropFirst("bytes ".utf8.count)).splitOnce(at: "/")
        guard field.hasPrefix("bytes "), let total = size.flatMap({ Int64($0) }), total >= 0 else {
            throw Self.malformed
        }
        self.total = total
        guard range != "*" else {
            first = nil
            return
        }
        let (from, to) = String(range).splitOnce(at: "-")
        guard let from = Int64(from), let to = to.flatMap({ Int64($0) }), from >= 0, from <= to, to < total,
            to - from == Int64(count) - 1
        else { throw Self.malformed }
        first = from
    }

    private static let malformed = PorticoError(
        .requestMalformed, "The range is not well-formed, or not that of the body.", target: "Content-Range")
}
