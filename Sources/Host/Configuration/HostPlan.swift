import AdapterKit
import Backups
import ConnectedSystems
import Foundation
import Gateway
import HostConfiguration
import Identity
import RecordStorage
import ValueTree
import WorkerHost

/// A configuration that was checked as far as that is possible without serving: every key known, every value of its
/// kind, every adapter and its declaration made.
struct HostPlan {
    struct PlannedAdapter {
        let adapter: any Adapter
        /// With what the configuration says of its rights.
        private(set) var declaration: AdapterDeclaration
        /// The systems that its options name.
        let upstreams: Set<UpstreamName>
        /// The one of its option `upstream`.
        let upstream: UpstreamName?
        /// The text of its connection file; nil: it is code.
        let connectionText: String?
        /// Of one that runs as a worker.
        let workerLog: WorkerLog?
        /// Of one that is a program.
        let program: AdapterProgram?
        /// Of its program: what the configuration names below the folders that it reads.
        let closed: [(named: GatewayFiles.Named, folder: String)]
        /// The version of the adapter protocol that its program speaks; nil: it is no program, or left out.
        let protocolVersion: Int?
        /// Whether its program is left out: the adapter stands for it.
        let isAbsent: Bool
        /// What it cannot offer of what the configuration asks for.
        let limitations: [String]

        var absent: AdapterProgram? { isAbsent ? program : nil }

        /// The same with fewer paths.
        func declared(as declaration: AdapterDeclaration) -> PlannedAdapter {
            var other = self
            other.declaration = declaration
            return other
        }
    }

    /// Plugins as configured: programs, which have been asked what they are.
    struct PluginPrograms {
        let paths: [String]
        let programs: [AdapterProgram]
    }

    let resolved: ResolvedConfiguration
    let reference: ConfigurationReference
    let settings: HostSettings
    let adapters: [PlannedAdapter]
    let plugins: PluginPrograms
    let packages: InstalledReleases
    /// What works and is probably not what was meant.
    private(set) var warnings: [String]
    /// The adapters that are compiled in and not served, since the configuration does not name them.
    let unnamed: [AdapterName]
    /// What the connection files say besides, for `portico check`.
    let remarks: [String]
    /// What `portico check` warns of in who may write: what every caller with a login may, and what may not be read by its
    /// writers.
    var rightsWarnings: [String] {
        adapters.flatMap { [$0.warningOfOpenWrites, $0.warningOfUnreadWrites].compactMap(\.self) }
    }

    /// `compiled`: the adapters of this program. `known`: the plugins that were asked already. `packages`: the adapters that are
    /// installed; nil: those of the data directory. `toleratesUnknown`: keys of adapters that are not there, and options of installed ones that
    /// their versions do not have, are warnings. Throws ``ConfigurationErrors`` and ``HostCommandError``.
    init(
        _ root: ConfigurationNode, environment: [String: String], overrides: [String], directory: String, data: String,
        compiled: [CompiledAdapter], plugins known: PluginPrograms? = nil, packages installed: InstalledReleases? = nil,
        toleratesUnknown: Bool = false
    ) throws {
        let secrets = SecretSource(environment: environment, directory: directory) { try ConfigurationFile.text($0) }
        let isStart = known == nil
        let pluginPlan = try PluginPlan(root, overrides: overrides, directory: directory, secrets: secrets)
        let store = try ResolvedConfiguration(
            of: HostReference.storePath, variable: "PORTICO_STORE_PATH", root, environment: environment,
            overrides: overrides, secrets: secrets)
        // Programs are asked what they are before their own keys are known, and are to read nothing that others name.
        let builtIn = compiled.map { ConfigurableAdapter($0) }
        let connected =
            (try? ConnectionPlan(root, overrides: overrides, directory: directory).adapters(
                besides: Set(builtIn.map(\.name)))) ?? []
        let files = GatewayFiles(
            data: data, directory: directory, store: store["store.path"]?.text ?? "",
            named: NamedPath.all(
                in: root, reference: HostReference.reference(for: builtIn + connected), environment: environment,
                overrides: overrides, secrets: secrets) + connected.flatMap(\.namedByConnection))
        let packages =
            try installed
            ?? InstalledReleases(
                of: files,
                trusting: PackageSettings.trustedKeys(
                    root, environment: environment, overrides: overrides, secrets: secrets))
        func useSettings(of programs: [AdapterProgram]) throws {
            try Self.useSettings(
                of: programs, root, environment: environment, overrides: overrides, files: files, secrets: secrets)
        }
        try useSettings(of: packages.all)
        let plugins: PluginPrograms
        do {
            plugins = try pluginPlan.ask(files, known, besides: Set(builtIn.map(\.name))) { try useSettings(of: $0) }
        } catch let errors as ConfigurationErrors {
            let others = try? Self.mistakes {
                _ = try Self(
                    root, environment: environment, overrides: overrides, directory: directory, files: files,
                    secrets: secrets, compiled: compiled, plugins: PluginPrograms(paths: [], programs: []),
                    packages: packages, isStart: false, tolerating: root.names(below: "adapters"))
            }
            throw ConfigurationErrors(errors.errors + (others ?? []))
        }
        while true {
            do {
                try self.init(
                    root, environment: environment, overrides: overrides, directory: directory, files: files,
                    secrets: secrets, compiled: compiled, plugins: plugins, packages: packages, isStart: isStart,
                    tolerating: toleratesUnknown ? root.names(below: "adapters") : nil)
                return
            } catch is WorkerUnavailable {
                // One more is absent: its keys are not read.
            }
        }
    }

