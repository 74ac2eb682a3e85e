import AdapterKit
import RecordStorage

/// What becomes of the transaction that makes a snapshot the records.
enum ApplyFate: Sendable {
    case good
    /// The store cannot take it.
    case fails
    /// The process ends before it is durable, or when it is.
    case diesBefore
    case diesAfter
}

/// The process has ended: nothing that it held in memory is there any more.
struct ProcessEnded: Error {}

/// A replacement whose store fails and whose process ends by the seed; sabotages of what replacements promise.
final class FaultInjectingReplacement: RecordReplacement {
    private let inner: any RecordReplacement
    private let simulation: MirrorSimulation
    private let sabotage: MirrorSabotage?
    /// Another replacement of the same collection.
    private let another: @Sendable () async throws -> any RecordReplacement

    init(
        _ inner: any RecordReplacement, of simulation: MirrorSimulation, _ sabotage: MirrorSabotage?,
        another: @escaping @Sendable () async throws -> any RecordReplacement
    ) {
        self.inner = inner
        self.simulation = simulation
        self.sabotage = sabotage
        self.another = another
    }

    var start: Revision { inner.start }

    func stage(_ rows: [RecordDraft], keeping: [RecordID], _ fields: StagedFields) async throws {
        if await simulation.stagingFails() { throw PorticoError(.storeUnavailable, "The store is busy.") }
        try await inner.stage(rows, keeping: keeping, fields)
    }

    func difference() async throws -> ReplacementDifference { try await inner.difference() }

    func sample(_ limit: Int, _ options: ReplacementOptions) async throws -> ReplacementSample {
        try await inner.sample(limit, options)
    }

    func apply(_ options: ReplacementOptions) async throws -> ReplacementResult {
        var options = options
        options.transactionLimit = MirrorSimulation.transactionLimit
        let fate = await simulation.fateOfApply()
        if sabotage == .stateFirst {
            // The state of the mirror is durable before its rows are.
            var first = ReplacementOptions(state: options.state)
            first.deletesMissing = false
            _ = try await another().apply(first)
        }
        switch fate {
        case .fails: throw PorticoError(.storeUnavailable, "The store is busy.")
        case .diesBefore: throw ProcessEnded()
        case .good, .diesAfter: break
        }
        let result = try await inner.apply(options)
        try await simulation.applied(result)
        if case .diesAfter = fate { throw ProcessEnded() }
        return result
    }

    func discard() async throws {
        if sabotage == .atomicity {
            // What was gathered takes effect although the rest never came.
            var options = ReplacementOptions()
            options.deletesMissing = false
            _ = try await inner.apply(options)
        }
        try await inner.discard()
    }
}
