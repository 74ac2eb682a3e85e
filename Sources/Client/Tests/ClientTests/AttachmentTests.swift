import Client
import Testing
import ValueTree

@Suite("An attachment")
struct AttachmentTests {
    @Test("is uploaded before the record that names it, in pieces, and read back by others")
    func uploads() async throws {
        let gateway = try await MemoryGateway()
        var settings = ReplicaSettings()
        settings.limits.attachmentPiece = 10
        let alice = try await Device("alice", at: gateway, settings: settings)
        await alice.sync()
        let bytes = Array("thirty-four bytes for an attachment".utf8)
        let digest = try await alice.replica.attach(bytes)
        try await alice.note("names it")
        #expect(gateway.attachment(digest) == nil)
        try await alice.reopen()
        await alice.sync()
        #expect(gateway.attachment(digest) == bytes)
        let asked = gateway.asked.dropFirst()
        let upload = try #require(asked.lastIndex(of: "/sync/v1/attachments/\(digest)"))
        #expect(upload < asked.lastIndex(of: "/sync/v1/push") ?? 0)
        #expect(asked.filter { $0.contains("attachments") }.count == 5)
        let other = try await Device("alice", at: gateway)
        #expect(try await other.replica.attachment(digest) == bytes)
        gateway.isOnline = false
        #expect(try await other.replica.attachment(digest) == bytes)
        try await other.replica.removeDownloadedAttachments()
        await #expect(throws: ClientError.unreachable("no network")) { try await other.replica.attachment(digest) }
    }

    @Test("that the server will not take holds up nothing")
    func refused() async throws {
        let gateway = try await MemoryGateway()
        let alice = try await Device("alice", at: gateway)
        _ = try await alice.replica.attach([1])
        gateway.fail(once: { $0.url.contains("attachments") ? .refused(413, "request.tooLarge") : nil })
        try await alice.note("goes on")
        #expect(await alice.sync().waiting == 0)
    }

    @Test("that is not what its digest says is not taken")
    func forged() async throws {
        let alice = try await Device("alice", at: ScriptedWorld.gateway())
        await #expect(throws: ClientError.self) {
            try await alice.replica.attachment(String(repeating: "a", count: 64))
        }
        await #expect(throws: ClientError.recordNotFound) { try await alice.replica.attachment("../../replica.sqlite") }
    }
}

private enum ScriptedWorld {
    /// Has an attachment under a digest that is not its own.
    static func gateway() async throws -> MemoryGateway {
        let gateway = try await MemoryGateway()
        let session = Session(
            server: ServerAddress("http://gateway.example")!, transport: gateway, storage: CredentialsInMemory())
        try await session.signIn(name: "alice", password: "p")
        let path = ["sync", "v1", "attachments", String(repeating: "a", count: 64)]
        _ = try await session.answer(
            to: ServerCall("PUT", path: path, body: .bytes([1], type: "application/octet-stream")))
        return gateway
    }
}
