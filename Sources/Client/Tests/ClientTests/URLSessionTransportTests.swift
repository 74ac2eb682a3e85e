#if canImport(Glibc)
    import Client
    import Foundation
    import Testing

    @Suite("The transport of apps")
    struct URLSessionTransportTests {
        private let transport = URLSessionTransport()

        private func answer(_ status: String, _ fields: String = "", _ body: String = "") -> String {
            "HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\(fields)\r\n\(body)"
        }

        @Test("gives every answer as it is, and follows no redirect")
        func answers() async throws {
            let server = try CannedServer([
                "/ok": answer("200 OK", "X-One: 1\r\n", "hello"), "/no": answer("404 Not Found", "", "nothing"),
                "/away": answer("302 Found", "Location: /ok\r\n"),
            ])
            defer { server.stop() }
            let found = try await transport.send(
                TransportRequest(url: server.address + "/ok", headers: [Header("Authorization", "Bearer t")]))
            #expect(found.status == 200 && found.body == Array("hello".utf8) && found.header("x-one") == "1")
            #expect(server.heads[0].contains("Authorization: Bearer t"))
            #expect(try await transport.send(TransportRequest(url: server.address + "/no")).status == 404)
            #expect(try await transport.send(TransportRequest(url: server.address + "/away")).status == 302)
            #expect(server.heads.count == 3)
        }

        @Test("sends a body as it is")
        func bodies() async throws {
            let server = try CannedServer(["/a": answer("200 OK")])
            defer { server.stop() }
            _ = try await transport.send(
                TransportRequest(method: "POST", url: server.address + "/a", body: Array("hello".utf8)))
            #expect(server.heads[0].hasPrefix("POST /a ") && server.heads[0].hasSuffix("\r\n\r\nhello"))
        }

        @Test("keeps no cookie and no answer")
        func forgets() async throws {
            let server = try CannedServer([
                "/a": answer("200 OK", "Set-Cookie: secret=1\r\nCache-Control: max-age=900\r\n", "x")
            ])
            defer { server.stop() }
            for _ in 0..<2 { _ = try await transport.send(TransportRequest(url: server.address + "/a")) }
            #expect(server.heads.count == 2)
            #expect(!server.heads[1].lowercased().contains("cookie"))
        }

        @Test("ends a request whose time is over, and one that is cancelled")
        func ends() async throws {
            let server = try CannedServer([:])
            defer { server.stop() }
            let request = TransportRequest(url: server.address + "/never", deadline: .milliseconds(100))
            await #expect(throws: TransportError.deadlineExceeded) { try await transport.send(request) }
            let patient = Task { try await transport.send(TransportRequest(url: server.address + "/never")) }
            while server.heads.count < 2 { try await Task.sleep(for: .milliseconds(5)) }
            patient.cancel()
            await #expect(throws: CancellationError.self) { try await patient.value }
        }

        @Test("says where there is nobody, no address, or too much of an answer")
        func failures() async throws {
            let server = try CannedServer(["/long": answer("200 OK", "", String(repeating: "x", count: 1000))])
            let long = TransportRequest(url: server.address + "/long", largestAnswer: 999)
            await #expect(throws: TransportError.answerTooLarge(limit: 999)) { try await transport.send(long) }
            server.stop()
            do {
                _ = try await transport.send(TransportRequest(url: server.address + "/ok"))
                Issue.record("somebody answered")
            } catch TransportError.unreachable {}
            for address in ["file:///etc/passwd", "/relative", "ftp://a/b", ""] {
                await #expect(throws: TransportError.invalidAddress(address)) {
                    try await transport.send(TransportRequest(url: address))
                }
            }
        }
    }
#endif
