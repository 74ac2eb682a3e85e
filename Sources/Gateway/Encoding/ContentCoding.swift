import AdapterKit

/// Content codings (RFC 9110, section 8.4): gzip and deflate, both ways.
enum ContentCoding: String, Sendable {
    case gzip
    case deflate

    /// Answers below it are not worth compressing.
    static let minimumSize = 1_024

    private var container: Deflate.Container {
        switch self {
        case .gzip: .gzip
        case .deflate: .zlib
        }
    }

    /// For bodies that come piece by piece; nil where there is no memory for it.
    func stream() -> Stream? { DeflateStream(container).map { Stream(name: rawValue, deflate: $0) } }

    /// A body in this coding while it comes into being.
    struct Stream {
        /// As `Content-Encoding` has it.
        let name: String
        private let deflate: DeflateStream

        fileprivate init(name: String, deflate: DeflateStream) {
            self.name = name
            self.deflate = deflate
        }

        /// What can be expanded to everything added so far; nil ends it.
        func add(_ piece: [UInt8]?) throws -> [UInt8] { try deflate.add(piece ?? [], isLast: piece == nil) }
    }

    func encode(_ bytes: [UInt8]) -> [UInt8]? {
        Deflate.compress(bytes, as: container)
    }

    /// Takes off the codings of a body, the last applied first.
    static func decode(_ bytes: [UInt8], codings: String, limit: Int, expansion: Int) throws(PorticoError) -> [UInt8] {
        var bytes = bytes
        let names = codings.split(separator: ",").map { $0.trimmingSpaces().lowercased() }
        guard names.count <= 2 else { throw unsupported }
        for name in names.reversed() where name != "identity" {
            guard let coding = ContentCoding(rawValue: canonical(name)) else { throw unsupported }
            bytes = try coding.decode(bytes, limit: min(limit, max(bytes.count, 1) * expansion))
        }
        return bytes
    }

    /// RFC 9110, section 8.4.1.3.
    private static func canonical(_ name: String) -> String { name == "x-gzip" ? "gzip" : name }

    /// The coding with the greatest weight, gzip before deflate at equal weight; nil: `identity`, where the caller gives it
    /// a greater weight than both, or takes neither.
    static func negotiate(_ acceptEncoding: String?) -> ContentCoding? {
        guard let acceptEncoding else { return nil }
        var weights: [String: Double] = [:]
        for piece in acceptEncoding.split(separator: ",") {
            let parts = piece.split(separator: ";").map { $0.trimmingSpaces().lowercased() }
            guard let name = parts.first else { continue }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) }
            weights[canonical(name)] = weight ?? 1
        }
        let gzip = weights["gzip"] ?? weights["*"] ?? 0
        let deflate = weights["deflate"] ?? weights["*"] ?? 0
        let best = max(gzip, deflate)
        guard best > 0, best >= weights["identity"] ?? 0 else { return nil }
        return gzip >= deflate ? .gzip : .deflate
    }

    private func decode(_ bytes: [UInt8], limit: Int) throws(PorticoError) -> [UInt8] {
        do {
            return try Deflate.expand(bytes, from: container, limit: limit)
        } catch {
            switch error {
            case .malformed: throw PorticoError(.requestMalformed, "The body is not well-formed \(rawValue).")
            case .tooLarge: throw PorticoError(.requestTooLarge, "The body becomes larger than is accepted here.")
            }
        }
    }

    private static var unsupported: PorticoError {
        PorticoError(.unsupportedEncoding, "The body's content coding is not one of gzip, deflate.")
    }
}

extension Substring {
    func trimmingSpaces() -> Substring {
        var text = self.drop { $0 == " " || $0 == "\t" }
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return text
    }
}
