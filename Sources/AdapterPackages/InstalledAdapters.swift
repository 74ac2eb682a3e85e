import AdapterKit
import AdapterProtocol
import DurableFiles
import Glibc
import ValueTree
import WireFormats

/// The adapters that were installed into a gateway while it served: the folder `adapters/` below its data.
///
/// ```
/// adapters/NAME/state.json                {"format": 1, "current": "1.2.0", "previous": "1.1.0", "beforePrevious": "1.0.0",
///                                          "rollbackReason": "…"}
/// adapters/NAME/versions/VERSION/…        what the package had, adapter.json and adapter.sig included
/// adapters/.incoming-…                    what was not finished; removed at start
/// ```
///
/// A version is there as a whole or not at all, and the state changes as a whole: both survive a power failure. One process
/// at a time uses the folder, and calls one method at a time that changes it. Every method waits for the disk.
public struct InstalledAdapters: Sendable {
    private let folder: String
    private let random: @Sendable () -> UInt64

    /// The folder need not be there.
    public init(_ folder: String, random: @escaping @Sendable () -> UInt64 = { .random(in: .min ... .max) }) {
        self.folder = folder
        self.random = random
    }

    /// What is installed, by name, or why it cannot be used. The files of the current versions are compared with their
    /// digests, and their signatures with the keys of which one is needed; none: a signature is not needed. Throws where the
    /// folder cannot be read, or every user may write it.
    public func all(
        trusting keys: [PackageKey]
    ) throws(AdapterPackageError) -> [AdapterName: Result<InstalledAdapter, AdapterPackageError>] {
        var found: [AdapterName: Result<InstalledAdapter, AdapterPackageError>] = [:]
        for text in try names(in: folder) {
            guard let name = AdapterName(text) else { continue }
            do throws(AdapterPackageError) {
                found[name] = try verifiedAdapter(name, trusting: keys).map { .success($0) }
            } catch {
                found[name] = .failure(error)
            }
        }
        return found
    }

    /// One of them, its current version checked as in ``all(trusting:)``; nil: it is not installed. Throws where it cannot be used.
    public func verifiedAdapter(
        _ name: AdapterName, trusting keys: [PackageKey]
    ) throws(AdapterPackageError) -> InstalledAdapter? {
        guard let adapter = try adapter(name) else { return nil }
        try verify(adapter.current, trusting: keys)
        return adapter
    }

    /// The current version of one whose files perhaps cannot be used; nil: it is not installed, or its state cannot be read.
    public func currentVersion(of name: AdapterName) -> AdapterVersion? {
        guard let state = try? state(of: name) else { return nil }
        return state.current
    }

    /// One of them, its files not compared; nil: it is not installed.
    public func adapter(_ name: AdapterName) throws(AdapterPackageError) -> InstalledAdapter? {
        guard let state = try state(of: name) else { return nil }
        return InstalledAdapter(
            current: try release(name, state.current), previous: state.previous, rollbackReason: state.rollbackReason)
    }

    /// Puts the package's version beside those that are there. It is not used before ``use(_:)``. The same version takes the place
    /// of one whose files were changed, or that has another signature or none.
    ///
    /// Throws where this host does not speak its protocol, or another package of the same name and version is there.
    public func add(_ package: AdapterPackage) throws(AdapterPackageError) -> AdapterRelease {
        let manifest = package.manifest
        let spoken = AdapterProtocolVersion.spoken
        guard spoken.contains(manifest.protocolVersion) else {
            throw AdapterPackageError(
                "The package's program speaks version \(manifest.protocolVersion) of the adapter protocol; "
                    + "this host speaks \(spoken.map { "\($0)" }.joined(separator: ", ")).")
        }
        let target = path(manifest.name, manifest.version)
        // What cannot be read was changed.
        if let known = try? release(manifest.name, manifest.version) {
            guard known.manifest == manifest else {
                throw AdapterPackageError(
                    "Another package of \(manifest.name) \(manifest.version) is installed: give this one another version."
                )
            }
            let isSound = (try? verify(known, trusting: [])) != nil
            if isSound, (try? signature(of: known)) == package.signatureBytes { return known }
        }
        let incoming = "\(folder)/.incoming-\(String(random(), radix: 16))"
        do throws(AdapterPackageError) {
            try makeFolder("\(folder)/\(manifest.name)/versions")
            try makeFolder(incoming)
            try extract(package, into: incoming)
            remove(target)
            try moving { () throws(PorticoError) in try DurableFiles.move(incoming, to: target) }
        } catch {
            remove(incoming)
            throw error
        }
        return AdapterRelease(manifest: manifest, folder: target)
    }

