import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOPosix
import NIOSSL

// nio-peer http1|http2 ANSWERS PORT [CERTIFICATE KEY]
//
// A server of SwiftNIO and nothing else, on loopback and one thread: it answers recorded bytes by path and query. HTTP/1.1
// by the default server pipeline, in clear or with TLS; HTTP/2 by the inline stream multiplexer, with TLS.
let arguments = CommandLine.arguments
guard arguments.count == 4 || arguments.count == 6, let port = Int(arguments[3]) else {
    fatalError("usage: nio-peer http1|http2 ANSWERS PORT [CERTIFICATE KEY]")
}
let isHTTP2 = arguments[1] == "http2"
let answers = try PreparedResponses(file: arguments[2])

func secureContext(certificate: String, key: String) throws -> NIOSSLContext {
    var configuration = TLSConfiguration.makeServerConfiguration(
        certificateChain: try NIOSSLCertificate.fromPEMFile(certificate).map { .certificate($0) },
        privateKey: .privateKey(try NIOSSLPrivateKey(file: key, format: .pem)))
    configuration.applicationProtocols = [isHTTP2 ? "h2" : "http/1.1"]
    return try NIOSSLContext(configuration: configuration)
}

let context = arguments.count == 6 ? try secureContext(certificate: arguments[4], key: arguments[5]) : nil
let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup(numberOfThreads: 1))
    .serverChannelOption(.backlog, value: 1024)
    .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
    .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
    .childChannelInitializer { [answers, context, isHTTP2] channel in
        channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            if let context { try pipeline.addHandler(NIOSSLServerHandler(context: context)) }
            if isHTTP2 {
                _ = try pipeline.configureHTTP2Pipeline(
                    mode: .server, connectionConfiguration: .init(), streamConfiguration: .init()
                ) { stream in
                    stream.eventLoop.makeCompletedFuture {
                        try stream.pipeline.syncOperations.addHandler(HTTP2AnswerHandler(answers))
                    }
                }
            } else {
                try pipeline.configureHTTPServerPipeline()
                try pipeline.addHandler(HTTP1AnswerHandler(answers))
            }
        }
    }
    .bind(host: "127.0.0.1", port: port).get()
try await server.closeFuture.get()