    /// Reads the settings by which programs are run that are asked what they are, before the keys of all adapters are known. Of a
    /// configuration with mistakes it reads none: they are found when all of it is read.
    private static func useSettings(
        of programs: [AdapterProgram], _ root: ConfigurationNode, environment: [String: String], overrides: [String],
        files: GatewayFiles, secrets: SecretSource
    ) throws {
        let placeholders = Dictionary(
            programs.compactMap { $0.placeholder }.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        guard !placeholders.isEmpty,
            let resolved = try? ResolvedConfiguration.resolve(
                root,
                reference: HostReference.reference(
                    for: Array(placeholders.values), tolerating: root.names(below: "adapters")),
                environment: environment, overrides: overrides, secrets: secrets
            ).get()
        else { return }
        for program in programs {
            guard let name = program.knownName else { continue }
            do {
                program.use(.success(try WorkerSettings(of: name, resolved, files: files)))
            } catch let error as HostCommandError {
                program.use(.failure(error))
            }
        }
    }

    /// The mistakes of the configuration that the work meets. Throws what is none.
    private static func mistakes(in work: () throws -> Void) throws -> [ConfigurationError] {
        do { try work() } catch let errors as ConfigurationErrors { return errors.errors }
        return []
    }

    /// A program does not say what it declares. It is absent now, and the plan is made anew.
    private struct WorkerUnavailable: Error {}

    /// `isStart`: whether programs may be left out, as at a start. In a gateway that serves, an adapter that ran goes on.
    private init(
        _ root: ConfigurationNode, environment: [String: String], overrides: [String], directory: String,
        files: GatewayFiles, secrets: SecretSource, compiled: [CompiledAdapter], plugins: PluginPrograms,
        packages: InstalledReleases, isStart: Bool, tolerating written: Set<String>?
    ) throws {
        (self.plugins, self.packages) = (plugins, packages)
        let linked =
            try compiled.map { ConfigurableAdapter($0) }
            + plugins.programs.map { try $0.adapter() }
        let coded = try linked + packages.adapters(besides: Set(linked.map(\.name)))
        var connected: [ConfigurableAdapter] = []
        // Mistakes of files that do not keep the rest from being looked at.
        var mistakes = try Self.mistakes {
            connected = try ConnectionPlan(root, overrides: overrides, directory: directory).adapters(
                besides: Set(coded.map(\.name)).union(Self.reservedNames))
        }
        let modules = coded + connected
        let reference = HostReference.reference(
            for: modules, tolerating: mistakes.isEmpty ? written : root.names(below: "adapters"))
        let resolved: ResolvedConfiguration
        switch ResolvedConfiguration.resolve(
            root, reference: reference, environment: environment, overrides: overrides, secrets: secrets)
        {
        case .success(let found): resolved = found
        case .failure(let errors): throw ConfigurationErrors(mistakes + errors.errors)
        }
        (self.resolved, self.reference) = (resolved, reference)
        // Now that all keys are known.
        let files = files.naming(
            NamedPath.all(
                in: root, reference: reference, environment: environment, overrides: overrides, secrets: secrets)
                + modules.flatMap(\.namedByConnection))
        remarks = modules.flatMap { $0.connection?.remarks.map(\.description) ?? [] }
        warnings =
            resolved.warnings.map(\.description)
            + coded.compactMap { adapter in
                adapter.absence.map { "the adapter \(adapter.name) is not served: \($0)" }
            } + modules.flatMap { $0.connection?.warnings.map(\.description) ?? [] }
        warnings += AccessRoles(resolved: resolved).warnings
        try SettingChecks(resolved).check()
        let served = Set(modules.filter { Self.isServed($0, resolved) }.map(\.name))
        unnamed = modules.filter { $0.needsName && !resolved.names($0.path) }.map(\.name).sorted()
        let settings = try HostSettings(
            resolved, directory: directory, data: files.data,
            modules: Dictionary(compiled.map { ($0.name, $0.version) }, uniquingKeysWith: { $1 }),
            pages: compiled.filter { served.contains($0.name) }.flatMap(\.pages))
        try Self.checkLogModules(settings, resolved, of: modules)
        self.settings = settings
        warnings += [settings.plainListenerWarning, settings.backups?.warning].compactMap(\.self)
        warnings += settings.upstreams.sorted { $0.key < $1.key }.compactMap { $1.addressWarning(resolved) }
        var planned: [PlannedAdapter] = []
        mistakes += try Self.mistakes {
            planned = try Self.plan(
                modules, resolved, settings.upstreams, directory: directory, files, isStart: isStart)
        }
        guard mistakes.isEmpty else { throw ConfigurationErrors(mistakes) }
        adapters = try Self.atPathsOfTheirOwn(planned, settings.gateway, isStart: isStart)
        warnings +=
            RestoredGateway(in: files.data)?.missing(besides: Set(adapters.map(\.declaration.name.text))) ?? []
        warnings += adapters.compactMap { $0.warningOfVersion1 }
        warnings += adapters.flatMap(\.limitations)
        warnings += adapters.filter { $0.absent == nil }.compactMap { planned in
            guard resolved["adapters.\(planned.declaration.name).worker.sandbox"]?.text == "off" else { return nil }
            return "the program of the adapter \(planned.declaration.name) is not restricted: worker.sandbox is off"
        }
        warnings += adapters.compactMap { planned in
            planned.program?.unreadableFolder.map { folder in
                "the program of the adapter \(planned.declaration.name) reads nothing of its folder \(folder) but its own file, "
                    + "since the gateway's own files are there: list what else it needs in adapters."
                    + "\(planned.declaration.name).worker.readable, or move it to a folder of its own, outside the "
                    + "data directory and not the configuration's"
            }
        }
        warnings += adapters.flatMap { planned in
            planned.closed.map { closed in
                "\(closed.named.key) names \(closed.named.path), which lies below \(closed.folder), a folder that the program of the "
                    + "adapter \(planned.declaration.name) reads: that file is closed to it, and others beside it are not; "
                    + "move it to a folder without programs"
            }
        }
    }

    /// Programs are asked what they declare side by side: those that do not answer take their time together, and are left out at
    /// once.
    private static func plan(
        _ modules: [ConfigurableAdapter], _ resolved: ResolvedConfiguration,
        _ upstreams: [UpstreamName: UpstreamPlan], directory: String, _ files: GatewayFiles, isStart: Bool
    ) throws -> [PlannedAdapter] {
        // What makes no sense is thrown below.
        DescribedWorker.ask(
            modules.compactMap { module in
                guard let worker = module.described, isServed(module, resolved) else { return nil }
                let inputs = try? inputs(of: module, resolved, upstreams, directory: directory, files)
                return inputs.map { (worker, $0.configuration, $0.worker) }
            })
        var planned: [PlannedAdapter] = []
        var isComplete = true
        var errors: [ConfigurationError] = []
        for module in modules {
            do {
                let adapter = try plan(module, resolved, upstreams, directory: directory, files)
                if let adapter { planned.append(adapter) }
            } catch let found as ConfigurationErrors {
                errors += found.errors
            } catch let error as HostCommandError {
                try leave(module.program, because: error, isStart: isStart)
                isComplete = false
            }
        }
        guard errors.isEmpty else { throw ConfigurationErrors(errors) }
        guard isComplete else { throw WorkerUnavailable() }
        return planned
    }

    /// Throws the error where the program cannot be left out.
    private static func leave(_ program: AdapterProgram?, because error: HostCommandError, isStart: Bool) throws {
        guard isStart, let program, program.absence == nil, program.markUnavailable(because: "\(error)") else {
            throw error
        }
    }

    /// No path is two adapters'. Programs come last: what the gateway has itself keeps its paths. An absent one has those of
    /// its paths that nothing else has.
    private static func atPathsOfTheirOwn(
        _ adapters: [PlannedAdapter], _ settings: GatewaySettings, isStart: Bool
    ) throws -> [PlannedAdapter] {
        var claims = PathClaims(of: settings)
        let served = adapters.filter { $0.program == nil } + adapters.filter { $0.program != nil && !$0.isAbsent }
        for planned in served {
            guard let problem = claims.take(planned.declaration) else { continue }
            try leave(planned.program, because: HostCommandError(problem), isStart: isStart)
            throw WorkerUnavailable()
        }
        return adapters.map { planned in
            guard planned.isAbsent, claims.take(planned.declaration) != nil else { return planned }
            let left = claims.untaken(of: planned.declaration) ?? .unknown(planned.declaration.name)
            return claims.take(left) == nil ? planned.declared(as: left) : planned.declared(as: .unknown(left.name))
        }
    }

    /// A level for what is no module would have no effect.
    private static func checkLogModules(
        _ settings: HostSettings, _ resolved: ResolvedConfiguration, of modules: [ConfigurableAdapter]
    ) throws {
        let known = HostLogs.ownModules.union(modules.map { $0.name.text })
        let errors = settings.logLevels.keys.sorted().filter { !known.contains($0) }.map { name in
            ConfigurationError(
                "There is no module \(name): they are \(known.sorted().joined(separator: ", ")).",
                at: resolved.location(of: "log.levels.\(name)") ?? .commandLine("log.levels.\(name)"))
        }
        guard errors.isEmpty else { throw ConfigurationErrors(errors) }
    }

    private static func isServed(_ module: ConfigurableAdapter, _ resolved: ResolvedConfiguration) -> Bool {
        resolved["adapters.\(module.name).enabled"]?.flag ?? true
            && (!module.needsName || resolved.names(module.path))
    }

    private static func upstreamsOfCallers(_ upstreams: [UpstreamName: UpstreamPlan]) -> Set<UpstreamName> {
        Set(upstreams.filter(\.value.actsForCallers).keys)
    }

    /// What an adapter is made with.
    private static func inputs(
        of module: ConfigurableAdapter, _ resolved: ResolvedConfiguration,
        _ upstreams: [UpstreamName: UpstreamPlan], directory: String, _ files: GatewayFiles
    ) throws -> (configuration: AdapterConfiguration, worker: WorkerSettings) {
        let configuration = AdapterConfiguration(
            options(of: module, resolved), directory: directory, upstreamsOfCallers: upstreamsOfCallers(upstreams))
        let isAsked = module.program != nil && module.absence == nil
        let worker =
            isAsked
            ? try WorkerSettings(of: module.name, resolved, files: files) : WorkerSettings(files: files)
        return (configuration, worker)
    }

    private static func plan(
        _ module: ConfigurableAdapter, _ resolved: ResolvedConfiguration,
        _ upstreams: [UpstreamName: UpstreamPlan], directory: String, _ files: GatewayFiles
    ) throws -> PlannedAdapter? {
        guard isServed(module, resolved) else { return nil }
        let path = "adapters.\(module.name)"
        var named = try Self.upstreams(of: module, resolved, upstreams)
        if let upstream = module.upstream {
            guard upstreams[upstream.name] != nil else {
                throw ConfigurationErrors([
                    ConfigurationError(
                        "There is no upstream \(upstream.name).\(upstreams.hint(for: upstream.name.text))",
                        at: upstream.location)
                ])
            }
            named["upstream"] = upstream.name
        }
        let ofCallers = upstreamsOfCallers(upstreams)
        let (configuration, worker) = try inputs(of: module, resolved, upstreams, directory: directory, files)
        do {
            let declaration = try module.declare(configuration, worker)
            let rights = GivenRights(of: module, resolved)
            let granted = try rights.granted(to: declaration.keepingRowsOfCallers(of: ofCallers))
            // With the rights that the configuration gives.
            if let problem = (module.problems + granted.problems).first {
                throw HostCommandError("The adapter \(module.name) cannot be served: \(problem).")
            }
            return PlannedAdapter(
                adapter: try module.make(configuration, worker),
                declaration: granted, upstreams: Set(named.values), upstream: named["upstream"],
                connectionText: module.connectionText, workerLog: module.workerLog,
                program: module.program, closed: module.program?.namedFiles(by: worker) ?? [],
                protocolVersion: try module.described?.description(with: configuration, worker).protocolVersion,
                isAbsent: module.absence != nil, limitations: try module.limitations(configuration))
        } catch let problem as ConfigurationProblem {
            let name = "\(path).\(problem.path)"
            throw ConfigurationErrors([
                ConfigurationError(
                    problem.message,
                    at: resolved.location(of: name) ?? module.location(of: problem.path) ?? .commandLine(name))
            ])
        } catch let errors as ConfigurationErrors {
            throw errors
        } catch let error as HostCommandError {
            throw error
        } catch let refusal as WorkerRefusal {
            throw HostCommandError(refusal.description)
        } catch {
            throw HostCommandError(
                "The adapter \(module.name) cannot be made: \(FileFailure.sentence(error) ?? "\(error)")")
        }
    }

    /// The upstreams that a module's options name, by their paths. A name that is not declared is an error.
    private static func upstreams(
        of module: ConfigurableAdapter, _ resolved: ResolvedConfiguration, _ declared: [UpstreamName: UpstreamPlan]
    ) throws -> [String: UpstreamName] {
        let options = module.options.filter { $0.valueKind == .upstream }.map { $0.path.split(separator: ".") }
        var named: [String: UpstreamName] = [:]
        for (names, value) in resolved.settings(below: "adapters.\(module.name)")
        where options.contains(where: { $0.count == names.count && zip($0, names).allSatisfy { $0 == "*" || $0 == $1 } }
        ) {
            let key = names.joined(separator: ".")
            guard let text = value.text, let name = UpstreamName(text), declared[name] != nil else {
                let path = "adapters.\(module.name).\(key)"
                throw ConfigurationErrors([
                    ConfigurationError(
                        "There is no upstream \(value.text ?? "").\(declared.hint(for: value.text))",
                        at: resolved.location(of: path) ?? .commandLine(path))
                ])
            }
            named[key] = name
        }
        return named
    }

    /// Whether names below an adapter's are `entities.{entity}.access`, which is the host's.
    static func isRightOfEntity(_ names: [String]) -> Bool {
        names.count == 3 && names[0] == "entities" && names[2] == "access"
    }

    /// The adapter's own options as nested dictionaries.
    private static func options(
        of module: ConfigurableAdapter, _ resolved: ResolvedConfiguration
    ) -> WireDictionary {
        var options = WireDictionary()
        let path = "adapters.\(module.name)"
        for (names, value) in resolved.settings(below: path)
        where names != ["enabled"] && !isRightOfEntity(names)
            && !(module.program != nil && WorkerSettings.paths.contains(names))
        {
            options.set(value.wireValue, at: names[...])
        }
        // Something that has nothing but its name has all defaults.
        for names in resolved.emptyMappings(below: path) where !options.hasValue(at: names[...]) {
            options.set([:], at: names[...])
        }
        for option in module.options { option.addDefault(to: &options) }
        return options
    }
}

extension ConfigurationNode {
    fileprivate func names(below key: String) -> Set<String> {
        guard case .mapping(let entries) = content,
            case .mapping(let below)? = entries.first(where: { $0.key == key })?.value.content
        else { return [] }
        return Set(below.map(\.key))
    }
}

extension WireDictionary {
    fileprivate func hasValue(at path: ArraySlice<String>) -> Bool {
        guard let name = path.first, let value = self[name] else { return false }
        return path.count == 1 || value.dictionaryValue?.hasValue(at: path.dropFirst()) ?? true
    }

