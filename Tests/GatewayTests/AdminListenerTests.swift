import AdapterKit
import Foundation
import HTTPTypes
import Identity
import Testing

@testable import Gateway

/// Who may do what at the admin listener.
@Suite struct AdminListenerTests {
    private static let certificates = AdminCertificates(role: .viewer) { String(decoding: $0, as: UTF8.self) }

    private struct Listener {
        let host: NotesGateway
        let gateway: Gateway

        init(certificates: AdminCertificates? = nil) async throws {
            host = try await NotesGateway()
            // The clock stands: what an address got wrong stays counted, however slow the machine is.
            gateway = try Gateway(
                listenerOf: host.administration,
                AdminAuthenticator(identity: host.identity, certificates: certificates, now: { 0 }))
        }

        func token(_ name: AdminTokenName, _ role: AdminRole) async throws -> String {
            try await host.identity.administration.addAdminToken(name, role: role, by: .system).credential.reveal()
        }

        func ask(
            _ method: HTTPRequest.Method, _ path: String, _ token: String? = nil, from peer: String = "192.0.2.1",
            certificate: [UInt8]? = nil, origin: String? = nil
        ) async throws -> GatewayAnswerRead {
            var fields: HTTPFields = [.contentType: "application/json"]
            fields[.origin] = origin
            if let token { fields[.authorization] = "Bearer \(token)" }
            return try await host.send(
                method, path, body: method == .get ? [] : Array("{}".utf8), fields, as: nil, by: gateway, peer: peer,
                certificate: certificate)
        }

        /// Every route, with `x` for each parameter.
        var routes: [(method: HTTPRequest.Method, path: String, endpoint: any Endpoint)] {
            paths(below: 0, "")
        }

        private func paths(
            below place: Int, _ path: String
        ) -> [(method: HTTPRequest.Method, path: String, endpoint: any Endpoint)] {
            let node = gateway.routes.nodes[place]
            let own = node.entries.map { (method: $0.key, path: path, endpoint: $0.value.endpoint) }
            let children =
                node.literals.map { ($0.key, $0.value) }
                + [node.parameter, node.remainder].compactMap { $0 }.map { ("x", $0) }
            return own + children.flatMap { paths(below: $0.1, "\(path)/\($0.0)") }
        }
    }

    @Test func `every verb declares its role, and what changes something is not for viewers`() async throws {
        let routes = try await Listener().routes
        #expect(routes.count > 40)
        for route in routes {
            let properties = route.endpoint.properties
            let role = try #require(properties.adminRole, "\(properties.name)")
            #expect((role == .viewer) == (properties.effect == .reads), "\(properties.name)")
        }
    }

    @Test func `each role reaches what its verbs need, and nothing beyond`() async throws {
        let listener = try await Listener()
        var tokens: [AdminRole: String] = [:]
        for role in AdminRole.allCases {
            tokens[role] = try await listener.token(AdminTokenName(unchecked: role.rawValue), role)
        }
        var refused = 0
        // What the others would end comes last.
        for route in listener.routes.sorted(by: { $0.path < $1.path }) {
            let needed = try #require(route.endpoint.properties.adminRole)
            #expect(try await listener.ask(route.method, route.path).status == 401, "\(route.path)")
            for role in AdminRole.allCases where role < needed {
                let answer = try await listener.ask(route.method, route.path, tokens[role])
                #expect(answer.status == 403 && answer.text.contains(needed.rawValue), "\(role) \(route.path)")
                refused += 1
            }
            let answer = try await listener.ask(route.method, route.path, tokens[needed])
            #expect(![401, 403].contains(answer.status), "\(needed) \(route.path): \(answer)")
        }
        #expect(refused > 20)
    }

    @Test func `a page of another site cannot use a browser's certificate`() async throws {
        let listener = try await Listener(certificates: Self.certificates)
        let certificate = Array("ada".utf8)
        #expect(try await listener.ask(.get, "/admin/v1/status", certificate: certificate).status == 200)
        for origin in ["https://evil.example", "null"] {
            let answer = try await listener.ask(.get, "/admin/v1/status", certificate: certificate, origin: origin)
            #expect(answer.status == 403, "\(origin): \(answer)")
        }
        let token = try await listener.token("ops", .viewer)
        let own = try await listener.ask(.get, "/admin/v1/status", token, origin: "https://evil.example")
        #expect(own.status == 200)
    }

