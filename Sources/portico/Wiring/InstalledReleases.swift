import AdapterKit
import AdapterPackages
import Synchronization

/// The adapters that were installed as packages: what of each is used.
struct InstalledReleases: Sendable {
    /// Below the data directory.
    static let folderName = "adapters"

    private let releases: [AdapterName: InstalledProgram]
    /// Those that cannot be used, and why. The others are served.
    let problems: [String]

    private init(_ releases: [AdapterName: InstalledProgram], problems: [String]) {
        self.releases = releases
        self.problems = problems
    }

    /// Those of a data directory, their files compared with their digests.
    init(of data: String) throws {
        let found: [AdapterName: Result<InstalledAdapter, AdapterPackageError>]
        do throws(AdapterPackageError) {
            let folder = InstalledAdapters("\(data)/\(Self.folderName)")
            found = try folder.all()
        } catch {
            throw CommandError(error.message)
        }
        releases = found.compactMapValues { result in
            (try? result.get()).map { InstalledProgram($0.current, isRequired: false) }
        }
        problems = found.sorted { $0.key < $1.key }.compactMap { name, result in
            guard case .failure(let error) = result else { return nil }
            return "the installed adapter \(name) is not served: \(error.message)"
        }
    }

    /// The same with another release of an adapter; nil: without it.
    func replacing(_ name: AdapterName, with release: AdapterRelease?) -> InstalledReleases {
        var releases = releases
        releases[name] = release.map { InstalledProgram($0, isRequired: true) }
        return InstalledReleases(releases, problems: problems)
    }

    /// As a configuration can name them. `taken`: the names of adapters that are linked or loaded. Blocks its thread.
    ///
    /// A program that was installed before this process began and does not answer is left out, with a sentence for
    /// `report`, so that the others are served.
    func adapters(
        besides taken: Set<AdapterName>, data: String, report: (String) -> Void
    ) throws -> [ConfigurableAdapter] {
        try releases.sorted { $0.key < $1.key }.compactMap { name, program in
            guard !taken.contains(name) else {
                throw CommandError(
                    "There is an adapter \(name) already, and one was installed below \(Self.folderName)/: take it out of"
                        + " plugins, or remove it with porticoctl adapters remove \(name).")
            }
            do {
                var adapter = ConfigurableAdapter(try program.plugin(data: data))
                adapter.isOptional = !program.isRequired
                return adapter
            } catch  where !program.isRequired {
                report("the installed adapter \(name) is not served: \(error)")
                return nil
            }
        }
    }
}

/// The program of a release, which is asked once what it is called.
private final class InstalledProgram: Sendable {
    /// Whether nothing works without it: it is being installed.
    let isRequired: Bool
    private let release: AdapterRelease
    private let known = Mutex<WorkerPlugin?>(nil)

    init(_ release: AdapterRelease, isRequired: Bool) {
        self.release = release
        self.isRequired = isRequired
    }

    func plugin(data: String) throws -> WorkerPlugin {
        if let plugin = known.withLock({ $0 }) { return plugin }
        let plugin = try WorkerPlugin(release.program, data: data)
        guard plugin.name == release.manifest.name else {
            throw CommandError("The program of \(release.manifest.name) says that it is \(plugin.name).")
        }
        known.withLock { $0 = plugin }
        return plugin
    }
}