    /// Makes a version that was added the current one; the one before it becomes the previous one. The one before that is kept, in
    /// case the new version is given up; older ones are removed.
    public func use(_ release: AdapterRelease) throws(AdapterPackageError) {
        let name = release.manifest.name
        let known = try? state(of: name)
        guard known?.current != release.manifest.version else { return }
        try write(
            State(
                current: release.manifest.version, previous: known?.current, beforePrevious: known?.previous,
                rollbackReason: nil), of: name)
        prune(name)
    }

    /// Makes the previous version the current one, and the other way round. Throws where there is none.
    ///
    /// `reason`: why, where no operator did it. It stays until another version is used. What is given up so is no version to go
    /// back to: it is removed, and the previous version is the one before again.
    public func rollBack(
        _ name: AdapterName, trusting keys: [PackageKey], because reason: String? = nil
    ) throws(AdapterPackageError) -> AdapterRelease {
        guard let state = try state(of: name), let previous = state.previous else {
            throw AdapterPackageError("There is no earlier version of \(name).")
        }
        let release = try verifiedRelease(name, previous, trusting: keys)
        let reason = reason.map { String(decoding: $0.utf8.prefix(Self.maximumReason), as: UTF8.self) }
        let wasGivenUp = reason != nil
        try write(
            State(
                current: previous, previous: wasGivenUp ? state.beforePrevious : state.current,
                beforePrevious: wasGivenUp ? nil : state.beforePrevious, rollbackReason: reason), of: name)
        return release
    }

    /// One of the versions that are there.
    private func release(
        _ name: AdapterName, _ version: AdapterVersion
    ) throws(AdapterPackageError) -> AdapterRelease {
        let path = path(name, version)
        let file = try PackageFile("\(path)/\(AdapterManifest.fileName)")
        let manifest = try AdapterManifest(file.read(0, file.size))
        guard manifest.name == name, manifest.version == version else {
            throw AdapterPackageError("The files of \(name) \(version) belong to another package.")
        }
        return AdapterRelease(manifest: manifest, folder: path)
    }

    /// One of its versions, checked as in ``all(trusting:)``. Throws where it cannot be used.
    public func verifiedRelease(
        _ name: AdapterName, _ version: AdapterVersion, trusting keys: [PackageKey]
    ) throws(AdapterPackageError) -> AdapterRelease {
        let release = try release(name, version)
        try verify(release, trusting: keys)
        return release
    }

    /// Removes a version that was added and is neither the current one nor one of those before it.
    public func discard(_ release: AdapterRelease) throws(AdapterPackageError) {
        let state = try state(of: release.manifest.name)
        guard state?.versions.contains(release.manifest.version) != true else { return }
        remove(release.folder)
        if state == nil { remove("\(folder)/\(release.manifest.name)") }
    }

    /// Removes an adapter with all its versions. Its records stay in the store.
    public func remove(_ name: AdapterName) throws(AdapterPackageError) {
        let path = "\(folder)/\(name)"
        try moving { () throws(PorticoError) in
            try DurableFiles.remove("\(path)/\(Self.stateName)")
            if exists(path) { try DurableFiles.flush(path) }
        }
        remove(path)
    }

    /// To be called at start: removes what was not finished.
    public func removeUnfinished() throws(AdapterPackageError) {
        for name in try names(in: folder) {
            if name.hasPrefix(".incoming-") { remove("\(folder)/\(name)") }
            guard let adapter = AdapterName(name) else { continue }
            // A state that cannot be read is an operator's matter.
            guard exists("\(folder)/\(name)/\(Self.stateName)") else {
                remove("\(folder)/\(name)")
                continue
            }
            prune(adapter)
        }
    }
}

/// An adapter that is installed.
public struct InstalledAdapter: Sendable, Equatable {
    public let current: AdapterRelease
    /// The version that was current before; nil: there was none.
    public let previous: AdapterVersion?
    /// Why the current version took the place of the previous one again, where no operator did it.
    public let rollbackReason: String?
}