    fileprivate mutating func set(_ value: WireValue, at path: ArraySlice<String>) {
        guard let name = path.first else { return }
        guard path.count > 1 else {
            self[name] = value
            return
        }
        var inner = self[name]?.dictionaryValue ?? [:]
        inner.set(value, at: path.dropFirst())
        self[name] = .dictionary(inner)
    }
}

extension ConfigurationValue {
    /// As an adapter reads it: durations in seconds, an access as it is written.
    var wireValue: WireValue {
        switch self {
        case .text(let text): .string(text)
        case .integer(let number), .size(let number): .int64(Int64(number))
        case .number(let number): .double(number)
        case .flag(let flag): .bool(flag)
        case .duration(let duration): .double(duration / .seconds(1))
        case .access(let access): access.configurationValue
        case .secret(let secret): .string(secret.reveal())
        case .list(let items): .array(items.map(\.wireValue))
        case .mapping(let members):
            .dictionary(
                WireDictionary(
                    uncheckedUniqueKeys: members.sorted { $0.key < $1.key }.map {
                        .init(key: $0.key, value: $0.value.wireValue)
                    }))
        }
    }
}

/// The adapters that a configuration can name besides the built-in ones: the programs below `plugins`. They come first
/// of all, because the keys below `adapters` depend on them.
struct PluginPlan {
    /// Of programs.
    let paths: [String]
    /// Where each of them is named.
    private let locations: [ConfigurationLocation]

