import NIOCore
import NIOHTTPTypes

/// Where pieces of a body go that are written past the task which asks for them. All but ``eventLoop`` on the event loop.
protocol BodyChannel: Sendable {
    var eventLoop: any EventLoop { get }

    /// Whether the peer keeps up: what is written meanwhile is bounded.
    var isWritable: Bool { get }

    /// Whether everything that was written has left.
    var isAtRest: Bool { get }

    func write(_ piece: ByteBuffer)
    func flush()
}

/// By the end of a channel's pipeline, whatever the version of HTTP.
struct PipelineBodyChannel: BodyChannel {
    let channel: any Channel

    var eventLoop: any EventLoop { channel.eventLoop }
    var isWritable: Bool { channel.isWritable }
    var isAtRest: Bool { channel.isAtRest }

    func write(_ piece: ByteBuffer) { channel.write(HTTPResponsePart.body(piece), promise: nil) }
    func flush() { channel.flush() }
}

extension Channel {
    var isAtRest: Bool { isWritable && (try? syncOptions?.getOption(.bufferedWritableBytes)) ?? 0 == 0 }
}
