import AdapterKit
import CZlib

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

        /// Adds a piece; what it returns can be expanded to everything added so far. Nil ends it.
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
        func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        guard let start = utf8.firstIndex(where: { !isSpace($0) }),
            let last = utf8.lastIndex(where: { !isSpace($0) })
        else { return self[endIndex...] }
        return self[start..<utf8.index(after: last)]
    }
}

/// zlib over whole buffers. The system's zlib and not a package: the packages that wrap it only offer channel handlers,
/// which cannot serve batches and cached answers.
enum Deflate {
    enum Container: Int32, Sendable {
        /// RFC 1952
        case gzip = 31
        /// RFC 1950, which HTTP calls deflate
        case zlib = 15
    }

    enum Failure: Error, Equatable {
        case malformed
        /// More than `limit` bytes would come out.
        case tooLarge
    }

    private static let chunk = 64 << 10
    /// Members that one gzip body may consist of.
    static let memberLimit = 1_024

    static func compress(_ bytes: [UInt8], as container: Container, level: Int32 = 5) -> [UInt8]? {
        var stream = z_stream()
        guard portico_deflate_init(&stream, level, container.rawValue) == Z_OK else { return nil }
        defer { deflateEnd(&stream) }
        var input = bytes
        var output = [UInt8](repeating: 0, count: Int(deflateBound(&stream, UInt(bytes.count))))
        let status = run(&stream, &input, from: 0, &output) { deflate($0, Z_FINISH) }
        guard status == Z_STREAM_END else { return nil }
        // Cannot trap: what is free of the output is no more than the output.
        output.removeLast(Int(stream.avail_out))
        return output
    }

    /// Complete streams and nothing behind them: of gzip up to ``memberLimit`` members (RFC 1952, section 2.2), of zlib one.
    static func expand(_ bytes: [UInt8], from container: Container, limit: Int) throws(Failure) -> [UInt8] {
        var stream = z_stream()
        guard portico_inflate_init(&stream, container.rawValue) == Z_OK else { throw .malformed }
        defer { inflateEnd(&stream) }
        var input = bytes
        var output = [UInt8](repeating: 0, count: chunk)
        var expanded: [UInt8] = []
        var (consumed, members) = (0, 0)
        while true {
            let status = run(&stream, &input, from: consumed, &output) { inflate($0, Z_NO_FLUSH) }
            consumed = bytes.count - Int(stream.avail_in)
            expanded += output.prefix(chunk - Int(stream.avail_out))
            guard expanded.count <= limit else { throw .tooLarge }
            if status == Z_STREAM_END {
                members += 1
                guard consumed < bytes.count else { return expanded }
                guard container == .gzip, members < memberLimit, inflateReset(&stream) == Z_OK else {
                    throw .malformed
                }
                continue
            }
            guard status == Z_OK, stream.avail_out == 0 || stream.avail_in > 0 else { throw .malformed }
        }
    }

    /// One step over the given buffers, which are valid for its time only. zlib does not change the input.
    private static func run(
        _ stream: inout z_stream, _ input: inout [UInt8], from start: Int, _ output: inout [UInt8],
        _ step: (UnsafeMutablePointer<z_stream>) -> Int32
    ) -> Int32 {
        input.withUnsafeMutableBufferPointer { source in
            output.withUnsafeMutableBufferPointer { target in
                stream.next_in = source.baseAddress.map { $0 + start }
                stream.avail_in = UInt32(source.count - start)
                stream.next_out = target.baseAddress
                stream.avail_out = UInt32(target.count)
                return step(&stream)
            }
        }
    }
}

/// zlib over a body that comes piece by piece. One caller at a time.
final class DeflateStream {
    private let stream: UnsafeMutablePointer<z_stream>

    /// Nil where there is no memory for it.
    init?(_ container: Deflate.Container, level: Int32 = 5) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        guard portico_deflate_init(stream, level, container.rawValue) == Z_OK else {
            stream.deallocate()
            return nil
        }
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
    }

    /// Everything that was added so far can be read from what was returned so far.
    func add(_ bytes: [UInt8], isLast: Bool) throws(Deflate.Failure) -> [UInt8] {
        var (input, output) = (bytes, [UInt8]())
        let status = input.withUnsafeMutableBufferPointer { source in
            stream.pointee.next_in = source.baseAddress
            stream.pointee.avail_in = UInt32(source.count)
            return run(isLast ? Z_FINISH : Z_SYNC_FLUSH, into: &output)
        }
        guard status == (isLast ? Z_STREAM_END : Z_OK) || status == Z_BUF_ERROR else { throw .malformed }
        return output
    }

    private func run(_ flush: Int32, into output: inout [UInt8]) -> Int32 {
        var status = Z_OK
        repeat {
            var chunk = [UInt8](repeating: 0, count: Self.chunk)
            let left = chunk.withUnsafeMutableBufferPointer { target in
                stream.pointee.next_out = target.baseAddress
                stream.pointee.avail_out = UInt32(target.count)
                status = deflate(stream, flush)
                return Int(stream.pointee.avail_out)
            }
            output += chunk.dropLast(left)
        } while stream.pointee.avail_out == 0 && status == Z_OK
        return status
    }

    private static let chunk = 32 << 10
}
