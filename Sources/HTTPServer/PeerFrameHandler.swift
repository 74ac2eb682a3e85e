import NIOCore

/// Stands before NIOHTTP2 and does six things that it cannot be configured to do.
///
/// - It cuts off peers that send too many frames which ask for nothing (``PeerFrameBudget``).
/// - It announces ``GatewayLimits/head`` as `SETTINGS_MAX_HEADER_LIST_SIZE`, though more is unpacked
///   (``RequestHead``): NIOHTTP2 announces what it unpacks.
/// - It announces fewer streams than NIOHTTP2 accepts: NIOHTTP2 ends the connection with the first one too many, and
///   ``HTTP2ConnectionHandler`` ends only that stream.
/// - It lets our settings hold from the beginning. NIOHTTP2 would unpack 16 KiB only until the peer has acknowledged
///   more, and a peer may send its first request before. So NIOHTTP2 reads an acknowledgement right behind the peer's
///   settings, and the peer's own is left out.
/// - It limits the table by which the fields of responses are compressed (``headerTable``): NIOHTTP2 makes it as large as
///   the peer allows.
/// - It joins what is written before one flush, since each write becomes a record of TLS, and NIOHTTP2 writes a frame's head
///   and its payload by themselves.
final class PeerFrameHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    /// Bytes of that table: as many as without a setting of the peer (RFC 9113, section 6.5.2). A peer may ask for fewer,
    /// and for more without effect (RFC 7541, section 4.2).
    static let headerTable: UInt32 = 4_096
    /// Bytes of a record of TLS (RFC 8446, section 5.1).
    private static let longestJoined = 1 << 14
    private static let enhanceYourCalm: UInt32 = 0xB

    private enum Settings {
        case awaited
        /// Ours were acknowledged in the peer's name.
        case acknowledged
        /// The peer has done so too.
        case settled
    }

    private let announcedHead: UInt32
    private let announcedStreams: UInt32
    private var scanner = FrameScanner()
    private var budget: PeerFrameBudget
    private var settings = Settings.awaited
    private var hasAnnounced = false
    private var lastStream: UInt32 = 0
    private var hasEnded = false
    /// Written and not passed on yet, and the promise for when it has left.
    private var joined: ByteBuffer?
    private var joinedPromise: EventLoopPromise<Void>?

    init(head: Int, streams: Int, since: NIODeadline) {
        budget = PeerFrameBudget(now: since)
        announcedHead = UInt32(clamping: head)
        announcedStreams = UInt32(clamping: streams)
    }

    /// On the connection's event loop.
    func streamRefused() { budget.streamRefused() }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !hasEnded else { return }
        let arrived = unwrapInboundIn(data)
        let now = context.eventLoop.now
        // Nil: what arrived is passed as it is.
        var passed: ByteBuffer?
        if !passesUnchanged {
            passed = context.channel.allocator.buffer(capacity: arrived.readableBytes + FrameScanner.headLength)
        }
        scanner.append(arrived)
        while let part = scanner.next() {
            switch part {
            case .bytes(let bytes): passed?.writeImmutableBuffer(bytes)
            case .head(let frame, let bytes):
                guard isWithinBudget(frame, now) else { return end(context) }
                if !isAcknowledgedTwice(frame) { passed?.writeImmutableBuffer(bytes) }
                if passed == nil, frame.type == FrameScanner.Frame.settings {
                    passed = arrived.getSlice(
                        at: arrived.readerIndex, length: arrived.readableBytes - scanner.rest.readableBytes)
                }
            case .settings(var values):
                values.changeSettings { $0 == .headerTable ? min($1, Self.headerTable) : $1 }
                passed?.writeImmutableBuffer(values)
            case .end(let frame):
                guard settings == .awaited, frame.type == FrameScanner.Frame.settings else { continue }
                settings = .acknowledged
                passed?.writeFrameHead(length: 0, type: FrameScanner.Frame.settings, flags: 1, stream: 0)
            }
        }
        if passesUnchanged { passed?.writeImmutableBuffer(scanner.rest) }
        scanner.release()
        let bytes = passed ?? arrived
        if bytes.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(bytes)) }
    }

    /// Nothing is left out or put in any more, and no settings have begun to arrive.
    private var passesUnchanged: Bool { settings == .settled && !scanner.isWithinSettings }

    private func isWithinBudget(_ frame: FrameScanner.Frame, _ now: NIODeadline) -> Bool {
        switch frame.type {
        case FrameScanner.Frame.headers:
            guard !budget.isExhausted else { return false }
            lastStream = max(lastStream, frame.stream)
            budget.requestArrived()
            return true
        case FrameScanner.Frame.data, FrameScanner.Frame.continuation: return true
        default: return budget.take(now: now)
        }
    }

    private func isAcknowledgedTwice(_ frame: FrameScanner.Frame) -> Bool {
        guard settings == .acknowledged, frame.isSettingsAcknowledgement else { return false }
        settings = .settled
        return true
    }

    private func end(_ context: ChannelHandlerContext) {
        hasEnded = true
        var frame = context.channel.allocator.buffer(capacity: FrameScanner.headLength + 8)
        frame.writeFrameHead(length: 8, type: FrameScanner.Frame.goAway, flags: 0, stream: 0)
        frame.writeInteger(lastStream)
        frame.writeInteger(Self.enhanceYourCalm)
        passJoined(context)
        context.writeAndFlush(wrapOutboundOut(.byteBuffer(frame)), promise: nil)
        context.close(promise: nil)
    }
}

