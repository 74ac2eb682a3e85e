import AdapterKit
import AdapterPackages

/// The adapters that were installed as packages: what of each is used.
struct InstalledReleases: Sendable {
    /// Below the data directory.
    static let folderName = "adapters"

    private let programs: [AdapterName: AdapterProgram]
    private let files: GatewayFiles

    private init(_ programs: [AdapterName: AdapterProgram], data: String) {
        (self.programs, self.data) = (programs, data)
    }

    /// Those of a data directory, their files compared with their digests, and their signatures with the keys of which one is
    /// needed; none: a signature is not needed.
    init(of files: GatewayFiles, trusting keys: [PackageKey]) throws {
        let found: [AdapterName: Result<InstalledAdapter, AdapterPackageError>]
        do throws(AdapterPackageError) {
            let folder = InstalledAdapters("\(data)/\(Self.folderName)")
            found = try folder.all(trusting: keys)
        } catch {
            throw CommandError(error.message)
        }
        programs = Dictionary(
            found.map { name, result in
                switch result {
                case .success(let adapter):
                    (name, AdapterProgram(adapter.current.program, installedAs: name, files: files))
                case .failure(let error): (name, AdapterProgram(unusable: name, files: files, because: error.message))
                }
            }, uniquingKeysWith: { $1 })
        self.data = data
    }

    /// The same with another release of an adapter; nil: without it.
    func replacing(_ name: AdapterName, with release: AdapterRelease?) -> InstalledReleases {
        var programs = programs
        programs[name] = release.map {
            AdapterProgram($0.program, installedAs: name, files: files, isRequired: true)
        }
        return InstalledReleases(programs, files: files)
    }

    /// As a configuration can name them. `taken`: the names of adapters that are linked or loaded. Blocks its thread.
    func adapters(besides taken: Set<AdapterName>) throws -> [ConfigurableAdapter] {
        AdapterProgram.ask(programs.filter { !taken.contains($0.key) }.map(\.value))
        return try programs.sorted { $0.key < $1.key }.map { name, program in
            guard !taken.contains(name) else {
                throw CommandError(
                    "There is an adapter \(name) already, and one was installed below \(Self.folderName)/: take it out of"
                        + " plugins, or remove it with porticoctl adapters remove \(name).")
            }
            return try program.adapter()
        }
    }
}
