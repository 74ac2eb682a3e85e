import AdapterKit
import AdapterTesting
import Foundation
import Testing

@testable import UpstreamRecording

@Suite struct RecordReplayTests {
    private func system(
        _ answer: @escaping @Sendable (UpstreamRequest) -> String = { "rows of \($0.address.target)" }
    ) throws -> ScriptedUpstream {
        let url = try #require(UpstreamAddress("https://hr.example.com/"))
        return ScriptedUpstream(url: url) { request, _ throws(UpstreamFailure) in
            UpstreamResponse(
                address: request.address, status: 200, fields: ["Content-Type": "text/plain"],
                body: Array(answer(request).utf8))
        }
    }

    @Test func `what was recorded is replayed, at another address too, and no system is called`() async throws {
        try await withFolder { folder async throws in
            let system = try system()
            let recording = Recording(folder: folder)
            let recorder = RecordReplayUpstream(system, .recorded(recording))
            let elsewhere = try #require(UpstreamAddress("https://127.0.0.1:9/"))
            let replayer = RecordReplayUpstream(replaying: recording, url: elsewhere)
            for path in ["a?b=1", "a?b=2", "c"] {
                let first = try await recorder.send(UpstreamRequest(.get, try #require(system.url.resolving(path))))
                let again = try await replayer.send(UpstreamRequest(.get, try #require(elsewhere.resolving(path))))
                #expect(again.body == first.body && again.status == 200)
                #expect(again.fields["Content-Type"] == "text/plain")
            }
            #expect(system.asked.count == 3)
            let other = UpstreamRequest(.get, try #require(elsewhere.resolving("other")))
            let missing = await #expect(throws: UpstreamFailure.self) { try await replayer.send(other) }
            #expect(missing?.kind == .unreachable)
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
        let system = try system { _ in "0123456789" }
        let request = UpstreamRequest(.get, system.url)
        func answer(_ adjust: (inout Chaos.Shares) -> Void) async throws -> UpstreamResponse {
            var shares = Chaos.Shares()
            adjust(&shares)
            let chaos = Chaos(seed: 3, shares)
            return try await RecordReplayUpstream(system, .upstream, chaos).send(request)
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
    }

    private func withFolder(_ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("portico-rehearsal-\(UUID())").path
        do { try await body(folder) } catch { Issue.record(error) }
        try? FileManager.default.removeItem(atPath: folder)
    }
}
