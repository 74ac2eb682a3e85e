import AdapterKit
import AdapterPackages
import Admission
import Dispatch
import Gateway
import Identity
import Logging

/// Installs, upgrades, rolls back and removes adapters while the gateway serves: the folder of ``InstalledAdapters`` and
/// generations of ``ConfigurationReload``. One change at a time.
actor PackageDeployment: AdapterDeployment {
    private let folder: InstalledAdapters
    private let uploads: PackageUploads
    private let reload: ConfigurationReload
    private let probations: WorkQueue<Probation>
    private let logger: Logger
    /// Files are read and written here.
    private let queue = DispatchQueue(label: "packages")
    /// Versions that crashed and could not be gone back from, and why.
    private var failedRollBacks: [AdapterName: (version: AdapterVersion, reason: String)] = [:]
    /// One change after the other, the operators' in turns.
    private let changes = AdmissionQueue(
        AccountQueue(
            limit: 1, places: 8, share: .half, refusesSystem: false,
            refusal: PorticoError(.recordConflict, "Too many changes of adapters are waiting.")))

    /// Removes what an earlier process did not finish. Blocks its thread.
    init(data: String, reload: ConfigurationReload, probations: WorkQueue<Probation>, logger: Logger) {
        let path = "\(data)/\(InstalledReleases.folderName)"
        folder = InstalledAdapters(path)
        do throws(AdapterPackageError) { try folder.removeUnfinished() } catch {
            logger.warning("unfinished packages could not be removed", metadata: ["detail": "\(error)"])
        }
        uploads = PackageUploads(path)
        self.reload = reload
        self.probations = probations
        self.logger = logger
    }

    func packages() async throws -> [InstalledPackage] {
        let (folder, trusted) = (folder, await reload.packages.trustedKeys)
        let found = try await onDisk { () throws(AdapterPackageError) in try folder.all(trusting: trusted) }
        let absences = await reload.absences
        return found.sorted { $0.key < $1.key }.map { name, result in
            switch result {
            case .success(let adapter):
                InstalledPackage(
                    name: name.text, version: adapter.current.manifest.version.text, previous: adapter.previous?.text,
                    rollbackReason: adapter.rollbackReason,
                    problem: absences[name] ?? problem(of: name, adapter.current.manifest.version))
            case .failure(let error): InstalledPackage(name: name.text, problem: error.message)
            }
        }
    }

    private func problem(of name: AdapterName, _ version: AdapterVersion) -> String? {
        guard let failed = failedRollBacks[name], failed.version == version else { return nil }
        return "It crashed and could not be rolled back: \(failed.reason)"
    }

    func beginUpload() async throws -> String {
        let uploads = uploads
        return try await onDisk { () throws(AdapterPackageError) in try uploads.begin() }
    }

    func append(_ bytes: [UInt8], at offset: Int, to upload: String) async throws -> Int {
        let uploads = uploads
        return try await onDisk { () throws(AdapterPackageError) in try uploads.append(bytes, at: offset, to: upload) }
    }

    func install(_ upload: String, isUpgrade: Bool, _ request: DeploymentRequest) async throws -> DeploymentReport {
        try await runAlone {
            let (folder, uploads, trusted) = (folder, uploads, await reload.packages.trustedKeys)
            defer { uploads.end(upload) }
            let (package, found) = try await onDisk { () throws(AdapterPackageError) in
                let package = try AdapterPackage(uploads.file(of: upload), trusting: trusted)
                let name = package.manifest.name
                let found = Result { () throws(AdapterPackageError) in
                    try folder.verifiedAdapter(name, trusting: trusted)
                }
                return (package, Self.knownState(found, current: folder.currentVersion(of: name)))
            }
            let (name, version) = (package.manifest.name, package.manifest.version)
            try Self.check(package.manifest, found, isUpgrade: isUpgrade)
            let known: InstalledAdapter? = if case .usable(let adapter) = found { adapter } else { nil }
            let release = try await onDisk { () throws(AdapterPackageError) in try folder.add(package) }
            var report = DeploymentReport(
                name: name.text, version: version.text, previous: known?.current.manifest.version.text,
                signer: package.signer?.text)
            do {
                report.data = try await deploy(
                    Deployment(
                        name: name, summary: "\(isUpgrade ? "upgraded to" : "installed") \(version)",
                        packages: { $0.replacing(name, with: release) }, hidesNothing: !isUpgrade, request: request,
                        commit: { [self] in
                            try await onDisk { () throws(AdapterPackageError) in try folder.use(release) }
                        }))
            } catch {
                try? await onDisk { () throws(AdapterPackageError) in try folder.discard(release) }
                throw error
            }
            guard !request.isDryRun else {
                try await onDisk { () throws(AdapterPackageError) in try folder.discard(release) }
                return report
            }
            report.isApplied = true
            if known != nil {
                let end = ContinuousClock.now + (await reload.packages.probation)
                probations.add(Probation(name: name, version: version, end: end))
            }
            return report
        }
    }

    func rollBack(_ text: String, _ request: DeploymentRequest) async throws -> DeploymentReport {
        try await rollBack(text, request, of: nil)
    }

    /// `crashed`: the version that is gone back from and why, where no operator asked for it.
    private func rollBack(
        _ text: String, _ request: DeploymentRequest, of crashed: (version: AdapterVersion, reason: String)?
    ) async throws -> DeploymentReport {
        try await runAlone(isRefusable: crashed == nil) {
            let (folder, trusted) = (folder, await reload.packages.trustedKeys)
            let (name, known) = try await requireInstalled(text)
            // An operator's change, which this one has waited for, may have brought another one.
            if let crashed, known.current.manifest.version != crashed.version {
                throw PorticoError(.recordConflict, "\(name) \(crashed.version) is not installed any more.")
            }
            guard let previous = known.previous else {
                throw PorticoError(.recordConflict, "There is no earlier version of \(name).")
            }
            // Before any of its files is executed.
            let release = try await onDisk { () throws(AdapterPackageError) in
                try folder.verifiedRelease(name, previous, trusting: trusted)
            }
            let data = try await deploy(
                Deployment(
                    name: name, summary: "rolled back to \(previous)",
                    packages: { $0.replacing(name, with: release) }, hidesNothing: true,
                    ignoresUnread: crashed != nil, request: request,
                    commit: { [self] in
                        _ = try await onDisk { () throws(AdapterPackageError) in
                            try folder.rollBack(name, trusting: trusted, because: crashed?.reason)
                        }
                    }))
            return DeploymentReport(
                name: name.text, version: previous.text, previous: known.current.manifest.version.text, data: data,
                isApplied: !request.isDryRun)
        }
    }

    func remove(_ text: String, _ request: DeploymentRequest) async throws -> DeploymentReport {
        try await runAlone {
            let folder = folder
            guard let name = AdapterName(text) else { throw Self.notInstalled }
            // By its files alone: it may be signed by any key, or by none.
            let found = try await onDisk {
                Result { () throws(AdapterPackageError) in try folder.verifiedAdapter(name, trusting: []) }
            }
            if case .success(nil) = found { throw Self.notInstalled }
            // Nil where it cannot be used as it is.
            let known = try? found.get()
            let data = try await deploy(
                Deployment(
                    name: name, summary: "removed", packages: { $0.replacing(name, with: nil) }, mayRename: true,
                    request: request,
                    commit: { [self] in
                        try await onDisk { () throws(AdapterPackageError) in try folder.remove(name) }
                    }))
            return DeploymentReport(
                name: name.text, previous: known?.current.manifest.version.text, data: data,
                isApplied: !request.isDryRun)
        }
    }

    /// An absent program is asked again before.
    func restart(_ text: String, _ request: DeploymentRequest) async throws -> DeploymentReport {
        guard let name = AdapterName(text), await reload.serves(name) else {
            throw PorticoError(.recordNotFound, "There is no adapter of this name.")
        }
        let (folder, trusted) = (folder, await reload.packages.trustedKeys)
        // Of one that was installed nothing is run that was changed, or that no trusted key has signed.
        _ = try await onDisk { () throws(AdapterPackageError) in try folder.verifiedAdapter(name, trusting: trusted) }
        let absent = await reload.absentProgram(name)
        do {
            try await absent?.askAgain()
        } catch {
            throw PorticoError(.recordConflict, "The adapter \(name) cannot be started: \(error)")
        }
        guard absent?.absence == nil else {
            throw PorticoError(
                .recordConflict, "The gateway is just asking the program of \(name) what it offers. Try again.")
        }
        return try await runAlone {
            // Another attempt, which this one has waited for, may have failed.
            if let reason = absent?.absence {
                throw PorticoError(.recordConflict, "The adapter \(name) cannot be started: \(reason)")
            }
            do {
                let data = try await deploy(
                    Deployment(name: name, summary: "started anew", packages: { $0 }, request: request, commit: {}))
                return DeploymentReport(name: name.text, data: data, isApplied: !request.isDryRun)
            } catch {
                // What stands for it in the gateway that serves is still there.
                _ = absent?.markUnavailable(because: (error as? PorticoError)?.forOperators ?? "\(error)")
                throw error
            }
        }
    }

    /// An attempt to start an adapter whose program is absent.
    func attemptReturn(of name: AdapterName) async {
        guard await reload.absentProgram(name) != nil else { return }
        let request = DeploymentRequest(isDryRun: false, acceptsLoss: false, actor: .system, address: "")
        do {
            _ = try await restart(name.text, request)
            logger.notice("adapter's program answers again", metadata: ["adapter": "\(name)"])
        } catch {
            // The next attempt to start the adapter fails with it, and is logged.
        }
    }

    /// Watches an adapter for a while after its upgrade, and rolls it back where its program crashes.
    nonisolated func watch(_ probation: Probation, in current: Current<HostGeneration>) async {
        while .now < probation.end, (try? await Task.sleep(for: Self.watchInterval)) != nil {
            guard let adapter = current.value.adapter(probation.name)?.adapter as? any ProcessAdapter,
                adapter.processReport.crashes > 0
            else { continue }
            let crash = adapter.crashReports.first
            let reason = crash?["reason"]?.stringValue ?? "Its program has ended by itself."
            let line = crash?["output"]?.arrayValue?.last?.stringValue
            return await rollBack(probation, because: line.map { "\(reason); its last line: \($0)" } ?? reason)
        }
    }

    private static let watchInterval = Duration.milliseconds(500)

    /// The version of a name has crashed while it was watched: the one before takes its place, whatever is hidden by it.
    private func rollBack(_ probation: Probation, because reason: String) async {
        // What crashed may be what an operator has put in its place.
        let known = try? await requireInstalled(probation.name.text).adapter
        guard known?.current.manifest.version == probation.version else { return }
        logger.error(
            "adapter fails after its upgrade",
            metadata: [
                "adapter": "\(probation.name)", "version": "\(probation.version)", "reason": "\(reason)",
            ])
        do {
            let report = try await rollBack(
                probation.name.text,
                DeploymentRequest(isDryRun: false, acceptsLoss: true, actor: .system, address: ""),
                of: (probation.version, reason))
            logger.notice(
                "adapter rolled back",
                metadata: [
                    "adapter": "\(probation.name)", "version": "\(report.version ?? "")",
                    "data": "\(report.data.joined(separator: "; "))",
                ])
        } catch {
            failedRollBacks[probation.name] = (probation.version, (error as? PorticoError)?.forOperators ?? "\(error)")
            logger.error(
                "adapter not rolled back", metadata: ["adapter": "\(probation.name)", "detail": "\(error)"])
        }
    }

    /// A change that is made ends what is shown of an earlier roll-back.
    private func deploy(_ deployment: Deployment) async throws -> [String] {
        let data = try await reload.deploy(deployment)
        if !deployment.request.isDryRun { failedRollBacks[deployment.name] = nil }
        return data
    }

    /// What is installed of a package's name.
    private enum Known {
        case nothing
        case usable(InstalledAdapter)
        /// Its files were changed, or are not signed as this host asks for. The version is nil where that cannot be read either.
        case unusable(AdapterVersion?, because: AdapterPackageError)
    }

    private static func knownState(
        _ found: Result<InstalledAdapter?, AdapterPackageError>, current: AdapterVersion?
    ) -> Known {
        switch found {
        case .success(nil): .nothing
        case .success(let adapter?): .usable(adapter)
        case .failure(let error): .unusable(current, because: error)
        }
    }

    private static func check(
        _ manifest: AdapterManifest, _ known: Known, isUpgrade: Bool
    ) throws(PorticoError) {
        let (name, version) = (manifest.name, manifest.version)
        if let platform = manifest.platform, platform != AdapterManifest.currentPlatform {
            throw PorticoError(
                .requestInvalid, "It is made for \(platform), and this is \(AdapterManifest.currentPlatform).")
        }
        switch known {
        case .nothing:
            guard !isUpgrade else { throw PorticoError(.recordNotFound, "\(name) is not installed: install it.") }
        case .usable(let adapter):
            let current = adapter.current.manifest.version
            guard isUpgrade else {
                throw PorticoError(
                    .recordConflict, "\(name) \(current) is already installed. Use upgrade to replace it.")
            }
            guard current.precedes(version) else {
                throw PorticoError(
                    .recordConflict,
                    "\(name) \(version) is not newer than the installed \(current). Use rollback to return to an earlier version."
                )
            }
        case .unusable(let current, let reason):
            // It gives way to the same version and to any newer one, whether that is called an upgrade or not.
            if let current, version.precedes(current) {
                throw PorticoError(
                    .recordConflict,
                    "\(version) is older than \(current), which is installed and cannot be used: \(reason)")
            }
        }
    }

    private func requireInstalled(_ text: String) async throws -> (name: AdapterName, adapter: InstalledAdapter) {
        let folder = folder
        guard let name = AdapterName(text),
            let known = try await onDisk({ () throws(AdapterPackageError) in try folder.adapter(name) })
        else { throw Self.notInstalled }
        return (name, known)
    }

    private static let notInstalled = PorticoError(.recordNotFound, "No adapter of this name was installed.")

    /// One change after the other. None is refused for another that is under way: neither an operator's for an attempt to start an
    /// absent program, nor the roll-back of a crashed version for an operator's, which is not refused for those that wait either: it is
    /// not tried again.
    private func runAlone<Result: Sendable>(
        isRefusable: Bool = true, _ body: () async throws -> Result
    ) async throws -> Result {
        try await changes.run(isRefusable ? .current : .system, body)
    }

    /// Throws ``PorticoError`` `request.invalid` with the sentence of what is wrong.
    private func onDisk<Result: Sendable>(
        _ body: @escaping @Sendable () throws(AdapterPackageError) -> Result
    ) async throws -> Result {
        let queue = queue
        return try await withCheckedThrowingContinuation { caller in
            queue.async {
                do throws(AdapterPackageError) {
                    caller.resume(returning: try body())
                } catch {
                    caller.resume(throwing: PorticoError(.requestInvalid, error.message))
                }
            }
        }
    }
}

/// An adapter that was upgraded a moment ago.
struct Probation: Sendable {
    let name: AdapterName
    let version: AdapterVersion
    let end: ContinuousClock.Instant
}
