import Foundation
import Testing
import WireFormats

@testable import StandInService

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The stand-in over HTTP, as the gateway calls it.
@Suite(.timeLimit(.minutes(5))) struct ServerTests {
    private func send(
        _ server: StandInServer, _ method: String, _ path: String, _ body: String? = nil
    ) async throws -> (status: Int, body: [UInt8]) {
        var request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:\(server.port)\(path)")))
        request.httpMethod = method
        request.httpBody = body.map { Data($0.utf8) }
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        let (data, response) = try await URLSession.shared.data(for: request)
        return ((response as? HTTPURLResponse)?.statusCode ?? 0, Array(data))
    }

    private func serving(_ body: (StandInServer) async throws -> Void) async throws {
        var settings = StandInSettings(run: "t")
        (settings.port, settings.employees, settings.users, settings.verses) = (0, 20, 5, 3)
        let server = try await StandInServer(settings)
        do {
            try await body(server)
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
        try await server.run()
    }

    @Test func `employees are read and changed over one connection`() async throws {
        try await serving { server in
            let list = try await send(server, "GET", "/employees?limit=5")
            #expect(list.status == 200 && !list.body.isEmpty)
            let unknown = try await send(server, "GET", "/nothing")
            #expect(unknown.status == 404)
            let wrong = try await send(server, "POST", "/employees", "[1]")
            #expect((400..<500).contains(wrong.status))
        }
    }

    @Test func `a body beyond the limit is refused or its connection closed`() async throws {
        try await serving { server in
            let long = String(repeating: "x", count: StandInServer.bodyBytes + 1)
            let answer = try? await send(server, "POST", "/employees", long)
            #expect(answer == nil || answer?.status == 413)
            let next = try await send(server, "GET", "/employees?limit=1")
            #expect(next.status == 200)
        }
    }

    @Test(arguments: [("employees", -1), ("users", 1 << 40), ("verses", -1), ("port", 65_536)])
    func `settings beyond the limits are named`(name: String, value: Int) {
        var settings = StandInSettings(run: "t")
        #expect(settings.problem == nil)
        switch name {
        case "employees": settings.employees = value
        case "users": settings.users = value
        case "verses": settings.verses = value
        default: settings.port = value
        }
        #expect(settings.problem?.hasPrefix("\(name) is a number from 0 to ") == true)
    }
}
