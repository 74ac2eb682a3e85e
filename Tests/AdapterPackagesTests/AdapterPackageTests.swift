import AdapterKit
import Crypto
import Foundation
import Testing

@testable import AdapterPackages

/// Packages as other teams bring them, whole and damaged.
@Suite struct AdapterPackageTests {
    @Test func `what was packed is read again, and the same files make the same bytes`() throws {
        let folder = try TemporaryFolder()
        let first = try folder.package()
        let package = try AdapterPackage(first)
        #expect(package.manifest.name.text == "inventory" && package.manifest.version.text == "1.2.0")
        #expect(package.manifest.files.count == 2 && package.signer == nil)
        let bytes = try Data(contentsOf: URL(fileURLWithPath: first))
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.package())) == bytes)
    }

    @Test func `other people's tar reads what was packed, and what it packs is read`() throws {
        let folder = try TemporaryFolder()
        let path = try folder.package()
        let content = folder.path + "/content"
        try FileManager.default.createDirectory(atPath: content, withIntermediateDirectories: true)
        try run("tar", "-xf", path, "-C", content)
        #expect(FileManager.default.isExecutableFile(atPath: "\(content)/bin/worker"))
        for form in ["ustar", "gnu", "pax"] {
            let other = "\(folder.path)/\(form).adapter"
            try run("tar", "--format", form, "-cf", other, "-C", content, "adapter.json", "./bin", "share")
            #expect(try AdapterPackage(other).manifest == AdapterPackage(path).manifest, "\(form)")
        }
        let late = "\(folder.path)/late.adapter"
        try run("tar", "-cf", late, "-C", content, "bin", "share", "adapter.json")
        #expect(
            refusal { try AdapterPackage(late) }
                == "The package does not begin with adapter.json. Make it with porticoctl adapter pack.")
    }

    @Test func `a signature counts where its key is trusted, and is asked for where there are such keys`() throws {
        let folder = try TemporaryFolder()
        let (signer, other) = (try Self.signer(), try Self.signer())
        let (signed, unsigned) = (try folder.package(signer: signer), try folder.package("1.3.0"))
        #expect(try AdapterPackage(signed).signer == signer.publicKey)
        #expect(try AdapterPackage(signed, trusting: [other.publicKey, signer.publicKey]).signer == signer.publicKey)
        #expect(
            refusal { try AdapterPackage(signed, trusting: [other.publicKey]) }?.contains("not in packages.trustedKeys")
                == true)
        #expect(refusal { try AdapterPackage(unsigned, trusting: [signer.publicKey]) }?.contains("not signed") == true)
    }

    @Test func `a signature of another manifest is refused, whether keys are trusted or not`() throws {
        let folder = try TemporaryFolder()
        let signer = try Self.signer()
        let (one, two) = (try folder.package(signer: signer), try folder.package("1.3.0", signer: signer))
        var bytes = try Array(Data(contentsOf: URL(fileURLWithPath: two)))
        let other = try Array(Data(contentsOf: URL(fileURLWithPath: one)))
        let place = try #require(bytes.firstRange(of: Array("\"signature\"".utf8)))
        let source = try #require(other.firstRange(of: Array("\"signature\"".utf8)))
        bytes.replaceSubrange(
            place.lowerBound..<place.lowerBound + 100, with: other[source.lowerBound..<source.lowerBound + 100])
        let mixed = try folder.file("mixed.adapter", bytes)
        #expect(refusal { try AdapterPackage(mixed) }?.contains("signature") == true)
    }

    @Test func `keys are read as openssl writes them, and in base64`() throws {
        let key = Curve25519.Signing.PrivateKey()
        let text = Self.pem(
            "PUBLIC KEY",
            [0x30, 0x2A, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x03, 0x21, 0x00]
                + key.publicKey.rawRepresentation)
        let raw = Data(key.publicKey.rawRepresentation).base64EncodedString()
        #expect(PackageKey(text) == PackageKey(raw) && PackageKey(raw)?.text == raw)
        for wrong in ["", "AAAA", text.replacingOccurrences(of: "PUBLIC", with: "PRIVATE"), String(raw.dropLast())] {
            #expect(PackageKey(wrong) == nil)
        }
        #expect(PackageSigner(Secret(text)) == nil)
    }

    @Test func `every byte that is changed is noticed, and nothing ends the process`() throws {
        let folder = try TemporaryFolder()
        let whole = try folder.package()
        let bytes = try Array(Data(contentsOf: URL(fileURLWithPath: whole)))
        // Other words in a manifest may mean something else: a signature protects them.
        let manifest = TarArchive.block..<TarArchive.block + (try AdapterPackage(whole).manifestBytes.count)
        var random = SystemRandomNumberGenerator()
        var accepted: [Int] = []
        for place in stride(from: 0, to: bytes.count, by: 7) where !manifest.contains(place) {
            var damaged = bytes
            damaged[place] ^= UInt8.random(in: 1...255, using: &random)
            let path = try folder.file("damaged.adapter", damaged)
            if (try? AdapterPackage(path)) != nil { accepted.append(place) }
        }
        // What fills content up to whole blocks, and the second block of the end, says nothing.
        for place in accepted {
            #expect(bytes[place] == 0, "\(place)")
        }
        for count in stride(from: 0, to: bytes.count - 1_024, by: 13) {
            let path = try folder.file("short.adapter", Array(bytes[..<count]))
            #expect(refusal { try AdapterPackage(path) } != nil, "\(count)")
        }
    }

    @Test(arguments: [
        ("../out", "leads out"), ("/etc/x", "leads out"), ("a/../../b", "leads out"), ("a//b", "leads out"),
        ("a\\b", "leads out"), ("a\nb", "leads out"),
        // One `Character`, and two names to the file system.
        ("../\u{301}x", "leads out"), ("a/../\u{301}/../\u{301}b", "leads out"),
        ("a/\u{301}/\u{20E0}", "does not list"),
        ("extra", "does not list"), ("bin/worker", "twice"),
    ])
    func `a name that leads elsewhere, or is not listed, is refused`(name: String, reason: String) throws {
        let folder = try TemporaryFolder()
        var bytes = try Array(Data(contentsOf: URL(fileURLWithPath: folder.package())))
        bytes.removeLast(2 * TarArchive.block)
        var header = try TarArchive.header(PackagePath("x")!, size: 0, isExecutable: false)
        header.replaceSubrange(0..<name.utf8.count, with: name.utf8)
        bytes += Self.summed(header) + TarArchive.end
        let path = try folder.file("bad.adapter", bytes)
        #expect(refusal { try AdapterPackage(path) }?.contains(reason) == true)
    }

    @Test func `a path's folders are those of the file system`() throws {
        #expect(try #require(PackagePath("a/\u{301}b/c")).folders == ["a", "a/\u{301}b"])
        #expect(PackagePath(String(repeating: "/\u{301}a", count: 16)) == nil)
    }

    @Test(arguments: Array("123467LKS".utf8)) func `links, devices and pipes are refused`(kind: UInt8) throws {
        let folder = try TemporaryFolder()
        var bytes = try Array(Data(contentsOf: URL(fileURLWithPath: folder.package())))
        bytes.removeLast(2 * TarArchive.block)
        var header = try TarArchive.header(PackagePath("x")!, size: 0, isExecutable: false)
        header[156] = kind
        bytes += Self.summed(header) + TarArchive.end
        let path = try folder.file("bad.adapter", bytes)
        #expect(refusal { try AdapterPackage(path) }?.contains("neither a file nor a folder") == true)
    }

    @Test func `sizes beyond the file, and headers without end, are refused at once`() throws {
        let folder = try TemporaryFolder()
        var header = try TarArchive.header(PackagePath("adapter.json")!, size: 0, isExecutable: false)
        header.replaceSubrange(124..<135, with: "77777777777".utf8)
        let huge = try folder.file("huge.adapter", Self.summed(header) + TarArchive.end)
        #expect(refusal { try AdapterPackage(huge) } != nil)
        var folderHeader = try TarArchive.header(PackagePath("x")!, size: 0, isExecutable: false)
        folderHeader[156] = UInt8(ascii: "5")
        let block = Self.summed(folderHeader)
        let many = try folder.file("many.adapter", Array(repeatElement(block, count: 50_000).joined()))
        #expect(refusal { try AdapterPackage(many) } == "The package has too many entries.")
    }

    @Test(arguments: [
        ("\"format\":1", "\"format\":2", "format 2"), ("\"protocol\":1", "\"protocol\":0", "\"protocol\""),
        ("\"1.2.0\"", "\"1.2\"", "\"version\""), ("\"inventory\"", "\"In ventory\"", "\"name\""),
        ("\"entry\":\"bin/worker\"", "\"entry\":\"share/text\"", "not an executable file"),
        ("\"entry\":\"bin/worker\"", "\"entry\":\"../worker\"", "\"entry\""),
        ("\"size\":", "\"size\":-", "\"files\""),
    ])
    func `a manifest that says what cannot be is refused by name`(old: String, new: String, reason: String) throws {
        let folder = try TemporaryFolder()
        let text = String(decoding: try AdapterPackage(folder.package()).manifest.bytes(), as: UTF8.self)
        try #require(text.contains(old))
        #expect(
            refusal { try AdapterManifest(Array(text.replacingOccurrences(of: old, with: new).utf8)) }?
                .contains(reason) == true)
    }

    @Test func `a manifest may say more than is known`() throws {
        let folder = try TemporaryFolder()
        let manifest = try AdapterPackage(folder.package()).manifest
        let text = String(decoding: manifest.bytes(), as: UTF8.self)
        #expect(try AdapterManifest(Array(("{\"later\":[1,2]," + text.dropFirst()).utf8)) == manifest)
    }

    @Test func `what cannot be packed leaves nothing behind`() throws {
        let folder = try TemporaryFolder()
        #expect(refusal { try folder.package(entry: "share/text") }?.contains("not an executable file") == true)
        #expect(refusal { try folder.package(source: "/nowhere") } != nil)
        #expect(refusal { try folder.package(source: "/dev/null") }?.contains("no regular file") == true)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["text", "worker"])
    }

    static func signer() throws -> PackageSigner {
        let key = Curve25519.Signing.PrivateKey()
        let prefix: [UInt8] = [
            0x30, 0x2E, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
        ]
        return try #require(PackageSigner(Secret(pem("PRIVATE KEY", prefix + key.rawRepresentation))))
    }

    private static func pem(_ label: String, _ bytes: some Sequence<UInt8>) -> String {
        "-----BEGIN \(label)-----\n\(Data(bytes).base64EncodedString())\n-----END \(label)-----\n"
    }

    private static func summed(_ block: [UInt8]) -> [UInt8] {
        var block = block
        block.replaceSubrange(148..<156, with: [UInt8](repeating: 0x20, count: 8))
        let digits = String(block.reduce(0) { $0 + Int($1) }, radix: 8)
        block.replaceSubrange(
            148..<156, with: Array((String(repeating: "0", count: 6 - digits.count) + digits).utf8) + [0, 0x20])
        return block
    }
}

