import Foundation
import Testing

@testable import porticoctl

/// The package that `porticoctl host new` writes.
@Suite struct HostTemplateTests {
    private static let notes = HostTemplate.CompiledAdapter(
        address: .repository("https://git.example.com/notes.git", version: "1.2.0"), package: "notes", library: "Notes",
        module: "NotesModule", version: "1.2.0")

    @Test func `a host lists the adapters that come with Portico, then its own`() throws {
        let host = try HostTemplate(name: "acme-gateway", portico: .folder("/src/portico"), adapters: [Self.notes])
        #expect(
            host.files["Sources/acme-gateway/Program.swift"] == """
                import BuiltInAdapters
                import Host
                import Notes

                @main
                enum AcmeGatewayProgram: HostProgram {
                    static let name = "acme-gateway"
                    static let adapters = BuiltInAdapters.all + [CompiledAdapter(NotesModule.self, version: "1.2.0")]
                }

                """)
        let manifest = try #require(host.files["Package.swift"])
        for line in [
            #".package(name: "Portico", path: "/src/portico", traits: ["Server"]),"#,
            #".package(url: "https://git.example.com/notes.git", from: "1.2.0"),"#,
            #".product(name: "Host", package: "Portico"),"#, #".product(name: "Notes", package: "notes"),"#,
        ] {
            #expect(manifest.contains(line), "\(manifest)")
        }
    }

    @Test func `a repository is named with its version and no name beside`() throws {
        let portico = PackageAddress.repository("https://git.example.com/Portico.git", version: "0.1.0")
        let manifest = try HostTemplate(name: "a", portico: portico, adapters: []).files["Package.swift"]
        let line = #".package(url: "https://git.example.com/Portico.git", from: "0.1.0", traits: ["Server"]),"#
        #expect(manifest?.contains(line) == true, "\(manifest ?? "")")
        #expect(manifest?.contains(#".product(name: "Host", package: "Portico"),"#) == true)
    }

    @Test(
        arguments: [
            ("https://git.example.com/notes.git@1.2.0", "https://git.example.com/notes.git", "1.2.0"),
            ("git@git.example.com:acme/notes.git@1.2.0-beta.1", "git@git.example.com:acme/notes.git", "1.2.0-beta.1"),
        ])
    func `an address of a repository ends with a version`(text: String, address: String, version: String) throws {
        #expect(try PackageAddress(text) == .repository(address, version: version))
    }

    @Test(arguments: [
        "https://git.example.com/notes.git", "git@git.example.com:notes.git", "https://a.example/b@1.0", "/nowhere",
    ])
    func `an address without a version or a package is refused`(text: String) {
        #expect(throws: CommandError.self) { try PackageAddress(text) }
    }

    @Test(arguments: ["", "Acme", "1a", "a b", "portico", "host", "a\"b"])
    func `a name that no program can have is refused`(name: String) {
        #expect(throws: CommandError.self) {
            try HostTemplate(name: name, portico: .folder("/src/portico"), adapters: [])
        }
    }

    @Test func `an adapter's package says its library, its module and its version itself`() throws {
        let notes = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Plugins/Notes").path
        let found = try HostTemplate.CompiledAdapter(in: PackageAddress(notes))
        #expect(
            found
                == HostTemplate.CompiledAdapter(
                    address: .folder(notes), package: "Notes", library: "Notes", module: "NotesModule",
                    version: "1.0.0"))
    }
}
