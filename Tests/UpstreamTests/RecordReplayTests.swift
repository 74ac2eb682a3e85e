import AdapterKit
import Foundation
import Testing
import UpstreamStandIn

@testable import Upstream

@Suite struct RecordReplayTests {
    @Test func `what was recorded is replayed, and nobody is asked`() async throws {
        try await withFolder { folder async throws in
            let server = try await StandIn { .plain(200, [("Content-Type", "text/plain")], "rows of \($0.target)") }
            let transport = HTTPUpstream(.loopback([server.address]), log: .discarding)
            let recording = Recording(folder: folder)
            let recorder = RecordReplayUpstream(transport, .recorded(recording), nil, log: .discarding)
            let replayer = RecordReplayUpstream(transport, .replayed(recording), nil, log: .discarding)
            for path in ["/a?b=1", "/a?b=2", "/c"] {
                let request = UpstreamRequest(.get, try address(server.address + path))
                let first = try await recorder.send(request)
                let asked = server.requests.count
                let again = try await replayer.send(request)
                #expect(again.body == first.body && again.status == 200)
                #expect(again.fields["Content-Type"] == "text/plain")
                #expect(server.requests.count == asked)
            }
            let other = UpstreamRequest(.get, try address(server.address + "/other"))
            let missing = await #expect(throws: UpstreamFailure.self) { try await replayer.send(other) }
            #expect(missing?.kind == .unreachable)
            await transport.stop()
            await server.stop()
        }
    }

    @Test func `no secret is written`() async throws {
        try await withFolder { folder async throws in
            let server = try await StandIn { _ in
                .plain(
                    200, [("Set-Cookie", "sid=s3cret"), ("X-Token", "s3cret"), ("ETag", "\"1\"")],
                    #"{"name":"Ann","access_token":"s3cret","list":[{"PIN":"s3cret","Password":{"a":"s3cret"}}]}"#)
            }
            let transport = HTTPUpstream(.loopback([server.address]), log: .discarding)
            let credentials = UpstreamCredentials.apiKey(header: "X-Key", value: Secret("s3cret"))
            let upstream = RecordReplayUpstream(
                AuthorizedUpstream(transport, credentials, clock: NoClock()),
                .recorded(Recording(folder: folder, secretNames: ["pin"])), nil, log: .discarding)
            let request = UpstreamRequest(
                .post, try address(server.address), body: Array(#"{"password":"s3cret"}"#.utf8))
            _ = try await upstream.send(request)
            #expect(server.requests.first?["X-Key"] == "s3cret")
            let files = try FileManager.default.contentsOfDirectory(atPath: folder)
            #expect(files.count == 1)
            for file in files {
                let text = try String(contentsOfFile: "\(folder)/\(file)", encoding: .utf8)
                #expect(!(file + text).contains("s3cret") && !text.contains(Data("s3cret".utf8).base64EncodedString()))
            }
            let replayer = RecordReplayUpstream(
                transport, .replayed(Recording(folder: folder, secretNames: ["pin"])), nil, log: .discarding)
            let text = String(decoding: try await replayer.send(request).body, as: UTF8.self)
            #expect(text.contains("Ann") && !text.contains("s3cret") && text.contains("scrubbed"))
            await transport.stop()
            await server.stop()
        }
    }

    @Test func `chaos happens as often as it says, and alike for one seed`() {
        var shares = Chaos.Shares()
        (shares.delay, shares.truncate, shares.corrupt) = (10, 10, 10)
        (shares.reset, shares.lie, shares.fail) = (10, 10, 10)
        var chaos = Chaos(seed: 7, shares)
        var same = Chaos(seed: 7, shares)
        var counts: [String: Int] = [:]
        for _ in 0..<10_000 {
            let fault = chaos.next()
            #expect(fault == same.next())
            counts["\(fault)".prefix { $0.isLetter }.description, default: 0] += 1
        }
        for name in ["delay", "truncate", "corrupt", "reset", "lie", "fail"] {
            #expect((800...1_200).contains(counts[name] ?? 0), "\(name): \(counts)")
        }
        #expect((3_700...4_300).contains(counts["none"] ?? 0))
    }

    @Test func `each fault is what a broken system would send`() async throws {
        let server = try await StandIn { _ in .plain(200, [], "0123456789") }
        let transport = HTTPUpstream(.loopback([server.address]), log: .discarding)
        let request = UpstreamRequest(.get, try address(server.address))
        func answer(_ adjust: (inout Chaos.Shares) -> Void) async throws -> UpstreamResponse {
            var shares = Chaos.Shares()
            adjust(&shares)
            let chaos = Chaos(seed: 3, shares)
            return try await RecordReplayUpstream(transport, .upstream, chaos, log: .discarding).send(request)
        }
        let whole = Array("0123456789".utf8)
        #expect(try await answer { _ in }.body == whole)
        let cut = try await answer { $0.truncate = 100 }.body
        #expect(cut.count < 10 && whole.starts(with: cut))
        let corrupt = try await answer { $0.corrupt = 100 }.body
        #expect(corrupt.count == 10 && zip(corrupt, whole).filter { $0 != $1 }.count == 1)
        #expect(try await answer { $0.fail = 100 }.status == 503)
        let lie = try await answer { $0.lie = 100 }
        #expect(lie.status == 200 && lie.fields["Content-Type"] == "text/html")
        let reset = await #expect(throws: UpstreamFailure.self) { _ = try await answer { $0.reset = 100 } }
        #expect(reset?.kind == .broken)
        await transport.stop()
        await server.stop()
    }

    private struct NoClock: WallClock {
        func now() -> WireDate { WireDate(secondsSince1970: 0) }
    }

    private func withFolder(_ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("portico-rehearsal-\(UUID())").path
        do { try await body(folder) } catch { Issue.record(error) }
        try? FileManager.default.removeItem(atPath: folder)
    }
}
