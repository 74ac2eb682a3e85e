import AdapterKit
import AdapterPackages
import ArgumentParser
import Foundation

/// What teams do who write adapters. `adapters` is for those who operate them.
struct AdapterCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "adapter", abstract: "Writes, tests and packs adapters.",
        subcommands: [New.self, Test.self, Dev.self, Pack.self])

    /// Writes a package of an adapter.
    struct New: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Writes the package of a new adapter, which builds, passes its tests and runs without changes.",
            discussion: """
                The package is a folder with the adapter's name. The kind decides what the adapter serves at first:
                  entity     records that people read and write, on devices too
                  operation  a call with an input and an output
                  mirror     records of another system
                  mount      paths below which the adapter handles each HTTP request itself

                The package is built against the SDK, the sources of AdapterKit. They are in the installed tree \
                (share/portico/sdk) or in the checkout that this program was built from. --sdk names another folder; the variable \
                PORTICO_SDK names one whenever the package is built.
                """)

        @Argument(help: "The adapter's name: small letters, digits and hyphens.") var name: String
        @Option(help: "entity, operation, mirror or mount.") var kind = AdapterTemplate.Kind.entity
        @Option(help: "The folder that contains the package AdapterKit.") var sdk: String?
        @Option(name: .customLong("into"), help: "The folder in which the package's folder is made.") var folder = "."

        func run() throws {
            guard let name = AdapterName(name) else {
                throw CommandError(
                    "\(name) cannot be an adapter's name: a small letter, then small letters, digits and hyphens, "
                        + "\(AdapterTemplate.longestName) at most.")
            }
            guard !AdapterManifest.isReserved(name) else {
                throw CommandError("The gateway uses the name \(name) itself: give the adapter another one.")
            }
            let sdk = try sdk.map(AdapterSDK.init(path:)) ?? AdapterSDK.find()
            let template = try AdapterTemplate(kind, name: name, sdk: sdk)
            let place = URL(fileURLWithPath: folder, isDirectory: true).appendingPathComponent(
                name.text, isDirectory: true)
            try template.write(to: place)
            print(
                """
                \(place.path): an adapter of the kind \(kind.rawValue), for the SDK in \(sdk.folder.path).
                Next: cd \(place.path) && porticoctl adapter test
                README.md has the rest.
                """)
        }
    }
}

/// The folder with the sources that adapters are built against.
struct AdapterSDK {
    static let variable = "PORTICO_SDK"

    let folder: URL

    /// A folder that a person names.
    init(path: String) throws {
        let folder = URL(fileURLWithPath: path, isDirectory: true).standardizedFileURL
        guard Self.isSDK(folder) else {
            throw CommandError("\(folder.path) has no AdapterKit/Package.swift and no AdapterTemplates: it is no SDK.")
        }
        self.folder = folder
    }

    private init(folder: URL) { self.folder = folder }

    /// That of `PORTICO_SDK`, otherwise of the installed tree or the checkout in which this program lies.
    static func find() throws -> AdapterSDK {
        if let path = ProcessInfo.processInfo.environment[variable] { return try AdapterSDK(path: path) }
        let program = URL(fileURLWithPath: Bundle.main.executablePath ?? CommandLine.arguments[0])
            .resolvingSymlinksInPath()
        var folder = program.deletingLastPathComponent()
        // bin/porticoctl of an installed tree; .build/TRIPLE/CONFIGURATION/porticoctl of a checkout.
        for _ in 0..<5 {
            folder = folder.deletingLastPathComponent()
            for candidate in ["share/portico/sdk", "Sources"] {
                let sdk = folder.appendingPathComponent(candidate, isDirectory: true)
                if isSDK(sdk) { return AdapterSDK(folder: sdk) }
            }
        }
        throw CommandError("There is no SDK near \(program.path). Name its folder with --sdk or \(variable).")
    }

    private static func isSDK(_ folder: URL) -> Bool {
        ["AdapterKit/Package.swift", "AdapterTemplates"].allSatisfy {
            FileManager.default.fileExists(atPath: folder.appendingPathComponent($0).path)
        }
    }
}