    init(_ root: ConfigurationNode, overrides: [String], directory: String, secrets: SecretSource) throws {
        try Self.refuseLibraries(root)
        let reference = ConfigurationReference([HostReference.plugins])
        let resolved = try ResolvedConfiguration.resolve(
            Self.onlyPlugins(root), reference: reference, overrides: overrides.filter { $0.hasPrefix("plugins=") },
            secrets: secrets
        ).get()
        let resolver = ProgramPaths(configurationFolder: directory, gateway: Self.program)
        paths = (resolved["plugins"]?.list ?? []).compactMap { $0["path"]?.text }.map(resolver.resolve)
        let written = Self.pathLocations(root)
        locations =
            written.count == paths.count
            ? written : paths.map { _ in resolved.location(of: "plugins") ?? .commandLine("plugins") }
    }

    /// Asks the programs for their names, after `prepare`, those of `known` not again. None may be one of `names`. In a gateway
    /// that serves, one that comes has to answer. Blocks its thread.
    func ask(
        _ gateway: GatewayFiles, _ known: HostPlan.PluginPrograms?, besides names: Set<AdapterName>,
        prepare: ([AdapterProgram]) throws -> Void
    ) throws -> HostPlan.PluginPrograms {
        let before = Dictionary(
            zip(known?.paths ?? [], known?.programs ?? []).map { ($0, $1) }, uniquingKeysWith: { first, _ in first })
        let programs = paths.map { before[$0] ?? AdapterProgram($0, files: gateway, isRequired: known != nil) }
        try prepare(programs)
        AdapterProgram.ask(programs)
        var taken = names
        var errors: [ConfigurationError] = []
        for (index, program) in programs.enumerated() {
            do {
                let name = try program.adapter().name
                guard !taken.insert(name).inserted else { continue }
                errors.append(
                    ConfigurationError(
                        ProgramFileError(paths[index], .adapterNameTaken(name)).description, at: locations[index]))
            } catch { errors.append(ConfigurationError("\(error)", at: locations[index])) }
        }
        guard errors.isEmpty else { throw ConfigurationErrors(errors) }
        return HostPlan.PluginPrograms(paths: paths, programs: programs)
    }

