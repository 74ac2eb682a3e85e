import AdapterKit
import Foundation
import Synchronization
import Testing

@testable import WorkerHost

/// The supervision with real processes.
@Suite(.timeLimit(.minutes(5))) struct SupervisedWorkerTests {
    @Test func aReadThatTheWorkersEndInterruptsIsAnsweredByTheNextOne() async throws {
        try await Supervised.run { worker in
            let before = worker.adapter.report.process
            await #expect(throws: PorticoError.self) { try await worker.call("write", "K") }
            try await worker.answers()
            #expect(worker.adapter.report.process != before)
            #expect(worker.adapter.report.restarts == 1)
        }
    }

    @Test func aWriteThatTheWorkersEndInterruptsIsNotSentAgain() async throws {
        try await Supervised.run { worker in
            let error = await #expect(throws: PorticoError.self) { try await worker.call("write", "X") }
            #expect(error?.code == .upstreamOutcomeUnknown)
            #expect(error?.retryAfter == nil)
            _ = try await worker.call("read", "a")
            #expect(worker.connector.sessions == 2)
            #expect(worker.adapter.crashes.map(\.callsUnderWay) == [1])
        }
    }

    @Test func aReadThatEndsEachWorkerIsSentTwiceAndNoMore() async throws {
        try await Supervised.run { worker in
            await #expect(throws: PorticoError.self) { try await worker.call("read", "K") }
            _ = try await worker.call("read", "a")
            #expect(worker.adapter.report.crashes == 2)
        }
    }

    @Test(arguments: ["K", "T", "X", "C", "M"])
    func whateverEndsAWorkerTheNextAnswers(_ order: String) async throws {
        try await Supervised.run { worker in
            await #expect(throws: PorticoError.self) { try await worker.call("write", order) }
            try await worker.answers()
            let crash = try #require(worker.adapter.crashes.last)
            let reasons: [String: Set<String>] = [
                "K": ["signal 9 (SIGKILL)"], "T": ["signal 4 (SIGILL)", "signal 5 (SIGTRAP)"], "X": ["exit status 3"],
                "C": ["The worker closed its socket and went on."], "M": ["signal 6 (SIGABRT)"],
            ]
            // On a busy machine its end may be noticed late.
            let reason = crash.reason.replacingOccurrences(
                of: "The worker closed its socket, and ended late: ", with: "")
            #expect(reasons[order]?.contains(reason) == true, "\(reason)")
            #expect(crash.callsUnderWay <= 1)
            #expect(crash.attempt == 1)
        }
    }

    @Test func aWorkerThatClosesItsSocketAndGoesOnIsReplacedWithoutAWait() async throws {
        var limits = SupervisionLimits()
        limits.disconnectTolerance = .seconds(600)
        try await Supervised.run(limits) { worker in
            await #expect(throws: PorticoError.self) { try await worker.call("write", "C") }
            try await worker.answers()
            #expect(worker.adapter.crashes.last?.exit == "signal 9 (SIGKILL)")
        }
    }

    @Test(arguments: [
        ("7 (worker) S 1 7 7 0 -1 4194304 1 2 3 4 5 6 7 8 9 10 12 0 8 9 3", false),
        ("7 (worker) Z 1 7 7 0 -1 4228108 1 2 3 4 5 6 7 8 9 10 12 0 8 9 3", true),
        // What a program calls itself is no end of its name.
        ("7 (a) Z 1 7 7 0 -1 4 ) S 1 7 7 0 -1 4194304 1 2 3 4 5 6 7 8 9 10 12 0 8 9 3", false),
        ("7 (worker) S 1 7 7 0 -1 4194304 1 2", nil), ("", nil), ("7 (worker) S 1 7 7 0 -1 x 1 2", nil),
    ])
    func whetherAProcessIsExitingIsAFlagAfterItsName(_ line: String, _ expected: Bool?) {
        let status = ProcessStatus(Array(line.utf8)[...])
        #expect(status?.isExiting == expected)
        #expect(status?.threads == expected.map { _ in 12 })
        #expect(status?.processorTime == expected.map { _ in .seconds(11 / Double(sysconf(Int32(_SC_CLK_TCK)))) })
        #expect(status?.residentBytes == expected.map { _ in 3 * UInt64(sysconf(Int32(_SC_PAGESIZE))) })
    }

    @Test func whatItsProcessesTookOfTheProcessorIsAddedUpAndNeverGoesBack() async throws {
        try await Supervised.run { worker in
            try await worker.answers()
            let first = worker.adapter.resourceUsage
            #expect((first.residentBytes ?? 0) > 100_000)
            await #expect(throws: PorticoError.self) { try await worker.call("write", "C") }
            try await worker.answers()
            let second = worker.adapter.resourceUsage
            #expect(second.processorTime >= first.processorTime && second.processorTime > .zero)
            await worker.adapter.stop()
            let last = worker.adapter.resourceUsage
            #expect(last.residentBytes == nil && last.processorTime >= second.processorTime)
        }
    }

    @Test func aWorkerWithMoreThreadsThanItsLimitIsEndedAndFailsTheSecondTime() async throws {
        try await Supervised.run { worker in
            await #expect(throws: PorticoError.self) { try await worker.call("write", "B") }
            try await worker.answers()
            let reason = worker.adapter.crashes.last?.reason
            #expect(reason?.hasSuffix(" threads; its limit is 64.") == true, "\(reason ?? "")")
            await #expect(throws: PorticoError.self) { try await worker.call("write", "B") }
            let error = await #expect(throws: PorticoError.self) { try await worker.call("read", "a") }
            #expect(error?.code == .adapterUnavailable)
            #expect(worker.adapter.report.state == "failed")
        }
    }

    @Test(arguments: ["H", "S"])
    func aWorkerThatHangsOrSpinsIsFoundByItsHeartbeat(_ order: String) async throws {
        var limits = SupervisionLimits()
        (limits.heartbeatInterval, limits.heartbeatTolerance) = (.milliseconds(50), .milliseconds(300))
        try await Supervised.run(limits) { worker in
            await #expect(throws: PorticoError.self) { try await worker.call("write", order) }
            try await worker.answers()
            #expect(worker.adapter.crashes.last?.reason.hasPrefix("It has not answered for") == true)
        }
    }

    @Test(arguments: ["Q", "Z"])
    func aWorkerThatAnswersHeartbeatsAndNoCallsIsReplacedOnceItsCallsExpired(_ order: String) async throws {
        var limits = SupervisionLimits()
        limits.heartbeatInterval = .milliseconds(50)
        limits.spinTolerance = order == "Q" ? .milliseconds(300) : .seconds(600)
        limits.stallTolerance = order == "Q" ? .seconds(600) : .milliseconds(300)
        try await Supervised.run(limits) { worker in
            try await worker.answers()
            for _ in 0..<limits.stallCalls {
                let call = Task { try await worker.call("write", order) }
                while !Task.isCancelled, worker.adapter.callCounts.inFlight == 0 { await Task.yield() }
                // It is sent a moment after it was let in, and the worker is to have one at least.
                try await Task.sleep(for: .milliseconds(50))
                call.cancel()
                await #expect(throws: CancellationError.self) { try await call.value }
            }
            // Nobody waits for it: callers who went away say nothing about a worker.
            try await Task.sleep(for: .seconds(1))
            #expect(worker.adapter.report.restarts == 0)
            await #expect(throws: PorticoError.self) { try await worker.call("write", order) }
            try await worker.answers()
            let reason = worker.adapter.crashes.last?.reason
            let expected = order == "Q" ? "The worker used the processor, and 4 calls" : "The worker let 4 calls expire"
            #expect(reason?.hasPrefix(expected) == true, "\(reason ?? "")")
        }
    }

    @Test func aWorkerWhoseCallsHangIsReplacedAsSoonAsOneHadAllOfItsTime() async throws {
        var limits = SupervisionLimits()
        limits.heartbeatInterval = .milliseconds(50)
        try await Supervised.run(limits) { worker in
            try await worker.answers()
            // It is cancelled when its time is over, as the gateway does it.
            let deadline = ContinuousClock.now.advanced(by: .milliseconds(300))
            let call = Task { try await worker.call("write", "Z", until: deadline) }
            try await Task.sleep(until: deadline.advanced(by: .milliseconds(10)))
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
            #expect(worker.adapter.report.restarts == 0)
            // This one has far longer than the calls before it: it ends with the worker, not by its own time.
            await #expect(throws: PorticoError.self) {
                try await worker.call("write", "Z", until: .now.advanced(by: .seconds(3_600)))
            }
            try await worker.answers()
            let reason = worker.adapter.crashes.last?.reason
            #expect(reason?.hasPrefix("Nothing came from the worker in the ") == true, "\(reason ?? "")")
        }
    }

    @Test func callsWaitForTheRestartAndAllAreAnswered() async throws {
        try await Supervised.run { worker in
            await #expect(throws: PorticoError.self) { try await worker.call("write", "K") }
            let answers = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<100 { group.addTask { try await worker.call("write", "a") } }
                return try await group.reduce(into: 0) { count, _ in count += 1 }
            }
            #expect(answers == 100)
        }
    }

    @Test func aWorkerThatCrashesAtEveryStartHasFailedWithItsReasonAndCallsAreRefusedAtOnce() async throws {
        var limits = SupervisionLimits()
        (limits.crashesToFail, limits.firstBackoff) = (4, .milliseconds(1))
        let connector = ByteConnector { number in
            if number > 1 { throw PorticoError(.serverInternal, "The start fails.") }
        }
        try await Supervised.run(limits, connector) { worker in
            await #expect(throws: PorticoError.self) { try await worker.call("write", "K") }
            let error = await #expect(throws: PorticoError.self) { try await worker.call("write", "a") }
            #expect(error?.code == .adapterUnavailable)
            #expect(worker.adapter.report.state == "failed")
            #expect(worker.adapter.report.reason?.contains("The start fails.") == true)
            #expect(!worker.adapter.report.isServing)
            #expect(worker.adapter.crashes.count == 4)
        }
    }

    @Test func aFirstStartThatFailsThrowsItsReasonAndCanBeRepeated() async throws {
        let connector = ByteConnector { number in
            if number == 1 { throw PorticoError(.upstreamFailed, "The first start fails.") }
        }
        let worker = Supervised(SupervisionLimits(), connector)
        let error = await #expect(throws: PorticoError.self) { try await worker.start() }
        #expect(error?.logDetail?.contains("The first start fails.") == true)
        try await worker.start()
        try await worker.answers()
        await worker.adapter.stop()
    }

    @Test func aProgramThatIsNotThereSaysSoInItsReason() async throws {
        let worker = Supervised(SupervisionLimits(), ByteConnector(), executable: "/nowhere/adapter")
        let error = await #expect(throws: PorticoError.self) { try await worker.start() }
        #expect(error?.logDetail?.contains("exit status 127") == true)
        #expect(error?.logDetail?.contains("/nowhere/adapter cannot be executed") == true)
        await worker.adapter.stop()
    }

    @Test func moreCallsThanTheLimitAreRefusedAndThoseUnderWayAreNot() async throws {
        var callLimits = CallLimits.unhurried
        callLimits.inFlight = 2
        try await Supervised.run(callLimits: callLimits) { worker in
            let outcome = await withTaskGroup(of: Bool.self) { group in
                // The worker answers none of them.
                for account in ["a", "b"] {
                    group.addTask {
                        await CallerIdentity.$current.withValue(.account(account)) {
                            (try? await worker.call("write", "H")) == nil
                        }
                    }
                }
                while !Task.isCancelled, worker.adapter.callCounts.inFlight < 2 { await Task.yield() }
                let error = await #expect(throws: PorticoError.self) { try await worker.call("write", "a") }
                await worker.adapter.stop()
                _ = await group.reduce(0) { count, _ in count + 1 }
                return error?.code
            }
            #expect(outcome == .overloaded)
        }
    }

    @Test func aRestartLaunchesAnotherProcessWithoutACrash() async throws {
        try await Supervised.run { worker in
            let before = worker.adapter.report.process
            worker.adapter.restart()
            while worker.adapter.report.restarts == 0 { try await Task.sleep(for: .milliseconds(1)) }
            try await worker.answers()
            #expect(worker.adapter.report.process != before)
            #expect(worker.adapter.report.crashes == 0)
        }
    }

    @Test func aStoppedWorkerLeavesNoProcessAndRefusesCalls() async throws {
        let worker = Supervised(SupervisionLimits(), ByteConnector())
        try await worker.start()
        let process = try #require(worker.adapter.report.process)
        await worker.adapter.stop()
        #expect(kill(process, 0) == -1)
        await #expect(throws: PorticoError.self) { try await worker.call("read", "a") }
        await #expect(throws: PorticoError.self) { try await worker.start() }
        await worker.adapter.stop()
    }

    @Test func theLastTwentyCrashReportsSurviveTheHost() async throws {
        let path = NSTemporaryDirectory() + "/crashes-\(UUID().uuidString).json"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let reports = CrashReports(path: path)
        for number in 1...25 {
            try reports.add(
                CrashReport(
                    time: Double(number), reason: "signal 4", exit: nil, uptime: 1, callsUnderWay: 2, attempt: number,
                    output: ["last words"]))
        }
        let read = CrashReports(path: path)
        #expect(read.all == reports.all)
        #expect(read.all.map(\.attempt) == Array(6...25))
        try Data("damaged".utf8).write(to: URL(filePath: path))
        #expect(CrashReports(path: path).all.isEmpty)
    }
}
