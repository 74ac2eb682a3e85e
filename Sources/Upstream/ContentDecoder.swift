import CZlib
import NIOCore

/// Takes a body out of its content coding (RFC 9110, section 8.4.1), in pieces of at most ``pieceBytes`` each, so that
/// a small body that expands to a huge one is never in memory.
struct ContentDecoder {
    enum Failure: Error {
        /// The coding is not one that was asked for.
        case unknownCoding(String)
        /// The bytes are not of the coding, or end within it.
        case malformed
    }

    static let pieceBytes = 64 << 10

    private let inflater: Inflater?
    private var input = ByteBuffer()

    /// `coding`: of `Content-Encoding`; nil or `identity`: none.
    init(_ coding: String?) throws(Failure) {
        switch coding?.lowercased() {
        case nil, "", "identity": inflater = nil
        case "gzip", "x-gzip": inflater = Inflater(isGzip: true)
        case "deflate": inflater = Inflater(isGzip: false)
        default: throw .unknownCoding(coding ?? "")
        }
    }

    /// Whether the fields `Content-Encoding` and `Content-Length` still describe the bytes.
    var isIdentity: Bool { inflater == nil }

    mutating func add(_ bytes: ByteBuffer) {
        input = bytes
    }

    /// The next piece of what was added; nil: more has to be added.
    mutating func next() throws(Failure) -> [UInt8]? {
        guard let inflater else {
            guard input.readableBytes > 0 else { return nil }
            return input.readBytes(length: min(input.readableBytes, Self.pieceBytes))
        }
        return try inflater.next(&input)
    }

    /// Nothing more comes.
    func end() throws(Failure) {
        if let inflater, !inflater.isComplete { throw .malformed }
    }
}

/// zlib's inflating, a piece at a time. Members of a gzip file follow each other (RFC 1952, section 2.2); `deflate` is
/// the zlib format, and the bare one that some servers send instead.
private final class Inflater {
    private var stream = z_stream()
    private let isGzip: Bool
    private var isStarted = false
    private var isAtEnd = false
    private var hasOutputLeft = false

    init(isGzip: Bool) {
        self.isGzip = isGzip
    }

    deinit {
        if isStarted { inflateEnd(&stream) }
    }

    /// An empty body is complete too.
    var isComplete: Bool { isAtEnd || !isStarted }

    func next(_ input: inout ByteBuffer) throws(ContentDecoder.Failure) -> [UInt8]? {
        while input.readableBytes > 0 || hasOutputLeft {
            if isAtEnd {
                guard isGzip, inflateReset(&stream) == Z_OK else { throw .malformed }
                isAtEnd = false
            }
            try start(input)
            var output = [UInt8](repeating: 0, count: ContentDecoder.pieceBytes)
            let status = run(&input, &output)
            hasOutputLeft = stream.avail_out == 0
            switch status {
            case Z_OK: break
            case Z_STREAM_END:
                isAtEnd = true
                hasOutputLeft = false
            // Neither input nor output was possible: more has to come.
            case Z_BUF_ERROR: hasOutputLeft = false
            default: throw .malformed
            }
            let count = output.count - Int(stream.avail_out)
            if count > 0 { return Array(output.prefix(count)) }
            if status == Z_BUF_ERROR { return nil }
        }
        return nil
    }

    private func start(_ input: ByteBuffer) throws(ContentDecoder.Failure) {
        guard !isStarted else { return }
        // 15: the largest window; 16 more: gzip; below zero: no header.
        var windowBits: Int32 = isGzip ? 31 : 15
        if !isGzip, let first = input.getInteger(at: input.readerIndex, as: UInt8.self), first & 0x0F != 8 {
            windowBits = -15
        }
        guard portico_inflate_init(&stream, windowBits) == Z_OK else { throw .malformed }
        isStarted = true
    }

    private func run(_ input: inout ByteBuffer, _ output: inout [UInt8]) -> Int32 {
        let (status, consumed) = input.withUnsafeReadableBytes { bytes in
            output.withUnsafeMutableBufferPointer { target in
                // zlib does not write to its input.
                let start = bytes.bindMemory(to: UInt8.self).baseAddress
                stream.next_in = UnsafeMutablePointer(mutating: start)
                stream.avail_in = UInt32(clamping: bytes.count)
                stream.next_out = target.baseAddress
                stream.avail_out = UInt32(clamping: target.count)
                let offered = stream.avail_in
                let status = inflate(&stream, Z_NO_FLUSH)
                return (status, Int(offered - stream.avail_in))
            }
        }
        input.moveReaderIndex(forwardBy: min(consumed, input.readableBytes))
        return status
    }
}