    /// The places of the paths in the file.
    private static func pathLocations(_ root: ConfigurationNode) -> [ConfigurationLocation] {
        guard case .list(let plugins) = onlyPlugins(root).content.entry("plugins")?.content else { return [] }
        return plugins.compactMap { $0.content.entry("path")?.location }
    }

    /// Plugins were libraries too, in the gateway's process.
    private static func refuseLibraries(_ root: ConfigurationNode) throws {
        guard case .list(let plugins) = onlyPlugins(root).content.entry("plugins")?.content else { return }
        let errors = plugins.flatMap { plugin in
            [
                plugin.content.entry("mode").map {
                    ConfigurationError(
                        "There is no `mode`: a plugin runs as a program of its own. Leave it out, and name the adapter's program in `path`.",
                        at: $0.location)
                },
                plugin.content.entry("path").flatMap { path in
                    guard case .scalar(let text) = path.content, text.hasSuffix(".so") else { return nil }
                    return ConfigurationError(
                        "\(text) is a library: the adapter's program is named here, such as notes-worker for libNotes.so. An adapter that is to run in the gateway's process is compiled into a host.",
                        at: path.location)
                },
            ].compactMap(\.self)
        }
        guard errors.isEmpty else { throw ConfigurationErrors(errors) }
    }

