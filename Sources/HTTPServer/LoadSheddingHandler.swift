import AdapterKit
import NIOCore

/// Sheds load on plain HTTP connections before the HTTP pipeline is built.
///
/// When the server is at capacity, answers `Connection: close` requests with 503 directly, because a decoder and its
/// handlers would cost more than the refusal. Every other connection gets its pipeline with its first bytes. A request
/// on a connection that stays open is refused by the ``RequestResponder``: it may have a cached response, and the pipeline
/// serves its next requests too. See docs/decisions/0192-shed-load-before-any-work.md.
final class LoadSheddingHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum State {
        case waiting
        case refused
        case admit
    }

    private let server: ServerContext
    private let idleTimeout: IdleTimeout
    /// Adds the handlers behind. Called once, unless the connection is refused.
    private let open: () throws -> Void
    private var state = State.waiting

    init(server: ServerContext, idleTimeout: IdleTimeout, open: @escaping () throws -> Void) {
        self.server = server
        self.idleTimeout = idleTimeout
        self.open = open
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        switch state {
        case .waiting:
            guard let head = bytes.withUnsafeReadableBytes(RequestHeadPeek.init),
                let error = server.responder.overload(for: head.path)
            else { return admit(context) { context.fireChannelRead(data) } }
            refuse(error, context)
        case .refused: return
        case .admit: context.fireChannelRead(data)
        }
    }

    private func admit(_ context: ChannelHandlerContext, thenTell: () -> Void) {
        state = .admit
        idleTimeout.stop()
        do { try open() } catch { return context.close(promise: nil) }
        thenTell()
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }

    private func refuse(_ error: PorticoError, _ context: ChannelHandlerContext) {
        idleTimeout.stop()
        state = .refused
        let peer = server.configuration.peers.ofConnection(context.channel).address
        context.writeAndFlush(wrapOutboundOut(server.lastResponse(error, peer: peer)), promise: nil)
        context.close(promise: nil)
    }
}

extension LoadSheddingHandler {
    func handlerAdded(context: ChannelHandlerContext) {
        let channel = context.channel
        idleTimeout.start(on: context.eventLoop) {
            true
        } giveUp: {
            channel.close(promise: nil)
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        idleTimeout.stop()
    }

    /// A stop is for the layers behind to carry out: a request may be on its way.
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch (state, event) {
        case (.admit, _): context.fireUserInboundEventTriggered(event)
        case (_, ChannelEvent.inputClosed as ChannelEvent): context.close(promise: nil)
        case (.waiting, is ChannelShouldQuiesceEvent): admit(context) { context.fireUserInboundEventTriggered(event) }
        default: return
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}

@available(*, unavailable)
extension LoadSheddingHandler: Sendable {}

/// The part of a request head that decides whether load shedding may refuse it unparsed: its path, and that it is its
/// connection's last.
///
/// All other checks of the head are made by the decoder and ``RequestHeadValidation``.
struct RequestHeadPeek {
    let path: String

    /// Nil for a head that is not whole, that reads otherwise than is expected, or whose connection is to stay.
    init?(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes[...]
        guard let line = Self.nextLine(&rest), let (path, endsByVersion) = Self.target(of: line) else { return nil }
        var ends = endsByVersion
        while let line = Self.nextLine(&rest) {
            guard !line.isEmpty else {
                guard ends else { return nil }
                self.path = path
                return
            }
            if let value = Self.value(of: "connection", line) {
                guard value.isEqualCaseInsensitive("close") else { return nil }
                ends = true
            }
        }
        return nil
    }

    /// Without its end, which has been taken off `rest` too.
    private static func nextLine(_ rest: inout Slice<UnsafeRawBufferPointer>) -> Slice<UnsafeRawBufferPointer>? {
        guard let end = rest.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        let line = rest[rest.startIndex..<end]
        rest = rest[(end + 1)...]
        return line.last == UInt8(ascii: "\r") ? line.dropLast() : nil
    }

    private static func target(of line: Slice<UnsafeRawBufferPointer>) -> (path: String, ends: Bool)? {
        let words = line.split(separator: UInt8(ascii: " "), maxSplits: 3, omittingEmptySubsequences: false)
        guard words.count == 3, words[1].first == UInt8(ascii: "/") else { return nil }
        switch String(decoding: words[2], as: UTF8.self) {
        case "HTTP/1.1": return (String(decoding: words[1], as: UTF8.self), false)
        case "HTTP/1.0": return (String(decoding: words[1], as: UTF8.self), true)
        default: return nil
        }
    }

    private static func value(of name: StaticString, _ line: Slice<UnsafeRawBufferPointer>) -> String? {
        let length = name.utf8CodeUnitCount
        guard line.count > length, line[line.startIndex + length] == UInt8(ascii: ":"),
            String(decoding: line.prefix(length), as: UTF8.self).isEqualCaseInsensitive(name)
        else { return nil }
        let isSpace = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        var value = line.dropFirst(length + 1).drop(while: isSpace)
        while let last = value.last, isSpace(last) { value.removeLast() }
        return String(decoding: value, as: UTF8.self)
    }
}
