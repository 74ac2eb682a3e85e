import AdapterKit
import CZlib
import Foundation
import Synchronization
import Testing
import UpstreamStandIn

@testable import Upstream

@Suite struct StreamTests {
    @Test func `a streamed answer arrives by pieces, and no faster than it is read`() async throws {
        let server = try await StandIn { _ in .endless }
        var settings = UpstreamSettings.loopback([server.address])
        settings.limits.answer = 1 << 30
        let upstream = HTTPUpstream(settings, log: .discarding)
        let stream = try await upstream.stream(UpstreamRequest(.get, try address(server.address)))
        #expect(stream.status == 200)
        var count = 0
        while count < 1 << 20, let piece = try await stream.body.nextPiece() {
            #expect(!piece.isEmpty && piece.count <= 64 << 10)
            count += piece.count
        }
        #expect(upstream.status.active == 1)
        stream.body.cancel()
        let failure = await #expect(throws: UpstreamFailure.self) { while try await stream.body.nextPiece() != nil {} }
        #expect(failure?.kind == .cancelled)
        await upstream.stop()
        await server.stop()
    }

    @Test(.timeLimit(.minutes(5))) func `a call that does not end delays the stop until a deadline`()
        async throws
    {
        let server = try await StandIn { _ in .silence }
        let upstream = HTTPUpstream(.loopback([server.address]), log: .discarding)
        let request = UpstreamRequest(.get, try address(server.address))
        let call = Task { try await upstream.send(request) }
        while upstream.status.active < 1 { await Task.yield() }
        let began = ContinuousClock.now
        await upstream.stop(afterCallsUntil: began + .milliseconds(200))
        #expect(ContinuousClock.now - began >= .milliseconds(200))
        await #expect(throws: UpstreamFailure.self) { try await call.value }
        await server.stop()
    }

    @Test func `a body that nobody reads to its end gives its turn back`() async throws {
        let server = try await StandIn { _ in .endless }
        let upstream = HTTPUpstream(.loopback([server.address]), log: .discarding)
        for _ in 0..<40 {
            let stream = try await upstream.stream(UpstreamRequest(.get, try address(server.address)))
            _ = try await stream.body.nextPiece()
        }
        while !Task.isCancelled, upstream.status.active > 0 { await Task.yield() }
        await upstream.stop()
        await server.stop()
    }

    @Test func `a request's body is sent by pieces, and only as far as it is taken`() async throws {
        let server = try await StandIn { request in .plain(200, [], "\(request.body.count)") }
        let upstream = HTTPUpstream(.loopback([server.address]), log: .discarding)
        var request = UpstreamRequest(.put, try address(server.address))
        let pieces = CountedPieces(20)
        request.streamedBody = pieces
        #expect(String(decoding: try await upstream.send(request).body, as: UTF8.self) == "\(20 * 10_000)")
        #expect(pieces.isCancelled)
        await upstream.stop()
        await server.stop()
    }