    /// The running program, symbolic links resolved.
    private static var program: String {
        URL(fileURLWithPath: Bundle.main.executablePath ?? CommandLine.arguments[0]).resolvingSymlinksInPath().path
    }

    private static func onlyPlugins(_ root: ConfigurationNode) -> ConfigurationNode {
        guard case .mapping(let entries) = root.content else { return root }
        return ConfigurationNode(.mapping(entries.filter { $0.key == "plugins" }), at: root.location)
    }
}

extension ConfigurationNode.Content {
    fileprivate func entry(_ key: String) -> ConfigurationNode? {
        guard case .mapping(let entries) = self else { return nil }
        return entries.first { $0.key == key }?.value
    }
}

extension ConfigurationOption {
    /// How the option is written in the configuration.
    var kind: ConfigurationKind {
        switch valueKind {
        case .access: .access
        case .secret: .secret(allowsPlain: false)
        case .duration: .duration
        case .size: .size
        case .upstream, .file: .text
        case .textLists: .list(of: .oneOrMore(.text))
        case .value(let shape): Self.kind(of: shape)
        }
    }

    private static func kind(of shape: Shape) -> ConfigurationKind {
        switch shape {
        case .bool: .flag
        case .integer(let range): .integer(Int(range.range.lowerBound)...Int(range.range.upperBound))
        case .double: .number
        case .choice(let choices): .choice(choices)
        case .list(let item): .list(of: kind(of: item))
        default: .text
        }
    }

