import CZlib

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
