import AdapterKit
import AdapterPackages
import ArgumentParser
import Foundation
import WireFormats

extension AdapterCommands {
    /// Makes the file that operators install.
    struct Pack: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Makes NAME-VERSION.adapter, the file that operators install.",
            discussion: """
                In the folder of a Swift package it builds the program NAME-worker for release, where NAME is the package's \
                name, and adds the libraries of the Swift runtime that the program needs. In another folder it packs every file \
                as it is, except hidden files and __pycache__; then --name and --entry are needed.

                --sign KEY signs the package with an Ed25519 key that `openssl genpkey -algorithm ed25519` has made.
                """)

        @Argument(help: "The adapter's folder.") var folder = "."
        @Option(help: "The version of the package, such as 1.2.0.") var version: String
        @Option(help: "The adapter's name.") var name: String?
        @Option(help: "The path of the program within the folder.") var entry: String?
        @Option(name: .customLong("protocol"), help: "The version of the adapter protocol that the program speaks.")
        var protocolVersion = AdapterManifest.currentProtocol
        @Option(name: .customLong("sign"), help: "The file with the private key.") var key: String?
        @Option(name: .customLong("into"), help: "The folder in which the package is written.") var output = "."

        func run() throws {
            guard let version = AdapterVersion(version) else {
                throw CommandError("\(self.version) is no semantic version, such as 1.2.0.")
            }
            guard (1...Int(UInt16.max)).contains(protocolVersion) else {
                throw CommandError("\(protocolVersion) is no version of the adapter protocol.")
            }
            let signer = try key.map(Self.signer)
            let folder = URL(fileURLWithPath: folder, isDirectory: true)
            let isSwift = FileManager.default.fileExists(atPath: folder.appendingPathComponent("Package.swift").path)
            let content = isSwift && entry == nil ? try swiftContent(folder) : try otherContent(folder)
            do throws(AdapterPackageError) {
                let path = try AdapterPackage.write(
                    name: content.name, version: version, protocolVersion: protocolVersion, entry: content.entry,
                    platform: content.platform, sources: content.files, signer: signer, into: output)
                print(path)
            } catch {
                throw CommandError("The package cannot be made: \(error.message)")
            }
        }

        private static func signer(_ path: String) throws -> PackageSigner {
            guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
                throw CommandError.unreadable(path)
            }
            guard let signer = PackageSigner(Secret(text)) else {
                throw CommandError(
                    "\(path) has no Ed25519 key in PEM, as `openssl genpkey -algorithm ed25519` writes one.")
            }
            return signer
        }

        private func adapterName(_ text: String) throws -> AdapterName {
            guard let name = AdapterName(text) else { throw CommandError("\(text) cannot be an adapter's name.") }
            return name
        }

        private func swiftContent(_ folder: URL) throws -> PackedFiles {
            let package = SwiftPackage(folder: folder)
            let name = try adapterName(try name ?? package.name())
            return try package.pack(name)
        }

        private func otherContent(_ folder: URL) throws -> PackedFiles {
            guard let name, let entry else {
                throw CommandError(
                    "\(folder.path) is no Swift package: name the adapter and its program (--name, --entry).")
            }
            return try PackedFiles(adapterName(name), entry: entry, of: folder)
        }
    }
}

/// What a package consists of: places in it, and the files that are put there.
struct PackedFiles {
    let name: AdapterName
    let entry: PackagePath
    /// Nil: every one.
    let platform: String?
    let files: [PackagePath: String]

    init(_ name: AdapterName, entry: String, files: [String: String]) throws {
        var placed: [PackagePath: String] = [:]
        for (place, file) in files {
            guard let path = PackagePath(place) else {
                throw CommandError("\(place.visible) cannot be the place of a file in a package.")
            }
            placed[path] = file
        }
        guard let entry = PackagePath(entry), let program = placed[entry] else {
            throw CommandError("There is no file \(entry.visible) in the folder.")
        }
        self.name = name
        self.entry = entry
        self.files = placed
        platform = Self.isMachineCode(program) ? AdapterManifest.currentPlatform : nil
    }