    /// The default as one would write it; nil where there is none, or none that fits on a line.
    var defaultText: String? {
        switch valueKind {
        case .duration: defaultValue?.doubleValue.flatMap(Self.durationText)
        case .size: defaultValue?.int64Value.map(Self.sizeText)
        default: defaultValue.flatMap(Self.text)
        }
    }

    /// In the largest unit in which it is a whole number.
    private static func durationText(_ seconds: Double) -> String? {
        guard seconds.isFinite, seconds > 0, seconds < 1e9 else { return nil }
        let milliseconds = Int64((seconds * 1_000).rounded())
        for (unit, size) in [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)] as [(String, Int64)]
        where milliseconds % size == 0 { return "\(milliseconds / size)\(unit)" }
        return "\(milliseconds)ms"
    }

    private static func sizeText(_ bytes: Int64) -> String {
        for (unit, shift) in [("GiB", 30), ("MiB", 20), ("KiB", 10)]
        where bytes > 0 && bytes % (1 << shift) == 0 { return "\(bytes >> shift)\(unit)" }
        return String(bytes)
    }

    private static func text(_ value: WireValue) -> String? {
        switch value {
        case .bool(let flag): return flag ? "true" : "false"
        case .int64(let number): return String(number)
        case .string(let text): return text
        case .array(let items):
            let texts = items.compactMap { text($0) }
            return texts.count == items.count ? "[\(texts.joined(separator: ", "))]" : nil
        default: return nil
        }
    }