    @Test(arguments: [1, 1_000, 100_000])
    func `a server that answers before it has the whole request, and closes, harms no other call`(size: Int)
        async throws
    {
        let server = try await HastyServer()
        var settings = UpstreamSettings.loopback([server.address])
        settings.limits.tries = 1
        settings.limits.failures = .max
        let upstream = HTTPUpstream(settings, log: .discarding)
        let target = try address(server.address)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<100 {
                        var request = UpstreamRequest(.post, target)
                        request.body = Array(repeating: 0x61, count: size)
                        _ = try? await upstream.send(request)
                    }
                }
            }
        }
        await upstream.stop()
        await server.stop()
    }

    @Test(
        arguments: ["000", "001", "099", "99", "600", "999"],
        ["Content-Length: 2\r\n", "", "Transfer-Encoding: chunked\r\n"])
    func `a status that is none fails the call and harms nothing else`(status: String, length: String) async throws {
        let body = length.hasPrefix("Transfer") ? "2\r\nok\r\n0\r\n\r\n" : "ok"
        let server = try await HastyServer("HTTP/1.1 \(status) Odd\r\n\(length)\r\n\(body)")
        var settings = UpstreamSettings.loopback([server.address])
        settings.limits.tries = 1
        let answer = await ask(settings, UpstreamRequest(.get, try address(server.address)))
        #expect(answer.response == nil)
        await server.stop()
    }

    @Test func `a body in a content coding arrives decoded`() async throws {
        let text = Array(String(repeating: "mirrored rows ", count: 20_000).utf8)
        for (coding, body) in [
            ("gzip", try deflated(text, windowBits: 31)), ("deflate", try deflated(text, windowBits: 15)),
            ("deflate", try deflated(text, windowBits: -15)), ("identity", text),
            // Two members.
            (
                "x-gzip",
                try deflated(Array(text.prefix(100)), windowBits: 31)
                    + deflated(Array(text.dropFirst(100)), windowBits: 31)
            ),
        ] {
            for size in [1, 7, 1_000, body.count] where body.count / size < 5_000 {
                let answer = try await answer(coding, body.pieces(of: size))
                // Not the bytes themselves, of which a failure would print all.
                let isSame = answer.response?.body == text
                #expect(isSame, "\(coding) in pieces of \(size)")
            }
        }
    }

    @Test func `what is not of its coding is broken, and no part of it passes for the whole`() async throws {
        let body = try deflated(Array(repeating: 0x61, count: 100_000), windowBits: 31)
        for (coding, bytes) in [
            ("gzip", Array(body.dropLast(9))), ("gzip", Array(body.prefix(20))), ("gzip", [1, 2, 3]), ("br", body),
            ("gzip", body + [1, 2, 3]), ("deflate", body), ("gzip, gzip", body),
        ] {
            #expect(try await answer(coding, [bytes]).kind == .broken, "\(coding) \(bytes.count)")
        }
    }

    @Test func `a body that expands beyond the limit ends there`() async throws {
        let bomb = try deflated([UInt8](repeating: 0, count: 50 << 20), windowBits: 31)
        #expect(bomb.count < 60_000)
        #expect(try await answer("gzip", [bomb]) { $0.limits.answer = 1 << 20 }.kind == .answerTooLarge)
    }

    @Test func `text of another character set arrives in UTF-8 where that is asked for`() async throws {
        for (type, bytes, expected) in [
            ("text/plain; charset=ISO-8859-1", [0x4D, 0xFC, 0x80], "Mü€"), ("text/xml", [0x4D, 0xC3, 0xBC], "Mü"),
            ("text/plain;charset=\"utf-16\"", [0xFF, 0xFE, 0x4D, 0, 0x3D, 0xD8, 0, 0xDE], "M😀"),
        ] as [(String, [UInt8], String)] {
            let answer = try await answer("identity", bytes.pieces(of: 1), type: type, converts: true)
            #expect(answer.text == expected)
        }
        #expect(
            try await answer("identity", [[0x41]], type: "text/plain; charset=klingon", converts: true).kind == .broken)
        #expect(try await answer("identity", [[0xFC]], type: "text/plain; charset=latin1").response?.body == [0xFC])
    }

    @Test func `conditions come from an answer, and 304 is an answer`() async throws {
        let server = try await StandIn { request in
            request["If-None-Match"] == "\"v1\"" ? .plain(304) : .plain(200, [("ETag", "\"v1\"")], "rows")
        }
        let upstream = HTTPUpstream(.loopback([server.address]), log: .discarding)
        var request = UpstreamRequest(.get, try address(server.address))
        let first = try await upstream.send(request)
        request.setConditions(from: first.fields)
        #expect(try await upstream.send(request).status == 304)
        await upstream.stop()
        await server.stop()
    }

    @Test func `every call goes on in its caller's trace`() async throws {
        let server = try await StandIn { _ in .plain(200) }
        let upstream = HTTPUpstream(.loopback([server.address]), log: .discarding)
        let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
        let context = CallContext(
            deadline: .now + .seconds(60), requestID: "1", traceParent: "00-\(trace)-00f067aa0ba902b7-01",
            traceState: "a=b")
        let request = UpstreamRequest(.get, try address(server.address))
        _ = try await CallContext.$current.withValue(context) { try await upstream.send(request) }
        _ = try await upstream.send(request)
        let seen = server.requests
        #expect(seen.first?["traceparent"]?.hasPrefix("00-\(trace)-") == true)
        #expect(seen.first?["traceparent"]?.contains("00f067aa0ba902b7") == false)
        #expect(seen.first?["tracestate"] == "a=b")
        #expect(seen.last?["traceparent"]?.contains(trace) == false && seen.last?["tracestate"] == nil)
        await upstream.stop()
        await server.stop()
    }

    private func answer(
        _ coding: String, _ pieces: [[UInt8]], type: String = "text/plain", converts: Bool = false,
        _ adjust: (inout UpstreamSettings) -> Void = { _ in }
    ) async throws -> Result<UpstreamResponse, UpstreamFailure> {
        let server = try await StandIn { _ in
            .bytes(200, [("Content-Encoding", coding), ("Content-Type", type)], pieces)
        }
        var settings = UpstreamSettings.loopback([server.address])
        settings.limits.tries = 1
        adjust(&settings)
        var request = UpstreamRequest(.get, try address(server.address))
        request.convertsToUTF8 = converts
        let answer = await ask(settings, request)
        await server.stop()
        return answer
    }

    private func deflated(_ bytes: [UInt8], windowBits: Int32) throws -> [UInt8] {
        var stream = z_stream()
        try #require(portico_deflate_init(&stream, 9, windowBits) == Z_OK)
        defer { deflateEnd(&stream) }
        var input = bytes
        var output = [UInt8](repeating: 0, count: bytes.count + 1_000)
        let count = input.withUnsafeMutableBufferPointer { source in
            output.withUnsafeMutableBufferPointer { target in
                stream.next_in = source.baseAddress
                stream.avail_in = UInt32(source.count)
                stream.next_out = target.baseAddress
                stream.avail_out = UInt32(target.count)
                _ = deflate(&stream, Z_FINISH)
                return target.count - Int(stream.avail_out)
            }
        }
        return Array(output.prefix(count))
    }
}

private final class CountedPieces: ByteStream {
    private let state: Mutex<(left: Int, isCancelled: Bool)>

    init(_ count: Int) {
        state = Mutex((count, false))
    }

    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    func next() async throws -> [UInt8]? {
        state.withLock { state in
            guard state.left > 0 else { return nil }
            state.left -= 1
            return [UInt8](repeating: 0x61, count: 10_000)
        }
    }

    func cancel() { state.withLock { $0.isCancelled = true } }
}

extension [UInt8] {
    fileprivate func pieces(of size: Int) -> [[UInt8]] {
        stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
    }
}