/// Of what a package is refused for; nil: it was not.
func refusal<Result>(_ body: () throws -> Result) -> String? {
    do {
        _ = try body()
        return nil
    } catch {
        return "\(error)"
    }
}

func run(_ words: String...) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = words
    try process.run()
    process.waitUntilExit()
    try #require(process.terminationStatus == 0)
}

/// A folder with two files to pack, removed with the value.
final class TemporaryFolder {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.path + "/portico-packages-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        _ = try file("worker", Array("#!/bin/sh\nexit 0\n".utf8))
        _ = try file("text", [UInt8](repeating: 0x41, count: 1_000))
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path + "/worker")
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func file(_ name: String, _ bytes: [UInt8]) throws -> String {
        try Data(bytes).write(to: URL(fileURLWithPath: "\(path)/\(name)"))
        return "\(path)/\(name)"
    }

    func package(
        _ version: String = "1.2.0", name: AdapterName = "inventory", entry: String = "bin/worker",
        source: String? = nil, signer: PackageSigner? = nil, protocolVersion: Int = 1
    ) throws -> String {
        try AdapterPackage.write(
            name: name, version: #require(AdapterVersion(version)), protocolVersion: protocolVersion,
            entry: #require(PackagePath(entry)), platform: nil,
            sources: [
                #require(PackagePath("bin/worker")): path + "/worker",
                #require(PackagePath("share/text")): source ?? path + "/text",
            ], signer: signer, into: path)
    }
}