    /// Puts the default where nothing is configured; below a `*`, for each name that is there.
    func addDefault(to options: inout WireDictionary) {
        guard let defaultValue else { return }
        Self.add(defaultValue, at: path.split(separator: ".").map(String.init)[...], to: &options)
    }

    private static func add(_ value: WireValue, at path: ArraySlice<String>, to options: inout WireDictionary) {
        guard let name = path.first else { return }
        let rest = path.dropFirst()
        if name == "*" {
            for member in options where !rest.isEmpty {
                guard var below = member.value.dictionaryValue else { continue }
                add(value, at: rest, to: &below)
                options[member.key] = .dictionary(below)
            }
        } else if rest.isEmpty {
            if options[name] == nil { options[name] = value }
        } else {
            var below = options[name]?.dictionaryValue ?? [:]
            add(value, at: rest, to: &below)
            if !below.isEmpty { options[name] = .dictionary(below) }
        }
    }
}

/// The adapters that are connection files: those of a name with `connect`. They come before all else is read, because
/// the keys below `adapters` depend on them.
struct ConnectionPlan {
    /// By the adapter's name, with the place of its name.
    private let files: [(name: String, path: ConfigurationNode, location: ConfigurationLocation)]
    private let directory: String

    init(_ root: ConfigurationNode, overrides: [String], directory: String) throws {
        self.directory = directory
        var files: [(name: String, path: ConfigurationNode, location: ConfigurationLocation)] = []
        for adapter in root.entries("adapters") {
            for option in adapter.value.entries where option.key == "connect" {
                files.append((name: adapter.key, path: option.value, location: adapter.keyLocation))
            }
        }
        for override in overrides {
            let parts = override.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let names = parts[0].split(separator: ".", omittingEmptySubsequences: false)
            guard parts.count == 2, names.count == 3, names[0] == "adapters", names[2] == "connect" else { continue }
            let location = ConfigurationLocation.commandLine(override)
            files.removeAll { $0.name == names[1] }
            files.append(
                (
                    name: String(names[1]), path: ConfigurationNode(.scalar(String(parts[1])), at: location),
                    location: location
                ))
        }
        self.files = files
    }

    /// Throws ``ConfigurationErrors`` with everything that is wrong with the files.
    func adapters(besides taken: Set<AdapterName>) throws -> [ConfigurableAdapter] {
        var errors: [ConfigurationError] = []
        var adapters: [ConfigurableAdapter] = []
        for file in files {
            do {
                guard let name = AdapterName(file.name) else {
                    throw ConfigurationErrors([
                        ConfigurationError(
                            "An adapter's name has small letters, digits and hyphens.", at: file.location)
                    ])
                }
                guard !taken.contains(name) else {
                    throw ConfigurationErrors([
                        ConfigurationError("There is an adapter named \(name) already.", at: file.location)
                    ])
                }
                adapters.append(try adapter(name, file.path))
            } catch let found as ConfigurationErrors {
                errors += found.errors
            }
        }
        guard errors.isEmpty else { throw ConfigurationErrors(errors) }
        return adapters
    }

    private func adapter(_ name: AdapterName, _ node: ConfigurationNode) throws -> ConfigurableAdapter {
        guard case .scalar(let written) = node.content, !written.isEmpty else {
            throw ConfigurationErrors([ConfigurationError("Here must stand a path.", at: node.location)])
        }
        let path = written.hasPrefix("/") ? written : "\(directory)/\(written)"
        let text: String
        do throws(HostCommandError) { text = try ConfigurationFile.text(path) } catch {
            throw ConfigurationErrors([
                ConfigurationError("The file \(written) cannot be read: \(error).", at: node.location)
            ])
        }
        return ConfigurableAdapter(name, try Connection(text, file: path), text: text, path: path)
    }
}

extension ConfigurationNode {
    fileprivate var entries: [Entry] { if case .mapping(let entries) = content { entries } else { [] } }

    fileprivate func entries(_ key: String) -> [Entry] { entries.first { $0.key == key }?.value.entries ?? [] }
}

extension HostPlan {
    /// Names below which the host keeps records of its own.
    static let reservedNames = Set(
        (Identity.collections() + SyncServices.collections() + PendingWriteRecords.collections).map(\.id.adapter))
}
