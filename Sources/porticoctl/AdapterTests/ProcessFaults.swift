import Foundation
import ValueTree

/// Faults of an adapter's process, made by signals while calls go on.
struct ProcessFaults {
    let gateway: TrialGateway
    let adapter: TriedAdapter
    /// Calls that the program answered.
    let reads: [AdapterFixtures.Call]
    /// Within which the program must serve again.
    let recovery: Duration

    private enum Fault: String, CaseIterable {
        case killed = "killed"
        case stopped = "stopped"
        case delayed = "killed, and its next start delayed by half a second"
    }

    /// Beyond the time in which the gateway finds a program that does not answer.
    private static let stopTolerance = Duration.seconds(10)
    private static let startDelay = Duration.milliseconds(500)
    private static let stableUptime = Duration.milliseconds(1_100)
    private static let callers = 4

    func check(_ report: inout CheckReport) async throws {
        guard try await gateway.process(of: adapter.name) != nil else {
            return report.noteSkipped("\(adapter.name): faults", "none: it runs in the gateway's process")
        }
        // What reaches the program: without it, its records are answered all the same.
        let hasCalls = !reads.isEmpty || !adapter.mirrors.isEmpty
        for isUnderCalls in [false, true] where !isUnderCalls || hasCalls {
            for fault in Fault.allCases {
                let calls = isUnderCalls ? "under calls" : hasCalls ? "between calls" : "without calls that reach it"
                let name = "\(adapter.name): \(fault.rawValue) \(calls)"
                // One that has run for a second is started at once, and earlier crashes are forgotten.
                try await Task.sleep(for: Self.stableUptime)
                report.check(name, try await problem(after: fault, isUnderCalls: isUnderCalls))
            }
        }
    }

    private func problem(after fault: Fault, isUnderCalls: Bool) async throws -> String? {
        guard let before = try await serving(other: nil, within: recovery) else {
            return "it does not serve: \(try await gateway.process(of: adapter.name)?.reason ?? "")"
        }
        let allowed = fault == .stopped ? recovery + Self.stopTolerance : recovery
        return try await withThrowingTaskGroup(of: String?.self) { group in
            if isUnderCalls {
                for _ in 0..<Self.callers { group.addTask { await callUntilCancelled() } }
                try await Task.sleep(for: .milliseconds(100))
            }
            let problem = try await make(fault, before, within: allowed)
            // Calls go on for a moment after it serves again.
            if isUnderCalls { try await Task.sleep(for: .milliseconds(200)) }
            group.cancelAll()
            var problems = [problem]
            while let found = try await group.next() { problems.append(found) }
            if problem == nil { problems.append(await problemAfterwards()) }
            return problems.compactMap { $0 }.first
        }
    }

    private func make(_ fault: Fault, _ process: Int32, within time: Duration) async throws -> String? {
        let signal = fault == .stopped ? SIGSTOP : SIGKILL
        guard kill(process, signal) == 0 else { return "process \(process) cannot be signalled" }
        if fault == .delayed, let next = try await next(after: process, within: time) {
            kill(next, SIGSTOP)
            try await Task.sleep(for: Self.startDelay)
            kill(next, SIGCONT)
        }
        if try await serving(other: process, within: time) != nil { return nil }
        guard gateway.isRunning else { return "the gateway has ended" }
        let state = try await gateway.process(of: adapter.name)?.reason ?? ""
        let line = gateway.log(with: ["worker wrote", "worker ended"]).map { "; the log says \($0)" } ?? ""
        return "it does not serve again within \(time): \(state)\(line)"
    }

    /// The process as soon as it is another one; nil: there is none in time.
    private func next(after process: Int32, within time: Duration) async throws -> Int32? {
        let end = ContinuousClock.now + time
        while ContinuousClock.now < end {
            if let id = try await gateway.process(of: adapter.name)?.id, id != process { return id }
            try await Task.sleep(for: .milliseconds(5))
        }
        return nil
    }

    /// The process that serves, another one than this; nil: there is none in time.
    private func serving(other process: Int32?, within time: Duration) async throws -> Int32? {
        let end = ContinuousClock.now + time
        while ContinuousClock.now < end {
            if let now = try await gateway.process(of: adapter.name), now.serves, let id = now.id, id != process {
                return id
            }
            try await Task.sleep(for: .milliseconds(20))
        }
        return nil
    }

    /// Nil: each was answered as before, or with 503 or 504.
    private func callUntilCancelled() async -> String? {
        while !Task.isCancelled {
            for mirror in adapter.mirrors {
                // It may fail while the program is away; the mirror has its rows all the same.
                _ = try? await gateway.administration.post(adapter.refreshPath(mirror), [:])
            }
            for call in reads {
                let answer = await gateway.send(call.method, call.path, call.body)
                if Task.isCancelled { return nil }
                guard answer.status >= 200, answer.status < 400 || [503, 504].contains(answer.status) else {
                    return "\(call.method) \(call.path) was answered with \(answer.summary) meanwhile"
                }
            }
        }
        return nil
    }

    private func problemAfterwards() async -> String? {
        let health = await gateway.send("GET", "/health/live")
        guard health.status == 200 else { return "the gateway's /health/live is answered with \(health.summary)" }
        for call in reads {
            let answer = await gateway.send(call.method, call.path, call.body)
            guard (200..<400).contains(answer.status) else {
                return "\(call.method) \(call.path) is answered with \(answer.summary) afterwards"
            }
        }
        return nil
    }
}
