import Glibc
import HTTPTypes
import NIOCore
import NIOHTTP1

/// The head of a request that its connection has sent before, byte by byte, with everything that was made of it then.
/// On the connection's event loop alone.
final class CachedRequestHead {
    let head: HTTPRequestHead
    let validatedHead: ValidatedHead
    /// Bytes of the body that follows it.
    let bodyLength: Int
    /// What the gateway read out of it, once it has.
    var reading: HeadReading?
    private let bytes: ByteBuffer

    /// `arrived`: what the decoder was given at the beginning of a message, and made this one head of. Nil where no body
    /// of a known length follows, where it may not be held, and where its lines are not simply one for each field.
    init?(_ head: HTTPRequestHead, _ validatedHead: ValidatedHead, leading arrived: ByteBuffer) {
        guard validatedHead.mayBeHeld, let length = Self.bodyLength(head),
            let bytes = Self.bytes(arrived, lines: head.headers.count + 2)
        else { return nil }
        self.head = head
        self.validatedHead = validatedHead
        self.bytes = bytes
        bodyLength = length
    }

    var length: Int { bytes.readableBytes }

    /// Whether `arrived` is this head and the whole of its body, and nothing else. Behind one proxy the credentials in it
    /// may be somebody else's, so how long this takes does not tell where the first difference is.
    func isWhole(_ arrived: ByteBuffer) -> Bool {
        guard arrived.readableBytes == length + bodyLength else { return false }
        return bytes.withUnsafeReadableBytes { known in
            arrived.withUnsafeReadableBytes { arrived in
                known.isSameInConstantTime(as: UnsafeRawBufferPointer(rebasing: arrived.prefix(known.count)))
            }
        }
    }

    /// Of what ``isWhole(_:)`` said yes to.
    func body(of arrived: ByteBuffer) -> ByteBuffer? {
        bodyLength == 0 ? nil : arrived.getSlice(at: arrived.readerIndex + length, length: bodyLength)
    }

    private static func bodyLength(_ head: HTTPRequestHead) -> Int? {
        guard let length = head.headers.first(name: "content-length") else { return 0 }
        return Int(length)
    }

    /// Up to the end of the empty line, copied: a slice would keep the whole of what it was cut from. A decoder lets empty
    /// lines before a head pass, and other decoders lines that go on in the next or end otherwise: such a head is nil.
    private static func bytes(_ arrived: ByteBuffer, lines: Int) -> ByteBuffer? {
        arrived.withUnsafeReadableBytes { arrived in
            guard let length = length(of: lines, in: arrived), length <= RepeatedHead.longest else { return nil }
            var bytes = ByteBufferAllocator().buffer(capacity: length)
            bytes.writeBytes(UnsafeRawBufferPointer(rebasing: arrived.prefix(length)))
            return bytes
        }
    }

    /// Nil where the last of the lines is not the first that is empty.
    private static func length(of lines: Int, in bytes: UnsafeRawBufferPointer) -> Int? {
        guard let base = bytes.baseAddress else { return nil }
        var start = 0
        for line in 1...lines {
            guard let found = memchr(base + start, Int32(UInt8(ascii: "\n")), bytes.count - start) else { return nil }
            let end = base.distance(to: UnsafeRawPointer(found))
            guard end > start, bytes[end - 1] == UInt8(ascii: "\r") else { return nil }
            let isEmpty = end == start + 1
            guard isEmpty == (line == lines) else { return nil }
            start = end + 1
        }
        return start
    }
}

/// What the gateway reads out of a head.
struct HeadReading {
    let said: RepeatedHead.Said
    let method: HTTPRequest.Method
    let target: RequestTarget
    let match: RouteMatch
}
