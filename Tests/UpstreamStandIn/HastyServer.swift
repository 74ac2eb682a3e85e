import NIOCore
import NIOPosix

/// Answers the first bytes of a request at once, with a connection that may be kept, and closes it a little later.
public final class HastyServer: Sendable {
    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let answer = ByteBuffer(string: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            context.writeAndFlush(wrapOutboundOut(answer), promise: nil)
            let channel = context.channel
            context.eventLoop.scheduleTask(in: .microseconds(.random(in: 0...2_000))) { channel.close(promise: nil) }
        }
    }

    private let channel: any Channel

    public init() async throws {
        channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Handler()) }
            }
            .bind(host: "127.0.0.1", port: 0).get()
    }

    public var address: String { "http://127.0.0.1:\(channel.localAddress?.port ?? 0)" }

    public func stop() async { try? await channel.close().get() }
}