/// Output of the connection.
extension PeerFrameHandler {
    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .byteBuffer(var frame) = unwrapOutboundIn(data) else { return context.write(data, promise: promise) }
        budget.noteSent(frame.readableBytes)
        if !hasAnnounced {
            hasAnnounced = true
            frame.changeSettings(behind: FrameScanner.headLength) { setting, value in
                switch setting {
                case .streams: announcedStreams
                case .fieldSectionSize: announcedHead
                case .headerTable: value
                }
            }
        }
        if let joined, joined.readableBytes + frame.readableBytes > Self.longestJoined { passJoined(context) }
        if joined == nil { joined = frame } else { joined?.writeImmutableBuffer(frame) }
        guard let promise else { return }
        if let joinedPromise { joinedPromise.futureResult.cascade(to: promise) } else { joinedPromise = promise }
    }

    private func passJoined(_ context: ChannelHandlerContext) {
        guard let bytes = joined else { return }
        let promise = joinedPromise
        (joined, joinedPromise) = (nil, nil)
        context.write(wrapOutboundOut(.byteBuffer(bytes)), promise: promise)
    }

    func flush(context: ChannelHandlerContext) {
        passJoined(context)
        context.flush()
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        passJoined(context)
        context.close(mode: mode, promise: promise)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        joinedPromise?.fail(ChannelError.ioOnClosedChannel)
        (joined, joinedPromise) = (nil, nil)
    }
}

@available(*, unavailable)
extension PeerFrameHandler: Sendable {}

extension ByteBuffer {
    fileprivate mutating func writeFrameHead(length: UInt16, type: UInt8, flags: UInt8, stream: UInt32) {
        writeInteger(UInt8(0))
        writeInteger(length)
        writeInteger(type)
        writeInteger(flags)
        writeInteger(stream)
    }

    /// Changes settings' values. Each setting is a name of two bytes and a value of four (RFC 9113, section 6.5.1); the
    /// first stands `offset` bytes behind the reader's index.
    fileprivate mutating func changeSettings(behind offset: Int = 0, _ change: (Setting, UInt32) -> UInt32) {
        for index in stride(from: readerIndex + offset, through: writerIndex - 6, by: 6) {
            guard let setting = getInteger(at: index, as: UInt16.self).flatMap(Setting.init),
                let value = getInteger(at: index + 2, as: UInt32.self)
            else { continue }
            setInteger(change(setting, value), at: index + 2)
        }
    }
}

/// By their numbers in RFC 9113, section 6.5.2.
private enum Setting: UInt16 {
    case headerTable = 0x1
    case streams = 0x3
    case fieldSectionSize = 0x6
}

/// The number of frames that a peer may send which ask for nothing: window updates, settings, pings, resets, unknown frames.
///
/// Each costs one; ``burst`` are there at first and at most. Time gives some back, and so does work: a request of the
/// peer, and bytes that it is sent, since a client that downloads opens windows. NIOHTTP2 counts some of these frames too and
/// more strictly, but neither window updates nor what it does not know.
struct PeerFrameBudget {
    static let burst = 1_000
    static let perSecond = 100
    static let perRequest = 8
    /// A download gives back one frame for so many bytes, and ``perWrite`` for every piece, however small.
    static let bytesPerFrame = 256
    static let perWrite = 2

    private var left = Double(burst)
    private var last: NIODeadline

    init(now: NIODeadline) {
        last = now
    }

