import NIOCore
import NIOPosix

/// Answers the first bytes of a request at once, with the bytes that it was given, and closes the connection a little later.
public final class HastyServer: Sendable {
    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let answer: String

        init(_ answer: String) { self.answer = answer }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: answer)), promise: nil)
            let channel = context.channel
            context.eventLoop.scheduleTask(in: .microseconds(.random(in: 0...2_000))) { channel.close(promise: nil) }
        }
    }

    private let channel: any Channel

    /// By default with a connection that may be kept.
    public init(_ answer: String = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") async throws {
        channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Handler(answer))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
    }

    public var address: String { "http://127.0.0.1:\(channel.localAddress?.port ?? 0)" }

    public func stop() async { try? await channel.close().get() }
}
