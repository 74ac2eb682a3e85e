import AdapterKit
import Foundation
import Testing
import UpstreamRecording
import UpstreamStandIn

@testable import Upstream

@Suite struct RecordReplayTests {
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

    private struct NoClock: WallClock {
        func now() -> WireDate { WireDate(secondsSince1970: 0) }
    }

    private func withFolder(_ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("portico-rehearsal-\(UUID())").path
        do { try await body(folder) } catch { Issue.record(error) }
        try? FileManager.default.removeItem(atPath: folder)
    }
}
