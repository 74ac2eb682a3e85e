import CZlib

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
