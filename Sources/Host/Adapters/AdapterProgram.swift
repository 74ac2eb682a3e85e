import AdapterKit
import Synchronization
import WorkerHost

/// A program that is to be an adapter. It is asked once what it is; one that does not answer, or claims a path of another
/// adapter, is *absent*, and the others are served without it until that is over. Why:
/// docs/decisions/0408-serve-the-others-while-an-adapters-program-is-absent.md.
final class AdapterProgram: Sendable {
    private enum State {
        case unasked
        case known(WorkerPlugin)
        /// And why.
        case absent(String)
        /// It does not say what it is, and nothing works without it.
        case refused(any Error)
    }

    /// Of one that was installed; nil: it says it itself.
    private let name: AdapterName?
    private let path: String
    private let files: GatewayFiles
    /// Whether nothing works without it: it is being installed.
    let isRequired: Bool
    private let state: Mutex<State>
    private let isBeingAsked = Mutex(false)
    /// By which it is run to be asked.
    private let settings: Mutex<Result<WorkerSettings, HostCommandError>>
    private let returns = Mutex<WorkQueue<AdapterName>?>(nil)

    /// A program that was installed as this adapter, or is being installed; nil: one that a configuration names.
    init(_ path: String, installedAs name: AdapterName? = nil, files: GatewayFiles, isRequired: Bool = false) {
        (self.path, self.name, self.files, self.isRequired) = (path, name, files, isRequired)
        settings = Mutex(.success(WorkerSettings(files: files)))
        state = Mutex(.unasked)
    }

    /// An adapter that was installed and cannot be used as it is.
    init(unusable name: AdapterName, files: GatewayFiles, because reason: String) {
        (path, self.name, self.files, isRequired) = ("", name, files, false)
        settings = Mutex(.success(WorkerSettings(files: files)))
        state = Mutex(.absent(reason))
    }

    var isInstalled: Bool { name != nil }

    /// Its file.
    var file: String { path }

    /// The folder of its file where it may not read that, because the gateway's own files are there.
    var unreadableFolder: String? {
        guard !path.isEmpty else { return nil }
        let folder = WorkerProgram.folders(of: path).program
        return files.isReadable(codeFolder: folder) ? nil : folder
    }

    /// What the configuration names below the folders that it reads by these settings.
    func namedFiles(by settings: WorkerSettings) -> [(named: GatewayFiles.Named, folder: String)] {
        path.isEmpty ? [] : settings.namedFiles(inFoldersOf: path)
    }

    /// The adapter that it is, as far as that is known before it is asked: the one that it was installed as, or was when it was
    /// last started; nil: it is not known.
    var knownName: AdapterName? { name ?? last?.declaration.name }

    /// Stands for it while the keys of its settings are read.
    var placeholder: ConfigurableAdapter? {
        knownName.map {
            ConfigurableAdapter(
                absent: .unknown($0), AbsentAdapter($0, self), program: self, because: "It was not asked yet.")
        }
    }

    /// It is asked with these settings from now on; a failure is why it cannot be.
    func use(_ settings: Result<WorkerSettings, HostCommandError>) { self.settings.withLock { $0 = settings } }

    /// Asks those that were not asked yet, side by side: one that hangs takes its time once, not for each that does. What is wrong
    /// with them is thrown by ``adapter()``. Blocks its thread.
    static func ask(_ programs: [AdapterProgram]) {
        SideBySide.run(programs.count) { _ = try? programs[$0].adapter() }
    }

    /// As a configuration can name it. Asks it the first time, and blocks its thread. Throws where it does not answer and
    /// nothing is known of it, or it is needed.
    func adapter() throws -> ConfigurableAdapter {
        switch state.withLock({ $0 }) {
        case .known(let plugin): return ConfigurableAdapter(plugin, program: self)
        case .absent: return try absentAdapter()
        case .refused(let error): throw error
        case .unasked: break
        }
        do {
            let plugin = try checked(WorkerPlugin(path, settings.withLock { $0 }.get(), hint: hint))
            state.withLock { $0 = .known(plugin) }
            return ConfigurableAdapter(plugin, program: self)
        } catch {
            guard markUnavailable(because: "\(error)") else {
                state.withLock { $0 = .refused(error) }
                throw error
            }
            return try absentAdapter()
        }
    }

