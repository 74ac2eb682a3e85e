import AdapterKit
import AdapterTesting
import Foundation
import Synchronization
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

    @Test func `what a change changes is replayed after the change, and no sooner`() async throws {
        try await withFolder { folder async throws in
            let rows = Mutex(["a"])
            let system = try system { request in
                rows.withLock { rows in
                    if request.method == .put { rows.append("b") }
                    return rows.joined()
                }
            }
            let recording = Recording(folder: folder)
            let list = UpstreamRequest(.get, system.url)
            let change = UpstreamRequest(.put, system.url, body: Array("b".utf8))
            let recorder = RecordReplayUpstream(system, .recorded(recording))
            let replayer = RecordReplayUpstream(replaying: recording, url: system.url)
            for request in [list, list, change, list] { _ = try await recorder.send(request) }
            var answers: [String] = []
            // However often it is asked in between.
            for request in [list, list, list, change, list, list] {
                answers.append(String(decoding: try await replayer.send(request).body, as: UTF8.self))
            }
            #expect(answers == ["a", "a", "a", "ab", "ab", "ab"])
        }
    }

    @Test func `an answer that nothing has changed does not take the place of the whole one`() async throws {
        try await withFolder { folder async throws in
            let url = try #require(UpstreamAddress("https://hr.example.com/"))
            let system = ScriptedUpstream(url: url) { request, _ in
                let isKnown = request.fields["If-None-Match"] == "\"1\""
                return UpstreamResponse(
                    address: request.address, status: isKnown ? 304 : 200, fields: ["ETag": "\"1\""],
                    body: isKnown ? [] : Array("rows".utf8))
            }
            let recording = Recording(folder: folder)
            let recorder = RecordReplayUpstream(system, .recorded(recording))
            let replayer = RecordReplayUpstream(replaying: recording, url: url)
            let conditional = UpstreamRequest(.get, url, fields: ["If-None-Match": "\"1\""])
            for request in [UpstreamRequest(.get, url), conditional] { _ = try await recorder.send(request) }
            #expect(try await replayer.send(UpstreamRequest(.get, url)).body == Array("rows".utf8))
            let unchanged = try await replayer.send(conditional)
            #expect(unchanged.status == 304 && unchanged.body.isEmpty)
        }
    }

    @Test(arguments: [
        ("<a><password>p</password>x</a>", "<a><password>scrubbed</password>x</a>"),
        (
            "<n:a xmlns:n='u'><n:Token t='1'><b>p</b></n:Token></n:a>",
            "<n:a xmlns:n='u'><n:Token t='1'>scrubbed</n:Token></n:a>"
        ),
        ("<a password = \"p\" b='>'/>", "<a password = \"scrubbed\" b='>'/>"),
        (
            "<a><secret/><![CDATA[<token>x</token>]]><!-- <token>x</token> --></a>",
            "<a><secret/><![CDATA[<token>x</token>]]><!-- <token>x</token> --></a>"
        ),
        (
            "<a><token><![CDATA[</x>]]></token><tokens>x</tokens></a>",
            "<a><token>scrubbed</token><tokens>x</tokens></a>"
        ),
        ("<a><token>p", "<a><token>scrubbed"), ("<a><token", "<a><token"), ("<", "<"), ("<a b='", "<a b='"),
    ])
    func `secrets of XML are written into no file`(document: String, written: String) {
        let scrubbing = XMLScrubbing { ["password", "token", "secret"].contains($0) }
        #expect(String(decoding: scrubbing.scrubbed(Array(document.utf8)), as: UTF8.self) == written)
    }

    @Test func `a request with another token of the same caller is replayed`() async throws {
        try await withFolder { folder async throws in
            let system = try system()
            func request(_ nonce: String) -> UpstreamRequest {
                let header =
                    "<soap:Header><wsse:Security><wsse:Nonce>\(nonce)</wsse:Nonce></wsse:Security></soap:Header>"
                var request = UpstreamRequest(
                    .post, system.url, body: Array("<soap:Envelope>\(header)<soap:Body/></soap:Envelope>".utf8))
                request.isIdempotent = true
                return request
            }
            let recording = Recording(folder: folder)
            let first = try await RecordReplayUpstream(system, .recorded(recording)).send(request("1"))
            let again = try await RecordReplayUpstream(replaying: recording, url: system.url).send(request("2"))
            #expect(again.body == first.body)
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
