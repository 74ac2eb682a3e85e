import AdapterKit
import ArgumentParser
import BuiltInAdapters
import Foundation
import SwiftASN1
import Testing
import X509

@testable import Host

/// A certificate and its key, as the command writes them.
final class SelfSignedFiles: Sendable {
    let folder: URL
    var certificate: String { folder.appending(path: "c.pem").path }
    var key: String { folder.appending(path: "k.pem").path }

    init(_ arguments: String...) throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "portico-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try make(arguments)
    }

    func make(_ arguments: [String]) throws {
        try SelfSignedCertificate.parse(["--certificate", certificate, "--key", key] + arguments).run()
    }

    deinit { try? FileManager.default.removeItem(at: folder) }
}

/// The commands that serve nothing, and what the process says of files and names.
@Suite struct CommandTests {
    @Test func `a certificate is for its hosts, its key for its owner, and neither is replaced unasked`() throws {
        let files = try SelfSignedFiles("--host", "me.example", "--host", "127.0.0.1", "--days", "3")
        let certificate = try Certificate(pemEncoded: String(contentsOfFile: files.certificate, encoding: .utf8))
        #expect(certificate.subject.description == "CN=me.example")
        #expect(certificate.notValidAfter.timeIntervalSince(certificate.notValidBefore) == 3 * 86_400 + 3_600)
        let names = try #require(try certificate.extensions.subjectAlternativeNames)
        #expect(names.count == 2)
        let mode = try FileManager.default.attributesOfItem(atPath: files.key)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let error = #expect(throws: HostCommandError.self) { try files.make([]) }
        #expect(error?.description.contains("--force replaces it") == true)
        let before = try String(contentsOfFile: files.key, encoding: .utf8)
        try files.make(["--force"])
        #expect(try String(contentsOfFile: files.key, encoding: .utf8) != before)
        #expect(throws: (any Error).self) { try files.make(["--force", "--days", "0"]) }
        let nowhere = #expect(throws: HostCommandError.self) {
            try SelfSignedCertificate.parse(["--certificate", "/nowhere/c", "--key", "/nowhere/k"]).run()
        }
        #expect(nowhere?.description == "/nowhere/k: cannot be written: no such file or directory.")
    }

    @Test func `a certificate's subject is a name of bounded length, and two long ones differ`() throws {
        func name(_ host: String) throws -> String {
            let files = try SelfSignedFiles("--host", host)
            let certificate = try Certificate(pemEncoded: String(contentsOfFile: files.certificate, encoding: .utf8))
            return CertificateSubject.name(try certificate.serializeAsPEM().derBytes)
        }
        #expect(try name("me.example") == "CN=me.example")
        let long = String(repeating: "a", count: 60)
        let names = [try name(long), try name(long)]
        #expect(names[0] != names[1] && names.allSatisfy { $0.unicodeScalars.count == 50 && $0.hasPrefix("CN=aaa") })
        #expect(CertificateSubject.name([]).hasPrefix("~"))
    }

    @Test func `a file that cannot be read has its reason in words`() throws {
        #expect(FileFailure.reading("/nowhere") == "no such file or directory")
        #expect(FileFailure.reading(Configured.folder) == "it is a directory")
        #expect(FileFailure.reading(Configured.folder + "/demo.yaml") == nil)
        let missing = #expect(throws: (any Error).self) { try Data(contentsOf: URL(filePath: "/nowhere")) }
        #expect(missing.flatMap { FileFailure.sentence($0) }?.contains("no such file or directory") == true)
        #expect(FileFailure.sentence(HostCommandError("x")) == nil)
        #expect(FileFailure.sentence(CocoaError(.fileWriteOutOfSpace))?.contains("no space left") == true)
        #expect(FileFailure.sentence(CocoaError(.userCancelled))?.contains("the operation failed") == true)
    }

    @Test func `the process knows how many processors it has`() {
        #expect((1...1_024).contains(Processors.allowed))
    }

    @Test func `a configuration that cannot be loaded is one message with its place`() throws {
        for (file, words) in [
            ("/nowhere", "/nowhere: cannot be read: no such file or directory."),
            (Configured.folder, "it is a directory"),
        ] {
            let options = try ConfigurationOptions.parse(["--config", file])
            let error = #expect(throws: HostCommandError.self) { try options.load(BuiltInAdapters.all) }
            #expect(error?.description.contains(words) == true)
        }
        let folder = FileManager.default.temporaryDirectory.appending(path: "portico-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for (bytes, words) in [
            (Array("http: { port: x, host: 1 }".utf8), "c.yaml:1:"), (Array("a: b: c".utf8), "c.yaml:1:"),
            ([0xFF], "it is not UTF-8"),
        ] {
            let file = folder.appending(path: "c.yaml").path
            try Data(bytes).write(to: URL(filePath: file))
            let options = try ConfigurationOptions.parse(["--config", file])
            let error = #expect(throws: HostCommandError.self) { try options.load(BuiltInAdapters.all) }
            #expect(error?.description.contains(words) == true, "\(error?.description ?? "")")
        }
    }
}
