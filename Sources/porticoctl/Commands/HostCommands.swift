import ArgumentParser
import Foundation

/// What teams do who compile adapters into a gateway's program of their own.
struct HostCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "host", abstract: "Writes a gateway's program of one's own.", subcommands: [New.self])

    /// Writes a package that compiles adapters into a host.
    struct New: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Writes the package of a gateway's program with adapters compiled in.",
            discussion: """
                The package depends on Portico, on each adapter's package, and has one source file that lists the adapters: those \
                that come with Portico, and these. What is compiled in has the gateway's rights, and ends with it; an adapter \
                of another team is better run as a program (docs/plugins.md).

                An address is a folder, or a repository with a version: https://git.example.com/notes.git@1.2.0. Portico's is \
                the checkout that this program was built from, where --portico names no other one.

                Examples:
                  porticoctl host new acme-gateway --adapter ../notes
                  porticoctl host new acme-gateway --portico https://git.example.com/portico.git@0.1.0
                """)

        @Argument(help: "The package's folder, which is made. Its name is the program's.") var folder: String
        @Option(name: .customLong("adapter"), help: "The address of an adapter's package; several are possible.")
        var adapters: [String] = []
        @Option(help: "The address of Portico's package.") var portico: String?

        func run() throws {
            let place = URL(fileURLWithPath: folder, isDirectory: true).standardizedFileURL
            let portico = try portico.map(PackageAddress.init) ?? PackageAddress.checkout()
            let template = try HostTemplate(
                name: place.lastPathComponent, portico: portico,
                adapters: adapters.map { try HostTemplate.CompiledAdapter(in: PackageAddress($0)) })
            try template.write(to: place)
            print(
                """
                \(place.path): a gateway's program with the adapters that come with Portico\
                \(template.adapters.map { " and \($0.module)" }.joined()).
                Next: cd \(place.path) && swift build && .build/debug/\(template.name) --version
                """)
        }
    }
}

/// Where a package of SwiftPM is: a folder, or a repository and a version of it.
enum PackageAddress: Equatable {
    /// An absolute path.
    case folder(String)
    case repository(String, version: String)

    /// Throws where it is neither a folder with a package nor a repository with a version.
    init(_ text: String) throws {
        guard text.contains("://") || text.hasPrefix("git@") else {
            let folder = URL(fileURLWithPath: text, isDirectory: true).standardizedFileURL
            guard FileManager.default.fileExists(atPath: folder.appendingPathComponent("Package.swift").path) else {
                throw CommandError("\(folder.path) has no Package.swift.")
            }
            self = .folder(folder.path)
            return
        }
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        guard let version = parts.last, parts.count > 1, Self.isVersion(version) else {
            throw CommandError("\(text) has no version: write it behind the address, such as \(text)@1.0.0.")
        }
        self = .repository(String(text.dropLast(version.count + 1)), version: String(version))
    }

    /// The checkout in which this program lies.
    static func checkout() throws -> PackageAddress {
        let program = URL(fileURLWithPath: Bundle.main.executablePath ?? CommandLine.arguments[0])
            .resolvingSymlinksInPath()
        var folder = program.deletingLastPathComponent()
        // .build/TRIPLE/CONFIGURATION/porticoctl
        for _ in 0..<4 {
            folder = folder.deletingLastPathComponent()
            let hasHost = FileManager.default.fileExists(atPath: folder.appendingPathComponent("Sources/Host").path)
            if hasHost, let checkout = try? PackageAddress(folder.path) { return checkout }
        }
        throw CommandError("There is no checkout of Portico around \(program.path). Name its address with --portico.")
    }

    private static func isVersion(_ text: Substring) -> Bool {
        let numbers = text.prefix { $0 != "-" && $0 != "+" }.split(separator: ".", omittingEmptySubsequences: false)
        return numbers.count == 3 && numbers.allSatisfy { UInt32($0) != nil }
            && text.utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x41...0x7A).contains($0) || "-.+".utf8.contains($0)
            }
    }
}
