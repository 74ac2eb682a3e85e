import AdapterKit
import ConnectedSystems
import Foundation
import HostConfiguration
import WorkerHost

/// An adapter that a configuration can name, whether its declaration is code or a connection file.
struct ConfigurableAdapter {
    let name: AdapterName
    let options: [ConfigurationOption]
    /// The settings are those of its program, where it is one.
    let declare: (AdapterConfiguration, WorkerSettings) throws -> AdapterDeclaration
    let make: (AdapterConfiguration, WorkerSettings) throws -> any Adapter
    /// What it cannot offer of what a configuration asks for.
    private(set) var limitations: (AdapterConfiguration) throws -> [String] = { _ in [] }
    /// What a connection file says; nil: it is code.
    let connection: Connection?
    /// The file itself.
    let connectionText: String?
    /// From which the paths in it are meant; empty for code.
    private let connectionFolder: String
    /// Of one that runs as a worker.
    let workerLog: WorkerLog?
    /// Of one that is a program.
    let program: AdapterProgram?
    /// Of a program that is not left out.
    let described: DescribedWorker?
    /// Whether it is served only where the configuration names it: one that is compiled in.
    let needsName: Bool
    /// Why its program is left out; nil: it is not, or there is none.
    let absence: String?

    /// Of its keys.
    var path: [String] { ["adapters", name.text] }

    /// The files that a connection file names, closed to programs as it is itself.
    var namedByConnection: [NamedPath] {
        (connection?.files ?? []).map { file in
            NamedPath(
                key: "adapters.\(name).\(Self.connect.path)",
                path: file.hasPrefix("/") ? file : "\(connectionFolder)/\(file)", from: .workingDirectory)
        }
    }

    /// The system that a connection file names, and where it does.
    var upstream: (name: UpstreamName, location: ConfigurationLocation)? { connection?.upstream }

    init(_ compiled: CompiledAdapter) {
        let module = compiled.module
        name = module.name
        options = module.options
        declare = { configuration, _ in try module.declare(configuration) }
        make = { configuration, _ in try module.make(configuration) }
        limitations = compiled.limitations
        (connection, connectionText, workerLog, program, absence) = (nil, nil, nil, nil, nil)
        (described, connectionFolder, needsName) = (nil, "", true)
    }

    /// One whose program is left out: what it declared last, and what stands for it. Its options are not known. `reason`: of one
    /// that was not asked yet.
    init(
        absent declaration: AdapterDeclaration, _ adapter: any Adapter, program: AdapterProgram,
        because reason: String? = nil
    ) {
        name = declaration.name
        options = []
        declare = { _, _ in declaration }
        make = { _, _ in adapter }
        (connection, connectionText, workerLog, described) = (nil, nil, nil, nil)
        (self.program, absence) = (program, program.absence ?? reason)
        (connectionFolder, needsName) = ("", false)
    }

    init(_ worker: WorkerPlugin, program: AdapterProgram) {
        let (described, log) = (DescribedWorker(worker), WorkerLog())
        name = worker.name
        options = worker.options
        declare = { try described.description(with: $0, $1).declaration }
        make = { worker.adapter(try described.description(with: $0, $1), $0, $1, log: log) }
        (connection, connectionText, absence) = (nil, nil, nil)
        (self.program, self.described) = (program, described)
        (workerLog, connectionFolder, needsName) = (log, "", false)
    }

    /// One that a connection file describes, with its text and its path.
    init(_ name: AdapterName, _ connection: Connection, text: String, path: String) {
        self.name = name
        options = [Self.connect]
        declare = { _, _ in connection.declaration(named: name) }
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        make = { _, _ in ConnectedAdapter(connection, directory: folder) }
        (self.connection, connectionFolder) = (connection, folder)
        connectionText = text
        (workerLog, program, described, absence, needsName) = (nil, nil, nil, nil, false)
    }

    /// What is wrong with its options.
    var problems: [DeclarationProblem] { ConfigurationOption.problems(of: options.filter { $0 != Self.connect }) }

    /// Where a connection file says what an option would.
    func location(of option: String) -> ConfigurationLocation? { option == "upstream" ? upstream?.location : nil }

    /// Of every name, for the reference.
    static let connect = ConfigurationOption(
        "connect", .file,
        summary:
            "A connection file (docs/connect.md), relative to this one: the adapter is made of it, whatever its name.")
}
