import AdapterKit
import RecordStorage
import SyncDevice
import SyncMessages
import WireFormats

/// One run: devices, a network and a server at the mercy of one seed. Then the faults stop, and every promise is checked.
public struct Simulation {
    let plan: SimulationPlan
    var random: SeededRandom
    let clock = VirtualClock()
    var queue = EventQueue<SimulatedEvent>()
    var trace: Trace
    var server: SimulatedServer
    var devices: [SimulatedDevice] = []
    var watchers: [SimulatedWatcher] = []
    /// The server's ends of their streams, as far as there are any.
    var streams: [ServerStream?] = []
    /// Up to where the server has looked at what changed, for the streams.
    var toldPosition = Revision(0)
    /// Of the store, when the server did so last.
    var announcedPosition = Revision(0)
    var edits: [String: EditRecord] = [:]
    /// The rows that belong to each token that was handed out, by person and token.
    var rowsOfTokens: [String: [RecordKey: Int64]] = [:]
    /// The history and the position of each checkpoint that ended a pull.
    var checkpoints: [String: (epoch: Int, position: Int64)] = [:]
    /// What each sequence of each client was answered.
    var toldOutcomes: [String: MutationOutcome] = [:]
    /// Every sequence that was ever made or refused, in whichever history.
    var answeredSequences: Set<String> = []
    var faults = Faults()
    var features: SimulationFeatures
    var deletedKeys: [RecordKey] = []
    var collected = SimulationCounts()
    private let folder = ScratchFolder()

    public init(_ plan: SimulationPlan) async throws {
        self.plan = plan
        random = SeededRandom(seed: plan.seed)
        features = SimulationFeatures(&random)
        trace = Trace(isKept: plan.keepsTrace)
        server = try await SimulatedServer(clock: clock, sabotage: plan.sabotage, seed: plan.seed)
        if server.positionLags { collected.count("positions that lag") }
        try await populate()
    }

    /// Throws ``Violation``.
    public mutating func run() async throws -> SimulationReport {
        do {
            for _ in 0..<plan.operations {
                try await operate()
                try checkJournal(random.below(devices.count))
                try await pass(milliseconds: random.below(3 * SimulatedTime.second))
            }
            try await settle()
            try await verify()
            return report(nil)
        } catch let violation as Violation {
            trace.add("VIOLATION \(violation)")
            return report(violation)
        }
    }

    private func report(_ violation: Violation?) -> SimulationReport {
        SimulationReport(violation: violation, trace: trace.lines, digest: trace.digest, counts: collected)
    }

    private mutating func populate() async throws {
        for person in SimulatedAdapter.people where random.chance(60) {
            server.roles[person] = [SimulatedAdapter.auditor]
        }
        for id in SimulatedAdapter.roomIDs {
            let members = SimulatedAdapter.people.filter { _ in random.chance(60) }.map(WireValue.string)
            try await server.change(
                RecordChange("rooms", .create(RecordID(unchecked: id), ["members": .array(members)])))
        }
        let formats = FormatCatalogue.standard.formats
        for number in 0..<(3 + random.below(6)) {
            var limits = DeviceLimits(
                pageOperations: 1 + random.below(6), batchMutations: 1 + random.below(4),
                pauses: .seconds(1)...(.seconds(40_000)))
            limits.refetches = 3
            limits.gatheredRecords = 1 + number % 3
            devices.append(
                try SimulatedDevice(
                    number, person: SimulatedAdapter.people[number % SimulatedAdapter.people.count],
                    format: formats[number % formats.count],
                    limits: limits, keeping: keeping(number)))
        }
        for number in 0..<(1 + random.below(2)) {
            let person = SimulatedAdapter.people[random.below(SimulatedAdapter.people.count)]
            watchers.append(SimulatedWatcher(person: person, format: formats[(number + 1) % formats.count]))
            streams.append(nil)
            connect(number)
        }
    }

    /// Every other device has its rows elsewhere; in some runs one has a file, as an app has.
    private mutating func keeping(_ number: Int) throws -> SimulatedDevice.Keeping {
        guard number == plan.deviceInFile else {
            return number.isMultiple(of: 2) ? .rowStore(PersistedRowStore()) : .memory
        }
        collected.count("devices in a file")
        return .file(ReplicaFile(at: try folder.file("d\(number).sqlite"), sabotage: plan.sabotage))
    }

    /// Lets time go by, and what is due in it happen.
    mutating func pass(milliseconds: Int) async throws {
        let end = clock.elapsed + milliseconds
        while let time = queue.nextTime, time <= end, let event = queue.next() {
            clock.advance(to: time)
            try await handle(event)
        }
        clock.advance(to: end)
    }
}

/// What can happen in this run at all. Some runs do without what sends devices back to the start, because only long
/// histories show what goes wrong in them.
struct SimulationFeatures {
    let hasGrants: Bool
    let hasCompactions: Bool
    let hasRestores: Bool
    let hasLeaps: Bool

    init(_ random: inout SeededRandom) {
        hasGrants = random.chance(70)
        hasCompactions = random.chance(50)
        hasRestores = random.chance(50)
        hasLeaps = random.chance(70)
    }
}

/// How likely each misfortune is, in percent.
struct Faults {
    var lost = 8
    var doubled = 8
    var serverDeath = 4
    var deviceDeath = 2
    /// A device with a file ends at one of its commits.
    var commitDeath = 4
    /// An operation of a page is lost on the way, unnoticed.
    var mutilated = 1
    /// Milliseconds that a message may take.
    var delay = 4 * SimulatedTime.second

    static let none = Faults(
        lost: 0, doubled: 0, serverDeath: 0, deviceDeath: 0, commitDeath: 0, mutilated: 0, delay: 200)
}

/// What came of a run.
public struct SimulationReport: Sendable {
    /// Nil where every promise held.
    public let violation: Violation?
    public let trace: [String]
    public let digest: UInt64
    public let counts: SimulationCounts

    /// What a run came to.
    public init(violation: Violation?, trace: [String], digest: UInt64, counts: SimulationCounts) {
        self.violation = violation
        self.trace = trace
        self.digest = digest
        self.counts = counts
    }
}

/// How often what happened: a run in which nothing happens proves nothing.
public struct SimulationCounts: Sendable {
    public private(set) var counts: [String: Int] = [:]

    public init() {}

    /// Adds one to what is counted under a name.
    public mutating func count(_ what: String) { counts[what, default: 0] += 1 }

    public mutating func add(_ other: SimulationCounts) { counts.merge(other.counts, uniquingKeysWith: +) }
}