    @Test func `roles are in order`() {
        #expect(AdminRole.viewer < .operator && AdminRole.operator < .admin && AdminRole.viewer < .admin)
        for role in AdminRole.allCases { #expect(!(role < role)) }
        #expect(!(AdminRole.admin < .operator) && !(AdminRole.operator < .viewer))
    }

    @Test func `a revoked token is refused at once, and its name may be used again`() async throws {
        let listener = try await Listener()
        let token = try await listener.token("ops", .admin)
        #expect(try await listener.ask(.get, "/admin/v1/status", token).status == 200)
        #expect(try await listener.ask(.post, "/admin/v1/tokens/ops/revoke", token).status < 300)
        #expect(try await listener.ask(.get, "/admin/v1/status", token).status == 401)
        let other = try await listener.token("ops", .viewer)
        #expect(try await listener.ask(.get, "/admin/v1/status", token).status == 401)
        #expect(try await listener.ask(.get, "/admin/v1/status", other).status == 200)
    }

    @Test(arguments: ["", "x", "pa_ops", "pa_ops_short", "pa_nobody_", "pk_0_0"])
    func `what is no token is refused`(text: String) async throws {
        let listener = try await Listener()
        let token = try await listener.token("ops", .admin)
        #expect(try await listener.ask(.get, "/admin/v1/status", text).status == 401)
        let wrong = token.dropLast() + (token.hasSuffix("A") ? "B" : "A")
        #expect(try await listener.ask(.get, "/admin/v1/status", String(wrong)).status == 401)
        // An account's credential is none here.
        let basic = HTTPFields([HTTPField(name: .authorization, value: "Basic YWxpY2U6cG9ydGljby1kZW1v")])
        #expect(
            try await listener.host.send(.get, "/admin/v1/status", basic, as: nil, by: listener.gateway).status == 401)
    }

    @Test func `an address that guesses is refused for a while, whatever it sends, and others are not`() async throws {
        let listener = try await Listener()
        let token = try await listener.token("ops", .admin)
        for _ in 0..<AdminAuthenticator.failures {
            #expect(try await listener.ask(.get, "/admin/v1/status", "pa_ops_guess").status == 401)
        }
        let throttled = try await listener.ask(.get, "/admin/v1/status", token)
        #expect(throttled.status == 429 && throttled.fields[.retryAfter] != nil, "\(throttled)")
        #expect(try await listener.ask(.get, "/admin/v1/status", token, from: "192.0.2.2").status == 200)
        // Another configuration does not give the guesses back.
        let renewed = try Gateway(
            listenerOf: listener.host.administration, identity: listener.host.identity, certificates: nil,
            succeeding: listener.gateway)
        let again = try await listener.host.send(
            .get, "/admin/v1/status", [.authorization: "Bearer \(token)"], as: nil, by: renewed)
        #expect(again.status == 429)
    }

