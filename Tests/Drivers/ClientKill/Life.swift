import Client
import Foundation

/// Edits notes of its own as the seed says. Each text is written once, so that a lost or a repeated edit shows.
struct Life {
    private let options: Options
    private let ledger: Ledger
    private let portico: Portico
    private let replica: Replica

    init(_ options: Options) async throws {
        guard let server = ServerAddress(options.server) else { throw Failure("no address") }
        self.options = options
        let folder = URL(fileURLWithPath: options.folder, isDirectory: true)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        ledger = try Ledger(folder.appendingPathComponent("ledger"))
        var random = SeededRandom(seed: options.seed &+ UInt64(options.session))
        let transport: any Transport =
            options.settles ? URLSessionTransport() : KillingTransport(using: &random)
        var limits = SyncLimits()
        limits.page = 5
        limits.batch = 3
        limits.pauses = .milliseconds(10)...(.milliseconds(200))
        let settings = PorticoSettings(
            transport: transport, replica: ReplicaSettings(collections: ["notes"], limits: limits),
            startsByItself: false)
        portico = try await Portico.open(server, in: folder.appendingPathComponent("app"), settings: settings)
        if try await portico.session.isSignedIn() == false {
            try await portico.signIn(name: "alice", password: "portico-demo")
        }
        replica = try await portico.replica()
    }

    /// What is on the device is what the ledger says.
    func verify() async throws {
        for (id, entry) in ledger.entries {
            let found = try await replica.record(id, in: "notes")?["text"]?.stringValue ?? "-"
            guard entry.possible.contains(found) else {
                throw Failure("\(id) is \(found), and should be one of \(entry.possible)")
            }
            try ledger.append("found", id, found)
        }
    }

    func live() async throws {
        var random = SeededRandom(seed: options.seed &* 31 &+ UInt64(options.session))
        await replica.start()
        for number in 0..<12 {
            try await edit("\(options.session).\(number)", &random)
            if Bool.random(using: &random) {
                try await Task.sleep(for: .milliseconds(Int.random(in: 0...40, using: &random)))
            }
        }
        await replica.sync(within: .seconds(30))
    }

    private func edit(_ text: String, _ random: inout SeededRandom) async throws {
        let known = ledger.entries.filter { $0.value.certain != "-" }.keys.sorted()
        let kind = Int.random(in: 0..<10, using: &random)
        guard let id = known.randomElement(using: &random), kind > 3 else { return try await create(text) }
        if kind == 9 {
            try ledger.append("begin", id, "-")
            try await replica.delete(id, in: "notes")
            try ledger.append("done", id, "-")
        } else {
            try ledger.append("begin", id, text)
            try await replica.update(id, in: "notes", ["text": .string(text)])
            try ledger.append("done", id, text)
        }
    }

    private func create(_ text: String) async throws {
        let id = UUID().uuidString.lowercased()
        try ledger.append("begin", id, text)
        try await replica.create(in: "notes", ["title": "kill", "text": .string(text)], id: id)
        try ledger.append("done", id, text)
    }

    /// Nothing may be stuck: prints the edits that became certain, and what the device has of each record.
    func settle() async throws {
        var status = await replica.sync(within: .seconds(60))
        for _ in 0..<20 where status.waiting > 0 { status = await replica.sync(within: .seconds(30)) }
        guard status.waiting == 0, status.problems.isEmpty, status.lastError == nil else {
            throw Failure("stuck: \(status)")
        }
        for note in try await replica.records(RecordQuery("notes")) {
            print("note \(note.id) \(note.revision) \(note["text"]?.stringValue ?? "")")
        }
        for (id, entry) in ledger.entries { print("ledger \(id) \(entry.certain) \(entry.edits)") }
    }
}
