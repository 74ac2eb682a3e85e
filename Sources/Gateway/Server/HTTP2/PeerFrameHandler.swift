import NIOCore

/// Stands before NIOHTTP2 and does four things that it cannot be configured to do.
///
/// - It cuts off peers that send too many frames which ask for nothing (``PeerFrameBudget``).
/// - It announces ``GatewayLimits/head`` as `SETTINGS_MAX_HEADER_LIST_SIZE`, though more is unpacked
///   (``FieldSectionLimits``): NIOHTTP2 announces what it unpacks.
/// - It announces fewer streams than NIOHTTP2 accepts: NIOHTTP2 ends the connection with the first one too many, and
///   ``RefusedStreamHandler`` ends only that stream.
/// - It lets our settings hold from the beginning. NIOHTTP2 would unpack 16 KiB only until the peer has acknowledged
///   more, and a peer may send its first request before. So NIOHTTP2 reads an acknowledgement right behind the peer's
///   settings, and the peer's own is left out.
final class PeerFrameHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

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
    private var budget = PeerFrameBudget(now: .now())
    private var settings = Settings.awaited
    private var hasAnnounced = false
    private var lastStream: UInt32 = 0
    private var hasEnded = false

    init(head: Int, streams: Int) {
        announcedHead = UInt32(clamping: head)
        announcedStreams = UInt32(clamping: streams)
    }

    /// On the connection's event loop.
    func streamRefused() { budget.streamRefused() }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !hasEnded else { return }
        let arrived = unwrapInboundIn(data)
        scanner.append(arrived)
        let now = NIODeadline.now()
        var passed = context.channel.allocator.buffer(capacity: arrived.readableBytes + FrameScanner.headLength)
        while let part = scanner.next() {
            switch part {
            case .bytes(var bytes): passed.writeBuffer(&bytes)
            case .head(let frame, var bytes):
                guard isWithinBudget(frame, now) else { return end(context) }
                if !isAcknowledgedTwice(frame) { passed.writeBuffer(&bytes) }
            case .end(let frame):
                guard settings == .awaited, frame.type == FrameScanner.Frame.settings else { continue }
                settings = .acknowledged
                passed.writeFrameHead(length: 0, type: FrameScanner.Frame.settings, flags: 1, stream: 0)
            }
        }
        if passed.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(passed)) }
    }

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
        context.writeAndFlush(wrapOutboundOut(.byteBuffer(frame)), promise: nil)
        context.close(promise: nil)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        var bytes = unwrapOutboundIn(data)
        budget.sent(bytes.readableBytes)
        if !hasAnnounced, case .byteBuffer(var frame) = bytes {
            hasAnnounced = true
            frame.announce([.fieldSectionSize: announcedHead, .streams: announcedStreams])
            bytes = .byteBuffer(frame)
        }
        context.write(wrapOutboundOut(bytes), promise: promise)
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

    /// Sets these settings in the frame of settings that these bytes are. Each setting is a name of two bytes and a value
    /// of four (RFC 9113, section 6.5.1).
    fileprivate mutating func announce(_ values: [AnnouncedSetting: UInt32]) {
        let first = readerIndex + FrameScanner.headLength
        for index in stride(from: first, through: writerIndex - 6, by: 6) {
            guard let name = getInteger(at: index, as: UInt16.self).flatMap(AnnouncedSetting.init),
                let value = values[name]
            else { continue }
            setInteger(value, at: index + 2)
        }
    }
}

/// By their numbers in RFC 9113, section 6.5.2.
private enum AnnouncedSetting: UInt16 {
    case streams = 0x3
    case fieldSectionSize = 0x6
}