    @Test func `changes are audited with who and from where, refused credentials too`() async throws {
        let listener = try await Listener()
        let token = try await listener.token("ops", .operator)
        #expect(
            try await listener.ask(.post, "/admin/v1/adapters/notes/disable", token, from: "192.0.2.7").status == 200)
        #expect(try await listener.ask(.post, "/admin/v1/adapters/what-i-typed/enable", token).status == 404)
        #expect(try await listener.ask(.get, "/admin/v1/status", "nonsense", from: "192.0.2.8").status == 401)
        let entries = try await listener.host.identity.administration.auditEntries(limit: 3)
        #expect(
            entries.map(\.kind) == ["administration.refused", "administration.performed", "administration.performed"])
        #expect(entries[0].address == "192.0.2.8")
        #expect(entries[1].detail == "record.notFound" && !"\(entries)".contains("what-i-typed"))
        #expect(
            entries[2].actor == "token ops" && entries[2].address == "192.0.2.7"
                && entries[2].subject == "admin.adapters.disable" && entries[2].detail == "done name=notes")
    }

    @Test func `a certificate is a credential where the configuration says so, with its role`() async throws {
        let listener = try await Listener(certificates: Self.certificates)
        let shown = Array("CN=ada".utf8)
        #expect(try await listener.ask(.get, "/admin/v1/status", certificate: shown).status == 200)
        #expect(try await listener.ask(.post, "/admin/v1/adapters/notes/disable", certificate: shown).status == 403)
        let token = try await listener.token("ops", .operator)
        #expect(
            try await listener.ask(.post, "/admin/v1/adapters/notes/disable", token, certificate: shown).status == 200)
        #expect(try await listener.ask(.get, "/admin/v1/status", "nonsense", certificate: shown).status == 401)
        let without = try await Listener()
        #expect(try await without.ask(.get, "/admin/v1/status", certificate: shown).status == 401)
    }

    /// A change whose body comes in pieces: before the last one, `meanwhile` happens.
    private func slowly(
        _ path: String, _ token: String?, certificate: [UInt8]? = nil, at listener: Listener,
        meanwhile: @escaping @Sendable () async throws -> Void
    ) async throws -> GatewayAnswerRead {
        var fields: HTTPFields = [.contentType: "application/json"]
        if let token { fields[.authorization] = "Bearer \(token)" }
        let request = GatewayRequest(
            id: "r1", method: .post, target: try #require(RequestTarget(path)), headers: fields, peer: "192.0.2.1",
            certificate: certificate,
            body: .stream { _ in
                try await meanwhile()
                return Array("{}".utf8)
            }, deadline: .now + .seconds(60))
        return GatewayAnswerRead(await listener.gateway.respond(to: request).response)
    }

    @Test func `a token that is revoked while a body comes does nothing any more`() async throws {
        let listener = try await Listener()
        let token = try await listener.token("ops", .operator)
        let path = "/admin/v1/adapters/notes/disable"
        #expect(try await slowly(path, token, at: listener) {}.status == 200)
        #expect(try await slowly("/admin/v1/adapters/notes/enable", token, at: listener) {}.status == 200)
        let administration = listener.host.identity.administration
        let answer = try await slowly(path, token, at: listener) {
            try await administration.revokeAdminToken("ops", by: .system)
        }
        #expect(answer.status == 401)
        #expect(try await listener.host.get(NotesGateway.notes).status == 200)
    }

    @Test func `a certificate whose right is taken while a body comes does nothing any more`() async throws {
        let path = "/admin/v1/adapters/notes/disable"
        let operators = AdminCertificates(role: .operator) { String(decoding: $0, as: UTF8.self) }
        let listener = try await Listener(certificates: operators)
        let shown = Array("CN=ada".utf8)
        #expect(try await slowly(path, nil, certificate: shown, at: listener) {}.status == 200)
        #expect(
            try await slowly("/admin/v1/adapters/notes/enable", nil, certificate: shown, at: listener) {}.status == 200)
        let next = try Gateway(
            listenerOf: listener.host.administration, identity: listener.host.identity,
            certificates: Self.certificates, succeeding: listener.gateway)
        let refused = try await slowly(path, nil, certificate: shown, at: listener) { next.becomeCurrent() }
        #expect(refused.status == 403)
        #expect(try await listener.host.get(NotesGateway.notes).status == 200)
    }

    @Test func `an account whose roles change, or that is disabled, while a body comes does nothing any more`()
        async throws
    {
        let host = try await NotesGateway()
        let account = try #require(try await host.identity.administration.account(named: "alice"))
        func create(_ meanwhile: @escaping @Sendable () async throws -> Void) async throws -> HTTPResponse.Status {
            let credential = Data("alice:\(NotesGateway.password)".utf8).base64EncodedString()
            let request = GatewayRequest(
                id: "r1", method: .post, target: try #require(RequestTarget(NotesGateway.notes)),
                headers: [.contentType: "application/json", .authorization: "Basic \(credential)"], peer: "192.0.2.1",
                body: .stream { _ in
                    try await meanwhile()
                    return Array(#"{"title": "t"}"#.utf8)
                }, deadline: .now + .seconds(60))
            return await host.gateway.respond(to: request).response.status
        }
        let administration = host.identity.administration
        #expect(try await create {} == .created)
        #expect(
            try await create { try await administration.setRoles(["other"], of: account.id, by: .system) } == .forbidden
        )
        #expect(try await create {} == .created)
        #expect(try await create { try await administration.disable(account.id, by: .system) } == .unauthorized)
    }

    @Test func `what a verb does not know is refused, in its body and in its address`() async throws {
        let listener = try await Listener()
        let token = try await listener.token("ops", .admin)
        var asked = 0
        for route in listener.routes where route.endpoint is AdministrationEndpoint || route.endpoint is ImportEndpoint
        {
            let address = try await listener.ask(route.method, "\(route.path)?surprise=1", token)
            #expect(address.status == 400, "\(route.path)")
            asked += 1
            guard route.method == .post, route.endpoint is AdministrationEndpoint else { continue }
            let body = try await listener.host.send(
                .post, route.path, body: Array(#"{"surprise": true}"#.utf8),
                [.contentType: "application/json", .authorization: "Bearer \(token)"], as: nil, by: listener.gateway)
            let isComplete = !(route.endpoint.description.body?.members.contains { $0.isRequired } ?? false)
            #expect(
                body.status == 400 && (!isComplete || body.text.contains("surprise")), "\(route.path): \(body)")
        }
        #expect(asked > 40)
    }

    @Test func `a disabled adapter answers 503 and is named, until it is enabled`() async throws {
        let host = try await NotesGateway()
        #expect(
            try await host.send(.post, "/admin/v1/adapters/notes/disable", [:], as: nil, by: host.administration).status
                == 200)
        #expect(try await host.get(NotesGateway.notes).status == 503)
        #expect(try await host.get("/health/ready").json["disabledAdapters"] == ["notes"])
        let shown = try await host.send(.get, "/admin/v1/adapters/notes", as: nil, by: host.administration)
        #expect(shown.json["state"] == "disabled", "\(shown)")
        #expect(
            try await host.send(.post, "/admin/v1/adapters/notes/enable", [:], as: nil, by: host.administration).status
                == 200)
        #expect(try await host.get(NotesGateway.notes).status == 200)
    }
}