    /// Every file of a folder, but hidden ones and what Python has compiled.
    init(_ name: AdapterName, entry: String, of folder: URL) throws {
        guard let paths = try? FileManager.default.subpathsOfDirectory(atPath: folder.path) else {
            throw CommandError.unreadable(folder.path)
        }
        var files: [String: String] = [:]
        for path in paths {
            let parts = path.split(separator: "/")
            guard !parts.contains(where: { $0.hasPrefix(".") || $0 == "__pycache__" }), !path.hasSuffix(".adapter")
            else {
                continue
            }
            let file = folder.appendingPathComponent(path)
            guard (try? file.resourceValues(forKeys: [.isDirectoryKey]))?.isDirectory != true else { continue }
            files[path] = file.path
        }
        try self.init(name, entry: entry, files: files)
    }

    /// Whether it is an ELF file; a script runs on every machine.
    private static func isMachineCode(_ path: String) -> Bool {
        guard let file = FileHandle(forReadingAtPath: path) else { return false }
        defer { try? file.close() }
        return (try? file.read(upToCount: 4)) == Data([0x7F, 0x45, 0x4C, 0x46])
    }
}

/// An adapter's package of SwiftPM.
struct SwiftPackage {
    let folder: URL

    /// Where the libraries of a packed program lie, seen from it.
    private static let libraryPath = "$ORIGIN/../lib"

    /// As the manifest says.
    func name() throws -> String {
        let described = try Tool.output(
            ["swift", "package", "--package-path", folder.path, "describe", "--type", "json"])
        guard let name = (try? JSONFormat().read(Array(described.utf8)))?["name"]?.stringValue else {
            throw CommandError("\(folder.path)/Package.swift cannot be read.")
        }
        return name
    }

    /// Builds the program for release. `bin/` has it, `lib/` the libraries that are no part of the system.
    func pack(_ name: AdapterName) throws -> PackedFiles {
        let program = "\(name)-worker"
        // In a folder of its own: with other options everything would be built anew, here and by the next `swift build`.
        let build = [
            "swift", "build", "--package-path", folder.path, "--scratch-path",
            folder.appendingPathComponent(".build").resolvingSymlinksInPath().appendingPathComponent("pack").path, "-c",
            "release", "--product", program,
            "-Xswiftc", "-no-toolchain-stdlib-rpath", "-Xlinker", "-rpath", "-Xlinker", Self.libraryPath,
            // Without debug sections, which are most of the file. The names of functions stay for traces.
            "-Xlinker", "--strip-debug",
        ]
        try Tool.run(build)
        let built = try Tool.output(build + ["--show-bin-path"]).trimmingCharacters(in: .whitespacesAndNewlines)
        var files = ["bin/\(program)": "\(built)/\(program)"]
        let runtime = try runtimeFolder()
        for library in try libraries(of: "\(built)/\(program)", below: [built, runtime]) {
            files["lib/\(URL(fileURLWithPath: library).lastPathComponent)"] = library
        }
        return try PackedFiles(name, entry: "bin/\(program)", files: files)
    }

    private func runtimeFolder() throws -> String {
        let info = try Tool.output(["swift", "-print-target-info"])
        let paths = (try? JSONFormat().read(Array(info.utf8)))?["paths"]?["runtimeLibraryPaths"]?.arrayValue
        guard let runtime = paths?.first?.stringValue else {
            throw CommandError("The compiler does not say where its runtime is.")
        }
        return runtime
    }

    /// What the program loads from below these folders, as the loader finds it.
    private func libraries(of program: String, below folders: [String]) throws -> [String] {
        let listed = try Tool.output(
            ["ldd", program], environment: ["LD_LIBRARY_PATH": folders.joined(separator: ":")])
        return try listed.split(separator: "\n").compactMap { line in
            let parts = line.split(separator: " ").map { $0.trimmingCharacters(in: .whitespaces) }
            guard parts.count >= 3, parts[1] == "=>" else { return nil }
            guard parts[2] != "not" else { throw CommandError("\(program) needs \(parts[0]), which is not here.") }
            let isOwn = folders.contains { parts[2].hasPrefix($0.hasSuffix("/") ? $0 : $0 + "/") }
            return isOwn ? parts[2] : nil
        }
    }
}