    /// False where the peer has sent too many.
    mutating func take(now: NIODeadline) -> Bool {
        let passed = Double((now - last).nanoseconds) / 1e9
        last = now
        give(passed * Double(Self.perSecond))
        left -= 1
        return left >= 0
    }

    /// A stream beyond the limit costs its sender a frame, and gives back nothing as requests do.
    mutating func streamRefused() { left -= Double(Self.perRequest + 1) }

    var isExhausted: Bool { left < 0 }

    mutating func requestArrived() { give(Double(Self.perRequest)) }

    mutating func noteSent(_ bytes: Int) { give(Double(Self.perWrite) + Double(bytes) / Double(Self.bytesPerFrame)) }

    private mutating func give(_ frames: Double) { left = min(Double(Self.burst), left + frames) }
}

/// Finds where frames of HTTP/2 begin and end in the bytes of a connection (RFC 9113, section 4.1). It reads heads only.
struct FrameScanner {
    struct Frame: Equatable {
        static let data: UInt8 = 0x0
        static let headers: UInt8 = 0x1
        static let settings: UInt8 = 0x4
        static let goAway: UInt8 = 0x7
        static let continuation: UInt8 = 0x9

        let type: UInt8
        let flags: UInt8
        let stream: UInt32

        var isSettingsAcknowledgement: Bool { type == Self.settings && flags & 1 != 0 }
    }

    enum Part: Equatable {
        /// The connection's first bytes, or some of a payload of another frame than settings.
        case bytes(ByteBuffer)
        /// The head of a frame, whole, with its bytes.
        case head(Frame, ByteBuffer)
        /// The payload of a frame of settings, whole where its length is allowed.
        case settings(ByteBuffer)
        /// The last byte of a frame has been taken.
        case end(Frame)
    }

    static let headLength = 9
    private static let prefaceLength = 24
    /// Bytes of a frame, before we allow more (RFC 9113, section 6.5.2), which we do not.
    private static let longestPayload = 1 << 14

    private enum State {
        case preface(rest: Int)
        case head
        case payload(Frame, rest: Int)
    }

    private var state = State.preface(rest: prefaceLength)
    /// Arrived and not handed out: less than a head at the end of a call of ``next()``.
    private var buffer = ByteBuffer()

    mutating func append(_ bytes: ByteBuffer) {
        var bytes = bytes
        if buffer.readableBytes == 0 { buffer = bytes } else { buffer.writeBuffer(&bytes) }
    }

    /// Arrived and not handed out: the beginning of a frame's head, or of settings.
    var rest: ByteBuffer { buffer }

    /// Settings have begun to arrive and are not whole.
    var isWithinSettings: Bool {
        if case .payload(let frame, _) = state { frame.type == Frame.settings } else { false }
    }

    /// Lets go of bytes that were handed out, so that their next owner need not copy them.
    mutating func release() {
        if buffer.readableBytes == 0 { buffer = ByteBuffer() }
    }

    /// Nil where more bytes are needed.
    mutating func next() -> Part? {
        switch state {
        case .preface(let rest):
            guard let piece = take(rest) else { return nil }
            state = piece.readableBytes == rest ? .head : .preface(rest: rest - piece.readableBytes)
            return .bytes(piece)
        case .head: return nextHead()
        case .payload(let frame, 0):
            state = .head
            return .end(frame)
        case .payload(let frame, let rest):
            let isSettings = frame.type == Frame.settings
            guard !isSettings || buffer.readableBytes >= min(rest, Self.longestPayload), let piece = take(rest) else {
                return nil
            }
            state = .payload(frame, rest: rest - piece.readableBytes)
            return isSettings ? .settings(piece) : .bytes(piece)
        }
    }

    /// The bytes that are there of so many; nil: none.
    private mutating func take(_ count: Int) -> ByteBuffer? {
        guard buffer.readableBytes > 0 else { return nil }
        return buffer.readSlice(length: min(count, buffer.readableBytes))
    }

    private mutating func nextHead() -> Part? {
        var head = buffer
        guard buffer.readableBytes >= Self.headLength, let high = head.readInteger(as: UInt8.self),
            let low = head.readInteger(as: UInt16.self), let type = head.readInteger(as: UInt8.self),
            let flags = head.readInteger(as: UInt8.self), let stream = head.readInteger(as: UInt32.self),
            let bytes = buffer.readSlice(length: Self.headLength)
        else { return nil }
        let frame = Frame(type: type, flags: flags, stream: stream & 0x7FFF_FFFF)
        state = .payload(frame, rest: Int(high) << 16 | Int(low))
        return .head(frame, bytes)
    }
}