    /// It is absent from now on. False where it cannot be: nothing is known of it, or it is needed.
    func markUnavailable(because reason: String) -> Bool {
        guard !isRequired, name != nil || last != nil else { return false }
        state.withLock { $0 = .absent(reason) }
        return true
    }

    /// Why it is absent; nil: it is not.
    var absence: String? {
        if case .absent(let reason) = state.withLock({ $0 }) { reason } else { nil }
    }

    /// Asks an absent program again. Throws where it does not answer; it is absent still. Nothing for one that is not absent, or
    /// is being asked.
    func askAgain() async throws {
        guard let reason = absence,
            isBeingAsked.withLock({ isAsked in
                defer { isAsked = true }
                return !isAsked
            })
        else { return }
        defer { isBeingAsked.withLock { $0 = false } }
        do {
            guard !path.isEmpty else { throw HostCommandError(reason) }
            let settings = try settings.withLock { $0 }.get()
            let plugin = try checked(await WorkerPlugin.asking(path, settings, hint: hint))
            state.withLock { $0 = .known(plugin) }
        } catch {
            state.withLock { $0 = .absent("\(error)") }
            throw error
        }
    }

    /// Attempts to start the adapter go there while it is absent.
    func report(to returns: WorkQueue<AdapterName>) { self.returns.withLock { $0 = returns } }

    fileprivate func attempt(_ name: AdapterName) { returns.withLock { $0 }?.add(name) }

    /// What can be set for a program that does not answer, and where.
    private var hint: String { settingsHint + (unreadableFolder == nil ? "" : "; \(Self.folderHint)") }

    private static let folderHint =
        "it reads nothing of its folder but its own file, since the configuration or the gateway's data lie there: put it into"
        + " a folder of its own, with what it reads"

    private var settingsHint: String {
        guard let name = knownName else {
            return
                "its name is not known before it answers, so it was run with the defaults of worker.readable, worker.sandbox"
                + " and worker.limits; installed as a package it is run with those of adapters.NAME.worker"
        }
        return "it was run with the readable, sandbox and limits of adapters.\(name).worker"
    }

    private func checked(_ plugin: WorkerPlugin) throws -> WorkerPlugin {
        guard let name, plugin.name != name else { return plugin }
        throw HostCommandError(
            "The program of the adapter \(name) names itself \(plugin.name). The two names must be the same.")
    }

    private func absentAdapter() throws -> ConfigurableAdapter {
        guard let name = name ?? last?.declaration.name else {
            throw HostCommandError(absence ?? "The program \(path) does not answer.")
        }
        let last = last?.declaration.name == name ? last?.declaration : nil
        let declaration = last ?? .unknown(name)
        return ConfigurableAdapter(absent: declaration, AbsentAdapter(name, self), program: self)
    }

    /// What it declared when it was last started from this data directory.
    private var last: LastDeclaration? {
        if let name { return LastDeclaration(path: WorkerFolders(files.data).declaration(of: name)) }
        return WorkerFolders(files.data).declarations.lazy.compactMap { LastDeclaration(path: $0) }.first {
            $0.program == path
        }
    }
}

extension AdapterDeclaration {
    /// Of an adapter of which only the name is known.
    static func unknown(_ name: AdapterName) -> AdapterDeclaration {
        AdapterDeclaration(
            name: name, title: name.text, summary: "The adapter's program is not available.", version: "unknown")
    }
}

/// Stands for an adapter whose program is absent: failed, with the reason. Each attempt to start it has the program asked
/// again.
private final class AbsentAdapter: Adapter {
    private let name: AdapterName
    private let program: AdapterProgram
    private let wasAttempted = Atomic<Bool>(false)

    init(_ name: AdapterName, _ program: AdapterProgram) {
        (self.name, self.program) = (name, program)
    }

    func start(_ context: AdapterContext) async throws {
        // It was asked a moment ago, before the first attempt.
        if wasAttempted.exchange(true, ordering: .relaxed) { program.attempt(name) }
        throw PorticoError(
            .adapterUnavailable, "The adapter's program is not available.", logDetail: program.absence)
    }

    func handle(_ call: Call) async throws -> OperationResult {
        throw PorticoError(.adapterUnavailable, "This service is not available at the moment.", retryAfter: 5)
    }
}
