import AdapterKit
import Synchronization
@_exported import UpstreamRecording

/// Checks what an adapter does when the system that it calls fails or lies.
///
/// ```swift
/// let recorded = RecordReplayUpstream(replaying: Recording(folder: "Fixtures"), url: url)
/// let conformance = UpstreamConformance(BalancesModule.self, upstream: recorded, calls: [.init("balance")])
/// #expect(await conformance.problems() == [])
/// ```
/// Under every fault of ``Chaos`` but the delay, and under mixtures of them by seed, each call has to answer as it declares
/// or fail with an error of the registry; a read changes no record; a login page and a failure of the system are not taken
/// for data; and once the faults are over, the call answers as before them.
public struct UpstreamConformance: Sendable {
    private let module: any AdapterModule.Type
    private let configuration: AdapterConfiguration
    private let upstream: any Upstream
    private let calls: [AdapterConformance.Example]

    /// `upstream` answers as the system does when all is well: recorded answers or a ``ScriptedUpstream``. Each of the
    /// `calls` is made on a host of its own.
    public init(
        _ module: any AdapterModule.Type, configuration: AdapterConfiguration = AdapterConfiguration(),
        upstream: any Upstream, calls: [AdapterConformance.Example]
    ) {
        self.module = module
        self.configuration = configuration
        self.upstream = upstream
        self.calls = calls
    }

    /// A kind of faults, as a share of the answers.
    private struct Trial {
        let words: String
        let shares: Chaos.Shares
        let seed: UInt64
        /// Whether an answer can only be the genuine one, kept from before.
        let hidesTheAnswer: Bool
    }

    /// Empty for an adapter that keeps every rule. `seeds`: how many mixtures of faults each call meets.
    public func problems(seeds: Int = 50) async -> [String] {
        var problems: [String] = []
        for call in calls {
            do {
                for trial in Self.trials(seeds) { problems += try await self.problems(of: call, under: trial) }
            } catch {
                problems.append("\(call.operation) does not answer while all is well: \(error)")
            }
        }
        return problems
    }

    private func problems(of example: AdapterConformance.Example, under trial: Trial) async throws -> [String] {
        let faulty = SwitchedUpstream(upstream)
        let host = try await TestHost(module, configuration, withSamples: true, upstream: faulty)
        for call in example.preparation { try await host.call(call.operation, call.input, as: call.caller) }
        func call() async throws -> OperationResult {
            try await host.call(example.operation, example.input, as: example.caller)
        }
        let isRead = host.declaration.operation(example.operation)?.effect == .reads
        // A write is made once in good times, on another host: its second answer may differ.
        let genuine = isRead ? try await call() : nil
        let position = host.records.position
        faulty.set(RecordReplayUpstream(upstream, .upstream, Chaos(seed: trial.seed, trial.shares)))
        var problems: [String] = []
        do {
            let answer = try await call()
            if trial.hidesTheAnswer, let genuine, answer != genuine {
                problems.append("\(example.operation) takes \(trial.words) for an answer")
            }
        } catch is UpstreamFailure {
        } catch is MirrorRefusal {
        } catch let error as PorticoError where error.code != .serverInternal {
        } catch {
            problems.append("\(example.operation) throws what is not in the registry under \(trial.words): \(error)")
        }
        if isRead, host.records.position != position {
            problems.append("\(example.operation) reads, but changes records under \(trial.words)")
        }
        faulty.set(upstream)
        if let genuine {
            do {
                if try await call() != genuine {
                    problems.append("\(example.operation) answers differently after \(trial.words)")
                }
            } catch {
                problems.append("\(example.operation) does not answer after \(trial.words): \(error)")
            }
        }
        await host.stop()
        return problems
    }

    private static func trials(_ seeds: Int) -> [Trial] {
        func all(_ words: String, _ share: WritableKeyPath<Chaos.Shares, Int>, hides: Bool = false) -> Trial {
            var shares = Chaos.Shares()
            shares[keyPath: share] = 100
            return Trial(words: words, shares: shares, seed: 1, hidesTheAnswer: hides)
        }
        var mixed = Chaos.Shares()
        (mixed.truncate, mixed.corrupt, mixed.reset, mixed.lie, mixed.fail) = (15, 15, 15, 15, 15)
        return [
            all("a login page", \.lie, hides: true), all("a failure of the system", \.fail, hides: true),
            all("a reset connection", \.reset, hides: true), all("an answer that is cut off", \.truncate),
            all("an answer with a wrong bit", \.corrupt),
        ]
            + (0..<max(seeds, 0)).map {
                Trial(words: "the faults of seed \($0)", shares: mixed, seed: UInt64($0), hidesTheAnswer: false)
            }
    }
}

/// An upstream in whose place another one can be put while an adapter has it.
private final class SwitchedUpstream: Upstream {
    private let current: Mutex<any Upstream>
    let name: UpstreamName
    let url: UpstreamAddress
    let actsForCallers: Bool

    init(_ upstream: any Upstream) {
        (name, url, actsForCallers) = (upstream.name, upstream.url, upstream.actsForCallers)
        current = Mutex(upstream)
    }

    func set(_ upstream: any Upstream) { current.withLock { $0 = upstream } }

    func stream(_ request: UpstreamRequest, for caller: Principal?) async throws(UpstreamFailure) -> UpstreamStream {
        let upstream = current.withLock { $0 }
        return try await upstream.stream(request, for: caller)
    }
}
