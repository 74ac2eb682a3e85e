import Client
import Foundation
import Testing
import ValueTree

@Suite("Sensitive fields")
struct EncryptionTests {
    private static func settings(key: [UInt8], fields: Set<String> = ["text"]) -> ReplicaSettings {
        ReplicaSettings(sensitiveFields: ["notes": fields], cipher: AESFieldCipher(key: key))
    }

    private func isOnDisk(_ text: String, _ folder: URL) throws -> Bool {
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        return (files?.allObjects as? [URL] ?? []).contains { url in
            guard let bytes = try? Data(contentsOf: url) else { return false }
            return bytes.range(of: Data(text.utf8)) != nil
        }
    }

    @Test("lie nowhere open on the device, neither in records nor in edits nor in attachments")
    func sealed() async throws {
        let gateway = try await MemoryGateway()
        let alice = try await Device("alice", at: gateway, settings: Self.settings(key: AESFieldCipher.makeKey()))
        await alice.sync()
        let first = try await alice.replica.create(in: "notes", ["title": "open-one", "text": "secret-one"])
        _ = try await alice.replica.attach(Array("secret-file".utf8))
        #expect(try isOnDisk("secret", alice.folder) == false)
        await alice.sync()
        try await alice.replica.create(in: "notes", ["title": "open-two", "text": "secret-two"])
        #expect(try isOnDisk("secret", alice.folder) == false)
        #expect(try isOnDisk("open-one", alice.folder))
        try await alice.reopen()
        let note = try await alice.replica.record(first, in: "notes")
        #expect(note?["text"] == "secret-one" && note?["title"] == "open-one")
        #expect(try await alice.replica.count(RecordQuery("notes", where: [.isNull("text")])) == 2)
    }

    @Test("are refused with another key and without one")
    func wrongKey() async throws {
        let alice = try await Device(
            "alice", at: try await MemoryGateway(), settings: Self.settings(key: AESFieldCipher.makeKey()))
        try await alice.note("one")
        for settings in [Self.settings(key: AESFieldCipher.makeKey()), ReplicaSettings()] {
            alice.settings = settings
            await #expect(throws: ClientError.self) { try await alice.reopen() }
        }
    }

    @Test("may become others: what was open is sealed at the next start")
    func changed() async throws {
        let key = AESFieldCipher.makeKey()
        let alice = try await Device(
            "alice", at: try await MemoryGateway(), settings: Self.settings(key: key, fields: ["text"]))
        let note = try await alice.replica.create(in: "notes", ["title": "a-title", "text": "a-text"])
        await alice.sync()
        alice.settings = Self.settings(key: key, fields: ["title"])
        try await alice.reopen()
        let found = try await alice.replica.record(note, in: "notes")
        #expect(found?["title"] == "a-title" && found?["text"] == "a-text")
        #expect(try await alice.replica.count(RecordQuery("notes", where: [.equals("text", "a-text")])) == 1)
        #expect(try await alice.replica.count(RecordQuery("notes", where: [.isNull("title")])) == 1)
    }

    @Test("are bound to their record: another's sealed bytes are not taken")
    func bound() throws {
        let cipher = try #require(AESFieldCipher(key: AESFieldCipher.makeKey()))
        let sealed = try cipher.seal([1, 2, 3], context: [7])
        #expect(try cipher.open(sealed, context: [7]) == [1, 2, 3])
        #expect(throws: (any Error).self) { try cipher.open(sealed, context: [8]) }
        #expect(try cipher.seal([1, 2, 3], context: [7]) != sealed)
        #expect(AESFieldCipher(key: [1, 2, 3]) == nil)
    }
}
