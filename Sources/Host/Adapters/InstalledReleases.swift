import AdapterKit
import AdapterPackages

/// The adapters that were installed as packages: what of each is used.
struct InstalledReleases: Sendable {
    /// Below the data directory.
    static let folderName = "adapters"

    private let programs: [AdapterName: AdapterProgram]
    private let files: GatewayFiles

    private init(_ programs: [AdapterName: AdapterProgram], files: GatewayFiles) {
        (self.programs, self.files) = (programs, files)
    }

    /// Those of the data directory, their files compared with their digests, and their signatures with the keys of which one is
    /// needed; none: a signature is not needed.
    init(of files: GatewayFiles, trusting keys: [PackageKey]) throws {
        let found: [AdapterName: Result<InstalledAdapter, AdapterPackageError>]
        do throws(AdapterPackageError) {
            let folder = InstalledAdapters("\(files.data)/\(Self.folderName)")
            found = try folder.all(trusting: keys)
        } catch {
            throw HostCommandError(error.message)
        }
        programs = Dictionary(
            found.map { name, result in
                switch result {
                case .success(let adapter):
                    (name, AdapterProgram(adapter.current.program, installedAs: name, files: files))
                case .failure(let error): (name, AdapterProgram(unusable: name, files: files, because: error.message))
                }
            }, uniquingKeysWith: { $1 })
        self.files = files
    }

    /// The same with another release of an adapter; nil: without it.
    func replacing(_ name: AdapterName, with release: AdapterRelease?) -> InstalledReleases {
        var programs = programs
        programs[name] = release.map {
            AdapterProgram($0.program, installedAs: name, files: files, isRequired: true)
        }
        return InstalledReleases(programs, files: files)
    }

    var all: [AdapterProgram] { programs.sorted { $0.key < $1.key }.map(\.value) }

    /// As a configuration can name them. `taken`: the names of adapters that are linked or loaded. Blocks its thread.
    func adapters(besides taken: Set<AdapterName>) throws -> [ConfigurableAdapter] {
        AdapterProgram.ask(programs.filter { !taken.contains($0.key) }.map(\.value))
        return try programs.sorted { $0.key < $1.key }.map { name, program in
            guard !taken.contains(name) else { throw collision(of: name, isBeingInstalled: program.isRequired) }
            return try program.adapter()
        }
    }

    private func collision(of name: AdapterName, isBeingInstalled: Bool) -> HostCommandError {
        guard !isBeingInstalled else {
            return HostCommandError(
                "There is an adapter \(name) already, which comes with the gateway or is named under `plugins`: take it out of "
                    + "`plugins`, or install the package under another name.")
        }
        return HostCommandError(
            "There are two adapters \(name): one was installed as a package, and one comes with the gateway or is named under "
                + "`plugins`. Take that one out of `plugins`, or remove the package: with `porticoctl adapters remove \(name)` "
                + "while the gateway serves, else by removing \(files.data)/\(Self.folderName)/\(name).")
    }
}
