import AdapterKit
import AdapterTesting
import Foundation
import Synchronization
import Testing

/// A rule that an adapter breaks while its system fails.
enum UpstreamFault: Sendable, CaseIterable {
    case throwsOddly, believesPages, believesFailures, keepsNonsense, changesRecords

    @TaskLocal static var current: UpstreamFault?
    /// Whether it throws what ``UpstreamResponse/document(_:of:)`` does, which is no fault.
    @TaskLocal static var throwsRefusals = false

    var problem: String {
        switch self {
        case .throwsOddly: "throws what is not in the registry under"
        case .believesPages: "takes a login page for an answer"
        case .believesFailures: "takes a failure of the system for an answer"
        case .keepsNonsense: "answers differently after"
        case .changesRecords: "reads, but changes records under"
        }
    }
}

/// Answers a rate of another system, which it keeps once it has it.
private final class Rates: Adapter {
    enum Module: AdapterModule {
        static let name: AdapterName = "rates"

        static func declare(_ configuration: AdapterConfiguration) -> AdapterDeclaration {
            AdapterDeclaration(
                name: name, title: "Rates", summary: "What money costs.", version: "1.0",
                entities: [
                    Entity(
                        "failures", summary: "What went wrong.", key: EntityKey("id"),
                        fields: [Field("id", .string, isRequired: true, summary: "The key.")])
                ],
                operations: [
                    Operation(
                        "rate", summary: "The rate of today.", effect: .reads,
                        output: .object(ObjectShape("Rate", members: [Member("text", .string, isRequired: true)])))
                ])
        }

        static func make(_ configuration: AdapterConfiguration) -> any Adapter { Rates() }
    }

    private struct Nonsense: Error {}

    private let context = Mutex<AdapterContext?>(nil)
    private let kept = Mutex<String?>(nil)

    func start(_ context: AdapterContext) { self.context.withLock { $0 = context } }

    func handle(_ call: Call) async throws -> OperationResult {
        guard let context = context.withLock({ $0 }), let upstream = context.upstream,
            let page = upstream.url.resolving("rate")
        else { throw PorticoError(.routeNotFound, "There is no such operation.") }
        if UpstreamFault.current == .keepsNonsense, let text = kept.withLock({ $0 }) {
            return .value(["text": .string(text)])
        }
        do {
            let response = try await upstream.send(UpstreamRequest(.get, page))
            let text = String(decoding: response.body, as: UTF8.self)
            let isRate = response.status == 200 && text.hasPrefix("rate=") && text.hasSuffix(";")
            let isBelieved =
                response.status == 200
                ? UpstreamFault.current == .believesPages : UpstreamFault.current == .believesFailures
            guard isRate || isBelieved else { throw Nonsense() }
            return .value(["text": .string(text)])
        } catch is Nonsense {
            switch UpstreamFault.current {
            case .throwsOddly: throw Nonsense()
            case .keepsNonsense: kept.withLock { $0 = "unknown" }
            case .changesRecords: _ = try await context.records.create(["id": "x"], in: "failures")
            default: break
            }
            if UpstreamFault.throwsRefusals { throw MirrorRefusal(.unexpected, "no rate") }
            throw PorticoError(.upstreamFailed, "The rate cannot be read.")
        }
    }
}

@Suite struct UpstreamConformanceTests {
    private func problems() async throws -> [String] {
        let url = try #require(UpstreamAddress("https://bank.example.com/"))
        let upstream = ScriptedUpstream(url: url) { request, _ throws(UpstreamFailure) in
            UpstreamResponse(address: request.address, status: 200, fields: [:], body: Array("rate=1.25;".utf8))
        }
        return await UpstreamConformance(Rates.Module.self, upstream: upstream, calls: [.init("rate")]).problems(
            seeds: 10)
    }

    @Test func `finds nothing in an adapter that keeps every rule`() async throws {
        // A wrong bit within the number cannot be noticed, and is not asked for.
        #expect(try await problems() == [])
    }

    @Test func `finds nothing in an adapter that refuses a document, which the gateway maps`() async throws {
        let found = try await UpstreamFault.$throwsRefusals.withValue(true) { try await problems() }
        #expect(found == [])
    }

    @Test(arguments: UpstreamFault.allCases)
    func `finds what an adapter does wrong while its system fails`(fault: UpstreamFault) async throws {
        try await UpstreamFault.$current.withValue(fault) {
            let found = try await problems()
            #expect(found.contains { $0.contains(fault.problem) }, "\(found)")
        }
    }

    @Test func `finds a call that fails while all is well`() async throws {
        let url = try #require(UpstreamAddress("https://bank.example.com/"))
        let replay = RecordReplayUpstream(
            replaying: Recording(folder: "/nonexistent"), url: url)
        let found = await UpstreamConformance(Rates.Module.self, upstream: replay, calls: [.init("rate")]).problems()
        #expect(found.count == 1 && found.first?.hasPrefix("rate does not answer while all is well") == true)
    }
}
