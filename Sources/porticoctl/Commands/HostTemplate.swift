import Foundation
import ValueTree
import WireFormats

/// The package of a gateway's program: a manifest, and one source file that lists what is compiled in.
struct HostTemplate: PackageTemplate {
    /// An adapter as a host's source names it.
    struct CompiledAdapter: Equatable {
        let address: PackageAddress
        /// The package's name, by which a manifest refers to it.
        let package: String
        /// The library product, which is imported.
        let library: String
        /// The type that conforms to `AdapterModule`.
        let module: String
        /// Of the package.
        let version: String
    }

    /// The program's name, the target's and the package's.
    let name: String
    let portico: PackageAddress
    let adapters: [CompiledAdapter]

    /// Throws where the name is none of a program, or an address cannot stand in a manifest.
    init(name: String, portico: PackageAddress, adapters: [CompiledAdapter]) throws {
        let isName =
            name.utf8.first.map { (0x61...0x7A).contains($0) } ?? false && name.utf8.count <= 40
            && name.utf8.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D }
        guard isName, name != "portico", name != "host" else {
            throw CommandError(
                "\(name) cannot be the program's name: a small letter, then small letters, digits and hyphens, 40 at most, "
                    + "and neither portico nor host.")
        }
        for address in [portico] + adapters.map(\.address) where !address.literal.allSatisfy(Self.isPlain) {
            throw CommandError("\(address.literal) cannot be named in a Package.swift.")
        }
        (self.name, self.portico, self.adapters) = (name, portico, adapters)
    }

    private static func isPlain(_ letter: Character) -> Bool {
        letter != "\"" && letter != "\\" && !letter.isNewline
    }

    /// Path within the package → text.
    var files: [String: String] {
        ["Package.swift": manifest, "Sources/\(name)/Program.swift": source, ".gitignore": ".build/\n"]
    }

    private var manifest: String {
        let packages = adapters.map { "        .package(\($0.address.argument)),\n" }.joined()
        let libraries = adapters.map {
            "                .product(name: \"\($0.library)\", package: \"\($0.package)\"),\n"
        }.joined()
        return """
            // swift-tools-version: 6.2
            import PackageDescription

            let package = Package(
                name: "\(name)",
                platforms: [.macOS(.v15)],
                dependencies: [
                    .package(name: "Portico", \(portico.argument), traits: ["Server"]),
            \(packages)    ],
                targets: [
                    .executableTarget(
                        name: "\(name)",
                        dependencies: [
                            .product(name: "Host", package: "\(portico.packageName ?? "Portico")"),
            \(libraries)            ])
                ],
                swiftLanguageModes: [.v6]
            )

            """.replacingOccurrences(of: ".package(name: \"Portico\", url:", with: ".package(url:")
    }

    private var source: String {
        let imports = (["BuiltInAdapters", "Host"] + Set(adapters.map(\.library))).sorted().map { "import \($0)\n" }
        let listed = adapters.map { ", CompiledAdapter(\($0.module).self, version: \"\($0.version)\")" }.joined()
        let list = listed.isEmpty ? "BuiltInAdapters.all" : "BuiltInAdapters.all + [\(listed.dropFirst(2))]"
        let type = name.split(separator: "-").map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined() + "Program"
        return """
            \(imports.joined())
            @main
            enum \(type): HostProgram {
                static let name = "\(name)"
                static let adapters = \(list)
            }

            """
    }
}

extension PackageAddress {
    /// As a manifest writes it.
    fileprivate var literal: String {
        switch self {
        case .folder(let path): path
        case .repository(let address, _): address
        }
    }

    /// By which a manifest refers to the package: the last part of a repository's address; nil: of a folder.
    fileprivate var packageName: String? {
        guard case .repository(let repository, _) = self else { return nil }
        let last = repository.split { $0 == "/" || $0 == ":" }.last.map(String.init) ?? repository
        return last.hasSuffix(".git") ? String(last.dropLast(4)) : last
    }

    /// Of `.package(…)`.
    fileprivate var argument: String {
        switch self {
        case .folder(let path): "path: \"\(path)\""
        case .repository(let address, let version): "url: \"\(address)\", from: \"\(version)\""
        }
    }
}

// MARK: What a package has

extension HostTemplate.CompiledAdapter {
    /// Looks into the package, which is fetched where it is a repository. Throws where it has no library with an adapter.
    init(in address: PackageAddress) throws {
        switch address {
        case .folder(let path):
            self = try Self.find(URL(fileURLWithPath: path, isDirectory: true), address, version: nil)
        case .repository(let repository, let version):
            let folder = FileManager.default.temporaryDirectory.appending(path: "adapter-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: folder) }
            try Tool.run([
                "git", "clone", "--quiet", "--depth", "1", "--branch", version, "--", repository, folder.path,
            ])
            self = try Self.find(folder, address, version: version)
        }
    }

    private static func find(_ folder: URL, _ address: PackageAddress, version: String?) throws -> Self {
        let described = try Tool.output(
            ["swift", "package", "--package-path", folder.path, "describe", "--type", "json"])
        let package = (try? JSONFormat().read(Array(described.utf8))) ?? .null
        let targets = package["targets"]?.arrayValue ?? []
        let libraries = (package["products"]?.arrayValue ?? []).filter { $0["type"]?["library"] != nil }
        for library in libraries {
            for target in library["targets"]?.arrayValue ?? [] {
                guard let name = library["name"]?.stringValue, library["targets"]?.arrayValue?.count == 1,
                    let path = targets.first(where: { $0["name"] == target })?["path"]?.stringValue,
                    let module = module(in: folder.appending(path: path))
                else { continue }
                return Self(
                    address: address, package: address.packageName ?? folder.lastPathComponent, library: name,
                    module: module,
                    version: version ?? programVersion(of: module, in: targets, folder) ?? "0.1.0")
            }
        }
        throw CommandError("\(folder.path) has no library with a type that conforms to AdapterModule.")
    }

    private static func module(in folder: URL) -> String? {
        firstMatch(/public\s+(?:enum|struct|final\s+class)\s+(\w+)\s*:[^{]*\bAdapterModule\b/, below: folder)
    }

    /// The version that the adapter's program is run with as a worker: of one source, one version.
    private static func programVersion(of module: String, in targets: [WireValue], _ folder: URL) -> String? {
        targets.lazy.filter { $0["type"] == "executable" }.compactMap { $0["path"]?.stringValue }.compactMap {
            firstMatch(
                /AdapterWorkerProgram\.run\(\s*\w+\.self,\s*version:\s*"([0-9A-Za-z.+-]+)"/,
                below: folder.appending(path: $0))
        }.first
    }

    /// In the Swift files of a folder, in the order of their paths.
    private static func firstMatch(_ pattern: Regex<(Substring, Substring)>, below folder: URL) -> String? {
        let paths = (try? FileManager.default.subpathsOfDirectory(atPath: folder.path)) ?? []
        for path in paths.sorted() where path.hasSuffix(".swift") {
            guard let text = try? String(contentsOf: folder.appending(path: path), encoding: .utf8),
                let found = text.firstMatch(of: pattern)
            else { continue }
            return String(found.1)
        }
        return nil
    }
}
