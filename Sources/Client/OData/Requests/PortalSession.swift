import ValueTree

/// A sign-in at a portal, for services of older systems: its form, and the cookies that it answers with. The gateway's own
/// `/irj/portal` is one too.
///
/// Cookies are kept in memory and go to that server alone; the password is kept nowhere.
public actor PortalSession: ODataCarrier {
    /// The portal's address.
    public nonisolated let server: ServerAddress
    private let transport: any Transport
    private var cookies: [(name: String, value: String)] = []

    /// No sign-in yet.
    public init(server: ServerAddress, transport: any Transport) {
        (self.server, self.transport) = (server, transport)
    }

    /// - Parameter path: of the portal's form.
    /// - Throws: ``ClientError``: `refused` where name or password are wrong.
    public func signIn(name: String, password: String, at path: [String] = ["irj", "portal"]) async throws {
        let form = "j_user=\(name.urlEscaped)&j_password=\(password.urlEscaped)"
        var call = ServerCall("POST", path: path)
        call.headers = [Header("Accept", "*/*")]
        call.body = .bytes(Array(form.utf8), type: "application/x-www-form-urlencoded")
        cookies = []
        let answer = try await send(call)
        // Portals answer with a page or with the way to one.
        guard (200..<400).contains(answer.status), !cookies.isEmpty else {
            throw ClientError.refused(answer.refusal)
        }
    }

    /// Forgets the sign-in.
    public func signOut() { cookies = [] }

    public func response(to call: ServerCall) async throws -> TransportResponse {
        guard !cookies.isEmpty else { throw ClientError.notSignedIn }
        let answer = try await send(call)
        guard answer.status != 401 else { throw ClientError.signInEnded }
        return answer
    }

    private func send(_ call: ServerCall) async throws -> TransportResponse {
        var request = try TransportRequest(call, at: server, token: nil)
        if !cookies.isEmpty {
            let text = cookies.map { "\($0.name)=\($0.value)" }.joined(separator: "; ")
            request.headers.append(Header("Cookie", text))
        }
        do {
            let answer = try await transport.send(request)
            keep(answer)
            return answer
        } catch let error as TransportError {
            throw ClientError(error)
        }
    }

    private func keep(_ answer: TransportResponse) {
        for header in answer.headers where header.name.lowercased() == "set-cookie" {
            for (name, value) in Self.pairs(header.value) {
                cookies.removeAll { $0.name == name }
                if !value.isEmpty { cookies.append((name: name, value: value)) }
            }
        }
    }

    /// URL loading joins several fields by commas, and a date has one too: only what has a name and a value is a cookie.
    private static func pairs(_ text: String) -> [(String, String)] {
        text.split(separator: ",").compactMap { part in
            let pair = (part.split(separator: ";").first ?? "").split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard pair.count == 2 else { return nil }
            let name = pair[0].drop { $0 == " " }
            return name.isEmpty || name.contains(" ") ? nil : (String(name), String(pair[1]))
        }
    }
}