/// One version of an adapter, its files in a folder.
public struct AdapterRelease: Sendable, Equatable {
    public let manifest: AdapterManifest
    /// As the folder of all adapters was given, and on from there.
    public let folder: String

    /// The program's file.
    public var program: String { "\(folder)/\(manifest.entry)" }
}

extension InstalledAdapters {
    private static let stateName = "state.json"
    private static let maximumState = 4 << 10
    /// In bytes; as JSON at most six times as many.
    private static let maximumReason = 500

    private struct State {
        let current: AdapterVersion
        let previous: AdapterVersion?
        /// What was the previous version before the current one was used.
        let beforePrevious: AdapterVersion?
        let rollbackReason: String?

        /// Whose files are kept.
        var versions: [AdapterVersion] { [current, previous, beforePrevious].compactMap(\.self) }
    }

    private func path(_ name: AdapterName, _ version: AdapterVersion) -> String {
        "\(folder)/\(name)/versions/\(version)"
    }

    private func state(of name: AdapterName) throws(AdapterPackageError) -> State? {
        let path = "\(folder)/\(name)/\(Self.stateName)"
        guard exists(path) else { return nil }
        let file = try PackageFile(path)
        guard file.size <= Self.maximumState,
            let members = (try? JSONFormat().read(file.read(0, file.size)))?.dictionaryValue,
            members["format"]?.int64Value == 1,
            let current = members["current"]?.stringValue.flatMap({ AdapterVersion($0) })
        else { throw AdapterPackageError("The state of \(name) cannot be read: install it again.") }
        func version(_ member: String) -> AdapterVersion? {
            members[member]?.stringValue.flatMap { AdapterVersion($0) }
        }
        return State(
            current: current, previous: version("previous"), beforePrevious: version("beforePrevious"),
            rollbackReason: members["rollbackReason"]?.stringValue)
    }

    private func write(_ state: State, of name: AdapterName) throws(AdapterPackageError) {
        var members: WireDictionary = ["format": .int64(1), "current": .string(state.current.text)]
        if let previous = state.previous { members["previous"] = .string(previous.text) }
        if let version = state.beforePrevious { members["beforePrevious"] = .string(version.text) }
        if let reason = state.rollbackReason { members["rollbackReason"] = .string(reason) }
        let bytes = (try? JSONFormat().write(.dictionary(members))) ?? []
        try moving { () throws(PorticoError) in
            try DurableFiles.write(bytes, to: "\(folder)/\(name)/\(Self.stateName)")
        }
    }

    /// Removes the versions that are not kept.
    private func prune(_ name: AdapterName) {
        guard let state = try? state(of: name), let versions = try? names(in: "\(folder)/\(name)/versions") else {
            return
        }
        let kept = Set(state.versions.map(\.text))
        for version in versions where !kept.contains(version) { remove("\(folder)/\(name)/versions/\(version)") }
    }

    private func extract(_ package: AdapterPackage, into target: String) throws(AdapterPackageError) {
        var folders: Set<String> = []
        for (path, listed) in package.manifest.files.sorted(by: { $0.key.text < $1.key.text }) {
            for folder in path.folders where folders.insert(folder).inserted { try makeFolder("\(target)/\(folder)") }
            let output = try PackageOutput("\(target)/\(path)", mode: listed.isExecutable ? 0o700 : 0o600)
            try package.content(of: path) { piece throws(AdapterPackageError) in try output.append(piece) }
            try output.flush()
        }
        let signature = package.signatureBytes.map { (PackageSignature.fileName, $0) }
        for (name, bytes) in [(AdapterManifest.fileName, package.manifestBytes), signature].compactMap(\.self) {
            let output = try PackageOutput("\(target)/\(name)", mode: 0o600)
            try output.append(bytes)
            try output.flush()
        }
        try moving { () throws(PorticoError) in
            for folder in folders { try DurableFiles.flush("\(target)/\(folder)") }
            try DurableFiles.flush(target)
        }
    }

