import AdapterKit
import Foundation
import Synchronization
import Testing

@testable import WorkerHost

/// The real launcher and a hostile program, `Tests/Drivers/HostileWorker`.
@Suite(.timeLimit(.minutes(5))) struct ProcessTests {
    // MARK: What a worker has

    @Test func aWorkerHasItsSocketAndItsOutputAndNoOtherDescriptorOfTheHost() async throws {
        // Without close-on-exec, as a careless library opens them.
        let careless = (0..<20).map { _ in open("/dev/null", O_RDONLY) }
        defer { for descriptor in careless { close(descriptor) } }
        let worker = try await Worker.run("descriptors")
        #expect(worker.lines == ["descriptor 0", "descriptor 1", "descriptor 2", "descriptor 3"])
    }

    @Test func aWorkerHasItsOwnFolderASessionAndNothingOfTheHostsEnvironment() async throws {
        let worker = try await Worker.run("environment")
        #expect(worker.lines.contains("in \(worker.folder), session of its own: yes"))
        #expect(worker.lines.contains("SWIFT_BACKTRACE=enable=no"))
        #expect(worker.lines.contains("core files: 0"))
        let names = Set(worker.lines.filter { $0.contains("=") }.map { $0.prefix { $0 != "=" } })
        // The last is of the program itself, where it is built for coverage.
        #expect(
            names.subtracting(["TZ", "__LLVM_PROFILE_RT_INIT_ONCE"])
                == ["PATH", "LANG", "HOME", "TMPDIR", "SWIFT_BACKTRACE", "PORTICO_WORKER_SOCKET"])
    }

    @Test func bytesGoBothWaysOverTheSocket() async throws {
        let worker = try await Worker.start("serve")
        defer { worker.end() }
        #expect(worker.ask(65) == 65)
        #expect(worker.process.exit == nil)
    }

    @Test func aWorkerThatRunsIsSeenToRunWhereTheKernelReportsNoEnds() async throws {
        let worker = try await Worker.start("serve")
        defer { worker.end() }
        #expect(!worker.process.hasEnded)
        #expect(worker.ask(65) == 65)
    }

    // MARK: What a worker cannot do

    @Test func aWorkerStartsNoProcessAndExecutesNothingButStartsThreads() async throws {
        let worker = try await Worker.run("processes")
        #expect(
            worker.lines == [
                "fork: EPERM", "vfork: EPERM", "clone: EPERM", "clone3: ENOSYS", "execve: ENOSYS", "execveat: EPERM",
                "thread: possible",
            ])
    }

    @Test func aWorkerOpensNoSocketButAStreamPair() async throws {
        let worker = try await Worker.run("network")
        #expect(
            worker.lines == [
                "inet: EPERM", "inet6: EPERM", "unix: EPERM", "netlink: EPERM", "datagram pair: EPERM",
                "stream pair: possible",
            ])
    }

    @Test func aWorkerReachesNoOtherProcessAndNoMemoryThatIsNotCounted() async throws {
        let worker = try await Worker.run("others")
        #expect(worker.lines.filter { $0.hasSuffix("possible") } == ["signal itself: possible"])
        #expect(worker.lines.count == 19)
    }

    @Test func aWorkerLearnsOfNoChangesInFoldersOfOthers() async throws {
        let worker = try await Worker.run("watching")
        #expect(worker.lines.count >= 4)
        #expect(worker.lines.filter { !$0.hasSuffix(": EPERM") } == [])
    }

    @Test func aWorkerReadsAndWritesItsOwnFolderAlone() async throws {
        let outside = NSTemporaryDirectory() + "/outside-\(UUID().uuidString)"
        try Data("kept".utf8).write(to: URL(filePath: outside))
        defer { try? FileManager.default.removeItem(atPath: outside) }
        let worker = try await Worker.run("files", outside)
        let possible = worker.lines.filter { $0.hasSuffix("possible") }
        #expect(
            possible == ["write inside: possible", "write to the file: possible", "remove inside: possible"])
        #expect(worker.lines.count == 14)
        // A process that opens a leased file for writing waits for the worker.
        #expect(worker.lines.contains("lease: EPERM") && worker.lines.contains("delegation: EPERM"))
        #expect(try String(contentsOfFile: outside, encoding: .utf8) == "kept")
    }

    @Test func anAllocationOfTenGigabytesFailsAndSoDoSmallOnesBeyondTheLimit() async throws {
        let worker = try await Worker.run("memory", limits: WorkerLimits(memory: 64 << 20))
        #expect(worker.lines.first == "10 GB: ENOMEM")
        let taken = worker.lines.last.flatMap { Int($0.filter(\.isNumber)) }
        #expect(taken.map { $0 > 16 && $0 < 64 } == true)
    }

    @Test func aWorkerThatSpinsEndsWithItsProcessorTime() async throws {
        let worker = try await Worker.run("spin", limits: WorkerLimits(processorSeconds: 1))
        #expect(worker.exit == .signal(SIGKILL) || worker.exit == .signal(SIGXCPU))
    }

    // MARK: How a worker ends

    @Test(arguments: [
        (["kill"], ProcessExit.signal(SIGKILL)), (["exit", "3"], .status(3)), (["exit", "0"], .status(0)),
    ])
    func theHostLearnsHowAWorkerEnded(_ mode: [String], _ expected: ProcessExit) async throws {
        let worker = try await Worker.run(mode[0], Array(mode.dropFirst()))
        #expect(worker.exit == expected)
    }

    @Test func aTrapIsReportedAsItsSignal() async throws {
        let worker = try await Worker.run("trap")
        #expect(worker.exit == .signal(SIGILL) || worker.exit == .signal(SIGTRAP))
    }

    @Test func aWorkerThatIgnoresTerminationIsKilled() async throws {
        let worker = try await Worker.start("stubborn")
        try await worker.wrote("ignores SIGTERM")
        worker.process.terminate()
        #expect(worker.process.exit == nil)
        worker.process.kill()
        #expect(await worker.process.waitForExit() == .signal(SIGKILL))
        worker.end()
    }

    @Test func everyWorkerIsWaitedForAndLeavesNoDescriptor() async throws {
        _ = try await Worker.run("exit", "0")
        // Other tests open descriptors of their own meanwhile, in one round or another; a leak shows in every round.
        for round in 1... {
            let before = try Self.descriptors()
            for _ in 0..<Self.workers {
                let worker = try await Worker.start("hang")
                worker.process.kill()
                _ = await worker.process.waitForExit()
                // No such child is left to wait for.
                #expect(waitpid(worker.process.id, nil, WNOHANG) == -1)
                worker.end()
            }
            let grown = try Self.descriptors() - before
            if grown < Self.workers { return }
            try #require(round < 50, "\(grown) more")
        }
    }

    @Test func aProgramThatIsNotThereIsReportedByTheLauncher() async throws {
        let worker = try await Worker.run(program: "/nowhere/adapter", [])
        #expect(worker.exit == .status(127))
        #expect(worker.lines.last?.hasSuffix("/nowhere/adapter cannot be executed: No such file or directory") == true)
    }

    @Test func aLauncherThatIsNotThereIsAnError() async throws {
        var program = Worker.program("serve", [])
        program.launcher = "/nowhere/launcher"
        defer { try? FileManager.default.removeItem(atPath: program.folder) }
        await #expect(throws: PorticoError.self) {
            _ = try await WorkerProcesses.shared.start(program, log: .discarding)
        }
    }

    @Test func aLauncherWhoseHostHasEndedStartsNothing() async throws {
        // The host that is named is not the parent any more.
        let launcher = Process()
        launcher.executableURL = URL(filePath: Worker.program("serve", []).launcher)
        launcher.arguments = ["--parent", "1", "--folder", "/tmp", "--", "/bin/true"]
        let output = Pipe()
        launcher.standardError = output
        try launcher.run()
        launcher.waitUntilExit()
        #expect(launcher.terminationStatus == 125)
        let said = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        #expect(said == "portico-worker-launcher: the host has ended\n")
    }

    @Test func aScriptThatNamesItsInterpreterByEnvIsRefusedWithAReason() async throws {
        let folder = NSTemporaryDirectory() + "/script-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try Data("#!/usr/bin/env python3\n".utf8).write(to: URL(filePath: folder + "/adapter"))
        chmod(folder + "/adapter", 0o700)
        let worker = try await Worker.run(program: folder + "/adapter", [])
        #expect(worker.exit == .status(125))
        #expect(worker.lines.last?.contains("name it by its path, as in #!/usr/bin/python3") == true)
    }

    // MARK: Output

    @Test func aHundredMegabytesOfOutputBecomeAFewLinesAndACount() async throws {
        let worker = try await Worker.run("flood")
        #expect(worker.exit == .status(7))
        #expect(worker.lines.count < 1_000)
        #expect(worker.omitted > 100_000)
        #expect(worker.process.lastLines.count == 20)
    }

    private static let workers = 40

    private static func descriptors() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
    }
}
