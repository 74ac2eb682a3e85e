import AdapterKit
import Foundation
import Testing

@testable import AdapterPackages

@Suite struct InstalledAdaptersTests {
    private let folder: TemporaryFolder
    private let adapters: InstalledAdapters
    private var root: String { folder.path + "/adapters" }

    init() throws {
        folder = try TemporaryFolder()
        adapters = InstalledAdapters(folder.path + "/adapters")
    }

    private func add(_ version: String, name: AdapterName = "inventory") throws -> AdapterRelease {
        try adapters.add(AdapterPackage(folder.package(version, name: name)))
    }

    private func current() throws -> String? { try adapters.adapter("inventory")?.current.manifest.version.text }

    @Test func `nothing is installed where there is no folder`() throws {
        #expect(try adapters.all(trusting: []).isEmpty && adapters.adapter("inventory") == nil)
        try adapters.removeUnfinished()
        #expect(!FileManager.default.fileExists(atPath: root))
    }

    @Test func `a version that was added counts when it is used`() throws {
        let release = try add("1.0.0")
        #expect(try current() == nil)
        #expect(FileManager.default.isExecutableFile(atPath: release.program))
        try adapters.use(release)
        #expect(try adapters.all(trusting: [])["inventory"]?.get().current == release)
        #expect(try adapters.adapter("inventory")?.previous == nil)
    }

    @Test func `an upgrade keeps the two versions before it`() throws {
        for version in ["1.0.0", "1.1.0", "1.2.0", "1.3.0"] { try adapters.use(add(version)) }
        #expect(try adapters.rollBack("inventory", trusting: []).manifest.version.text == "1.2.0")
        #expect(try adapters.rollBack("inventory", trusting: []).manifest.version.text == "1.3.0")
        #expect(try versions() == ["1.1.0", "1.2.0", "1.3.0"])
    }

