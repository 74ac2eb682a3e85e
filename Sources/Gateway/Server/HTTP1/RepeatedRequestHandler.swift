import Glibc
import HTTPTypes
import NIOCore
import NIOHTTP1

/// Skips the decoder for requests that begin with exactly the bytes of the connection's last head, as polling clients
/// send them.
///
/// A read is taken only where it is exactly one complete request and the decoder is at the beginning of a message
/// (``DecoderPosition``): the decoder and ``RequestHeadValidation`` would give the same result as before. Every other
/// read goes to the decoder. See docs/decisions/0215-skip-the-decoder-for-a-repeated-request-head.md.
final class RepeatedRequestHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let validation: RequestValidationHandler
    private let inside: BufferedRequestHandler
    private var position = DecoderPosition.messageStart
    private var known: CachedRequestHead?
    /// Whether this reading brought the decoder something.
    private var hasPassedOn = false

    init(validation: RequestValidationHandler, inside: BufferedRequestHandler) {
        self.validation = validation
        self.inside = inside
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        if position == .messageStart, let known, known.isWhole(bytes),
            validation.admit(known, body: known.body(of: bytes))
        {
            return
        }
        hasPassedOn = true
        validation.readingBegan(bytes)
        defer { validation.readingEnded() }
        guard position == .messageStart else {
            position.take(bytes.readableBytes)
            return context.fireChannelRead(data)
        }
        pass(bytes, context)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        guard !hasPassedOn else {
            hasPassedOn = false
            return context.fireChannelReadComplete()
        }
        inside.readingEnded()
        // The channel would ask every layer now whether they want more.
        if inside.wantsMore { context.read() }
    }

    /// Passes the beginning of a message to the decoder and remembers the head that ``RequestValidationHandler``
    /// accepts from it.
    private func pass(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
        position = .unknown
        let heads = validation.heads
        context.fireChannelRead(wrapInboundOut(bytes))
        guard let (head, validatedHead) = validation.takeAdmittedHead(), validation.heads == heads + 1,
            let known = CachedRequestHead(head, validatedHead, leading: bytes)
        else { return }
        self.known = known
        position = DecoderPosition(bodyLength: known.bodyLength, arrived: bytes.readableBytes - known.length)
    }
}

@available(*, unavailable)
extension RepeatedRequestHandler: Sendable {}

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
    /// may be another account's, so the time that this takes does not depend on where the first difference is.
    func isWhole(_ arrived: ByteBuffer) -> Bool {
        guard arrived.readableBytes == length + bodyLength else { return false }
        return bytes.withUnsafeReadableBytes { known in
            arrived.withUnsafeReadableBytes { arrived in
                known.isSameInConstantTime(as: UnsafeRawBufferPointer(rebasing: arrived.prefix(known.count)))
            }
        }
    }

    /// The body of a read for which ``isWhole(_:)`` is true.
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
    let parsed: RepeatedHead.ParsedFields
    let method: HTTPRequest.Method
    let target: RequestTarget
    let match: RouteMatch
}

/// The decoder's position within its messages, derived from the bytes that it was given. `messageStart` is certain; a
/// position that cannot be derived simply stays unknown for the life of the connection.
enum DecoderPosition: Equatable {
    case messageStart
    /// Within a body of which so many bytes are to come.
    case body(rest: Int)
    case unknown

    /// After one head with its body's length, and `arrived` bytes behind it.
    init(bodyLength: Int, arrived: Int) {
        self = .body(rest: bodyLength)
        take(arrived)
    }

    /// More bytes went into the decoder.
    mutating func take(_ bytes: Int) {
        switch self {
        case .body(let rest) where bytes < rest: self = .body(rest: rest - bytes)
        case .body(bytes): self = .messageStart
        default: self = .unknown
        }
    }
}

/// The head of a connection's last request, parsed. The next request mostly has the same fields, and polling clients
/// use the same target; HPACK's dynamic table relies on the same (RFC 7541, section 1).
///
/// Only the result of parsing is cached. Access is checked for every request.
struct RepeatedHead {
    /// What the fields tell, the address apart.
    final class ParsedFields {
        /// Without the host.
        let fields: HTTPFields
        let peer: String
        let origin: String

        init(fields: HTTPFields, peer: String, origin: String) {
            self.fields = fields
            self.peer = peer
            self.origin = origin
        }
    }

    /// Bytes of the fields. Longer ones are read anew: an idle connection holds what is remembered.
    static let longest = 4 << 10

    private var last: (headers: HTTPHeaders, parsed: ParsedFields)?
    private var lastTarget: RequestTarget?
    private var lastPlace: (method: HTTPRequest.Method, target: RequestTarget, match: RouteMatch)?

    /// The parsed fields of the last head, where these are the same.
    func repeated(by headers: HTTPHeaders) -> ParsedFields? {
        guard let last, Self.areSame(last.headers, headers) else { return nil }
        return last.parsed
    }

    mutating func remember(_ parsed: ParsedFields, of headers: HTTPHeaders) {
        last = Self.length(headers) <= Self.longest ? (headers, parsed) : nil
    }

    /// Nil where the address is not well-formed.
    mutating func target(of uri: String) -> RequestTarget? {
        if let lastTarget, lastTarget.text == uri { return lastTarget }
        let target = RequestTarget(uri)
        lastTarget = uri.utf8.count <= Self.longest ? target : nil
        return target
    }

    /// Where the address leads. A connection has one table of routes as long as it lasts.
    mutating func match(_ method: HTTPRequest.Method, _ target: RequestTarget, in routes: RouteTable) -> RouteMatch {
        if let lastPlace, lastPlace.target === target, lastPlace.method == method { return lastPlace.match }
        let match = routes.match(method, target.segments)
        lastPlace = lastTarget === target ? (method, target, match) : nil
        return match
    }

    /// Values may be credentials of several people behind one proxy, so all are compared, and whole.
    private static func areSame(_ left: HTTPHeaders, _ right: HTTPHeaders) -> Bool {
        guard left.count == right.count else { return false }
        var areSame = true
        for (left, right) in zip(left, right) {
            if left.name != right.name || !left.value.isSameInConstantTime(as: right.value) { areSame = false }
        }
        return areSame
    }

    private static func length(_ headers: HTTPHeaders) -> Int {
        headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
    }
}

extension HTTPFields {
    /// Nil where one has a name that is none.
    init?(withoutHost headers: HTTPHeaders) {
        self.init()
        reserveCapacity(headers.count)
        for (name, value) in headers where !name.isEqualCaseInsensitive("host") {
            // Cannot trap: the decoder counts the fields.
            guard let name = HTTPField.Name(name) else { return nil }
            append(HTTPField(name: name, value: value))
        }
    }
}