    private func verify(_ release: AdapterRelease, trusting keys: [PackageKey]) throws(AdapterPackageError) {
        try verifySignature(of: release, trusting: keys)
        try verifyNames(of: release)
        for (path, listed) in release.manifest.files {
            let file = try PackageFile("\(release.folder)/\(path)")
            guard file.size == listed.size, try file.digest() == listed.digest else {
                throw AdapterPackageError("The file \(path) of \(release.manifest.name) was changed: install it again.")
            }
        }
    }

    private func verifySignature(of release: AdapterRelease, trusting keys: [PackageKey]) throws(AdapterPackageError) {
        let title = "\(release.manifest.name) \(release.manifest.version)"
        guard let bytes = try signature(of: release) else {
            guard keys.isEmpty else {
                throw AdapterPackageError(
                    "\(title) was installed without a signature, and packages.trustedKeys asks for one: install it again, signed."
                )
            }
            return
        }
        let signature = try PackageSignature(bytes)
        let manifest = try PackageFile("\(release.folder)/\(AdapterManifest.fileName)")
        guard signature.isValid(for: try manifest.read(0, manifest.size)) else {
            throw AdapterPackageError(
                "The \(AdapterManifest.fileName) of \(title) is not what was signed: install it again.")
        }
        guard keys.isEmpty || keys.contains(signature.key) else {
            throw AdapterPackageError(
                "\(title) is signed by the key \(signature.key.text), which packages.trustedKeys does not have: "
                    + "install it again, signed by one of them.")
        }
    }

    /// The bytes of the release's ``PackageSignature``; nil: it has none.
    private func signature(of release: AdapterRelease) throws(AdapterPackageError) -> [UInt8]? {
        let path = "\(release.folder)/\(PackageSignature.fileName)"
        guard exists(path) else { return nil }
        let file = try PackageFile(path)
        guard file.size <= PackageSignature.maximumBytes else {
            throw AdapterPackageError(
                "The \(PackageSignature.fileName) of \(release.manifest.name) was changed: install it again.")
        }
        return try file.read(0, file.size)
    }

    /// Throws where there is a file that the manifest does not list, which its program would read or load, or a link.
    private func verifyNames(of release: AdapterRelease) throws(AdapterPackageError) {
        let files = Set(
            release.manifest.files.keys.map(\.text) + [AdapterManifest.fileName, PackageSignature.fileName])
        let folders = Set(release.manifest.files.keys.flatMap(\.folders))
        var waiting = [""]
        while let folder = waiting.popLast() {
            for name in try names(in: "\(release.folder)/\(folder)") {
                let path = folder + name
                var status = stat()
                let type = lstat("\(release.folder)/\(path)", &status) == 0 ? status.st_mode & S_IFMT : 0
                if type == S_IFDIR, folders.contains(path) {
                    waiting.append("\(path)/")
                } else if type != S_IFREG || !files.contains(path) {
                    throw AdapterPackageError(
                        "\(path.debugDescription) is not of the package \(release.manifest.name): install it again.")
                }
            }
        }
    }

    private func makeFolder(_ path: String) throws(AdapterPackageError) {
        let names = PackagePath.names(path, omittingEmptyOnes: false)
        for end in names.indices {
            let part = names[...end].joined(separator: "/")
            if part.isEmpty || exists(part) { continue }
            guard mkdir(part, 0o700) == 0 || errno == EEXIST else {
                throw AdapterPackageError("A folder cannot be made: \(String(cString: strerror(errno))).")
            }
        }
    }

    /// None where the folder is not there.
    private func names(in path: String) throws(AdapterPackageError) -> [String] {
        var status = stat()
        guard lstat(path, &status) == 0 else { return [] }
        guard status.st_mode & S_IWOTH == 0 else {
            throw AdapterPackageError("Every user may write the folder of the installed adapters: chmod o-w it.")
        }
        guard let stream = opendir(path) else {
            throw AdapterPackageError(
                "The folder of the installed adapters cannot be read: \(String(cString: strerror(errno))).")
        }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    private func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    /// With what is below it, through no link. What cannot be removed is left for the next start.
    private func remove(_ path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            unlink(path)
            return
        }
        for name in (try? names(in: path)) ?? [] { remove("\(path)/\(name)") }
        rmdir(path)
    }

    private func moving(_ body: () throws(PorticoError) -> Void) throws(AdapterPackageError) {
        do throws(PorticoError) { try body() } catch { throw AdapterPackageError(error.message) }
    }
}