    private func versions() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "\(root)/inventory/versions").sorted()
    }

    @Test func `a version that is given up leaves those before it as they were`() throws {
        for version in ["1.0.0", "1.1.0", "1.2.0"] { try adapters.use(add(version)) }
        _ = try adapters.rollBack("inventory", trusting: [], because: "it crashed")
        #expect(try current() == "1.1.0")
        #expect(try adapters.adapter("inventory")?.previous?.text == "1.0.0")
        try adapters.removeUnfinished()
        #expect(try versions() == ["1.0.0", "1.1.0"])
        #expect(try adapters.rollBack("inventory", trusting: []).manifest.version.text == "1.0.0")
    }

    @Test func `an upgrade and its roll-back exchange two versions`() throws {
        for version in ["1.1.0", "1.2.0"] { try adapters.use(add(version)) }
        #expect(try current() == "1.2.0")
        #expect(try adapters.rollBack("inventory", trusting: []).manifest.version.text == "1.1.0")
        #expect(try current() == "1.1.0")
        #expect(try adapters.rollBack("inventory", trusting: []).manifest.version.text == "1.2.0")
    }

    @Test func `the reason of a roll-back is kept until another version is used`() throws {
        for version in ["1.0.0", "1.1.0"] { try adapters.use(add(version)) }
        #expect(try adapters.adapter("inventory")?.rollbackReason == nil)
        _ = try adapters.rollBack(
            "inventory", trusting: [], because: "it ended \u{0}" + String(repeating: "é\u{1}", count: 10_000))
        let reason = try #require(try adapters.adapter("inventory")?.rollbackReason)
        #expect(reason.hasPrefix("it ended ") && reason.utf8.count <= 600)
        try adapters.use(add("1.1.0"))
        #expect(try adapters.adapter("inventory")?.rollbackReason == nil)
    }

    @Test func `without an earlier version there is no roll-back`() throws {
        try adapters.use(add("1.0.0"))
        #expect(
            refusal { try adapters.rollBack("inventory", trusting: []) } == "There is no earlier version of inventory.")
        #expect(refusal { try adapters.rollBack("nothing", trusting: []) } != nil)
    }

    @Test func `the same package may be added again, another one of its version may not`() throws {
        try adapters.use(add("1.0.0"))
        _ = try add("1.0.0")
        _ = try folder.file("text", [1, 2, 3])
        #expect(refusal { try add("1.0.0") }?.contains("give this one another version") == true)
        #expect(try current() == "1.0.0")
    }

    @Test func `a program that speaks another version of the protocol is not added`() throws {
        let package = try AdapterPackage(folder.package("1.0.0", protocolVersion: 7))
        #expect(
            refusal { try adapters.add(package) }
                == "The package's program speaks version 7 of the adapter protocol; this host speaks 2, 1.")
        #expect(try adapters.all(trusting: []).isEmpty)
    }

    @Test(
        arguments: [
            "portico", "admin", "auth", "health", "sync", "batch", "metrics", "api", "openapi", "identity", "default",
        ] as [AdapterName])
    func `a name of the gateway's is no package's`(name: AdapterName) {
        #expect(
            refusal { try folder.package("1.0.0", name: name) }
                == "The gateway uses the name \(name) itself: give the adapter another one.")
    }

    @Test func `what is discarded or removed leaves nothing, what is used stays`() throws {
        let first = try add("1.0.0")
        try adapters.discard(first)
        #expect(try FileManager.default.contentsOfDirectory(atPath: root).isEmpty)
        try adapters.use(add("1.0.0"))
        let second = try add("2.0.0")
        try adapters.discard(second)
        try adapters.discard(first)
        #expect(try adapters.all(trusting: [])["inventory"]?.get().current == first)
        try adapters.remove("inventory")
        #expect(try adapters.all(trusting: []).isEmpty && FileManager.default.contentsOfDirectory(atPath: root).isEmpty)
    }

    @Test func `what was not finished is removed at start`() throws {
        try adapters.use(add("1.0.0"))
        _ = try add("1.1.0")
        try FileManager.default.createDirectory(atPath: "\(root)/.incoming-12/bin", withIntermediateDirectories: true)
        try FileManager.default.createDirectory(
            atPath: "\(root)/other/versions/1.0.0", withIntermediateDirectories: true)
        try adapters.removeUnfinished()
        #expect(try FileManager.default.contentsOfDirectory(atPath: root) == ["inventory"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: "\(root)/inventory/versions") == ["1.0.0"])
        #expect(try current() == "1.0.0")
    }

    @Test(arguments: ["changed", "removed"]) func `a file that was changed refuses its adapter alone`(how: String)
        throws
    {
        try adapters.use(add("1.0.0"))
        try adapters.use(add("1.0.0", name: "weather"))
        let file = "\(root)/weather/versions/1.0.0/share/text"
        if how == "removed" {
            try FileManager.default.removeItem(atPath: file)
        } else {
            try Data([UInt8](repeating: 0x42, count: 1_000)).write(to: URL(fileURLWithPath: file))
        }
        let all = try adapters.all(trusting: [])
        #expect(throws: Never.self) { try all["inventory"]?.get() }
        #expect(throws: AdapterPackageError.self) { try all["weather"]?.get() }
    }

    @Test(arguments: [
        "bin/extra", "share/__pycache__/text.pyc", "lib/libswiftCore.so", "extra", "share/\u{301}text",
    ])
    func `a file that is not listed refuses its adapter, and a link too`(name: String) throws {
        try adapters.use(add("1.0.0"))
        let version = URL(fileURLWithPath: "\(root)/inventory/versions/1.0.0")
        let file = version.appending(path: name)
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data("x".utf8).write(to: file)
        #expect(
            refusal { try adapters.verifiedAdapter("inventory", trusting: []) }?.contains("is not of the package")
                == true)
        try adapters.use(add("1.0.0"))
        #expect(throws: Never.self) { try adapters.verifiedAdapter("inventory", trusting: []) }
        let text = version.appending(path: "share/text")
        try FileManager.default.moveItem(at: text, to: URL(fileURLWithPath: "\(root)/text"))
        try FileManager.default.createSymbolicLink(atPath: text.path, withDestinationPath: "\(root)/text")
        #expect(
            refusal { try adapters.verifiedAdapter("inventory", trusting: []) }?.contains("is not of the package")
                == true)
    }

    @Test func `a signature is kept, and its key must be one of those that are trusted`() throws {
        let (signer, other) = (try AdapterPackageTests.signer(), try AdapterPackageTests.signer())
        func add(_ version: String, by signer: PackageSigner?) throws -> AdapterRelease {
            try adapters.add(AdapterPackage(folder.package(version, signer: signer)))
        }
        func problem(trusting keys: [PackageKey]) -> String? {
            refusal { try adapters.verifiedAdapter("inventory", trusting: keys) }
        }
        try adapters.use(add("1.0.0", by: nil))
        #expect(problem(trusting: []) == nil)
        #expect(problem(trusting: [signer.publicKey])?.contains("install it again, signed") == true)
        // The same version with a signature takes its place.
        try adapters.use(add("1.0.0", by: signer))
        #expect(problem(trusting: [other.publicKey, signer.publicKey]) == nil)
        #expect(problem(trusting: [other.publicKey])?.contains("is signed by the key \(signer.publicKey.text)") == true)
        try adapters.use(add("1.1.0", by: other))
        #expect(
            refusal { try adapters.rollBack("inventory", trusting: [other.publicKey]) }?.contains("signed by") == true)
        #expect(try current() == "1.1.0")
        #expect(
            try adapters.all(trusting: [other.publicKey])["inventory"]?.get().current.manifest.version.text == "1.1.0")
    }

    @Test func `a manifest that was changed is not what was signed, whether keys are trusted or not`() throws {
        let signer = try AdapterPackageTests.signer()
        try adapters.use(adapters.add(AdapterPackage(folder.package("1.0.0", signer: signer))))
        let manifest = URL(fileURLWithPath: "\(root)/inventory/versions/1.0.0/adapter.json")
        try (Data(contentsOf: manifest) + Data("\n".utf8)).write(to: manifest)
        #expect(
            refusal { try adapters.verifiedAdapter("inventory", trusting: []) }?.contains("is not what was signed")
                == true)
        try Data("{}".utf8).write(to: URL(fileURLWithPath: "\(root)/inventory/versions/1.0.0/adapter.sig"))
        #expect(throws: AdapterPackageError.self) { try adapters.verifiedAdapter("inventory", trusting: []) }
    }

    @Test(arguments: ["share/text", "adapter.json"])
    func `the same package takes the place of one that was changed`(file: String) throws {
        try adapters.use(add("1.0.0"))
        try Data("{".utf8).write(to: URL(fileURLWithPath: "\(root)/inventory/versions/1.0.0/\(file)"))
        #expect(throws: AdapterPackageError.self) { try adapters.verifiedAdapter("inventory", trusting: []) }
        try adapters.use(add("1.0.0"))
        #expect(try adapters.verifiedAdapter("inventory", trusting: [])?.current.manifest.version.text == "1.0.0")
        // Whatever its state was.
        try Data("{".utf8).write(to: URL(fileURLWithPath: "\(root)/inventory/state.json"))
        try adapters.use(add("1.1.0"))
        #expect(try adapters.verifiedAdapter("inventory", trusting: [])?.current.manifest.version.text == "1.1.0")
    }

    @Test func `a state that cannot be read refuses its adapter, and nothing of it is removed`() throws {
        try adapters.use(add("1.0.0"))
        try Data("{".utf8).write(to: URL(fileURLWithPath: "\(root)/inventory/state.json"))
        try adapters.removeUnfinished()
        #expect(throws: AdapterPackageError.self) { try adapters.all(trusting: [])["inventory"]?.get() }
        #expect(FileManager.default.fileExists(atPath: "\(root)/inventory/versions/1.0.0/bin/worker"))
    }

    @Test func `a folder that every user may write is refused`() throws {
        try adapters.use(add("1.0.0"))
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: root)
        #expect(refusal { try adapters.all(trusting: []) }?.contains("chmod o-w") == true)
    }
}
