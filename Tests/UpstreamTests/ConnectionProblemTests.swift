import AdapterKit
import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import Testing
import UpstreamStandIn

@testable import Upstream

/// Failures of calls as operators read them.
@Suite struct ConnectionProblemTests {
    @Test(
        arguments: [
            (IOError(errnoCode: 111, reason: "connect"), "nothing listens there"),
            (IOError(errnoCode: 104, reason: "read"), "it broke the connection off"),
            (IOError(errnoCode: 13, reason: "connect"), "permission denied"),
            (HTTPClientError.readTimeout, "it was silent for too long"),
            (HTTPClientError.remoteConnectionClosed, "it closed the connection before its answer was complete"),
            (HTTPParserError.invalidVersion, "its answer is no HTTP"),
            (ChannelError.eof, "it broke the connection off"),
            (ChannelError.connectTimeout(.seconds(1)), "no connection came about in time"),
        ] as [(any Error, String)])
    func `an error of the libraries is one plain sentence`(error: any Error, sentence: String) {
        #expect(ConnectionProblem(error)?.sentence == sentence)
    }

    @Test func `what is not known keeps its description`() {
        #expect(ConnectionProblem(CancellationError()) == nil)
        #expect(ConnectionProblem(HTTPClientError.invalidURL) == nil)
    }

    @Test func `a server that nobody runs is said in words`() async throws {
        var settings = UpstreamSettings.loopback(["http://127.0.0.1:9"])
        settings.limits.deadline = .seconds(20)
        let answer = await ask(settings, UpstreamRequest(.get, try address("http://127.0.0.1:9/")))
        #expect(throws: UpstreamFailure(.unreachable, of: settings.name, detail: "nothing listens there")) {
            try answer.get()
        }
    }
}
