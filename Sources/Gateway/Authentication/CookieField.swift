/// The cookies of a `Cookie` header field (RFC 6265, section 4.2.1).
///
/// Clients of SAP portals send the attributes of a `Set-Cookie` back as if they were cookies, `MYSAPSSO2=v; Domain=d;
/// Path=/` in one field: those two names are skipped.
struct CookieField: Sendable {
    private let cookies: [(name: Substring, value: Substring)]

    init(_ field: String) {
        cookies = field.split(separator: ";").compactMap { piece in
            let pair = piece.trimmingSpaces()
            guard let split = pair.firstIndex(of: "=") else { return nil }
            let name = pair[..<split]
            guard name.lowercased() != "domain", name.lowercased() != "path" else { return nil }
            return (name, pair[pair.index(after: split)...])
        }
    }

    /// The cookie of that name; nil where there is none, or several: a neighbour may have planted one of them.
    func only(_ name: String) -> String? {
        let found = cookies.filter { $0.name == name }
        return found.count == 1 ? found.first.map { String($0.value) } : nil
    }

    /// The first cookie of that name.
    subscript(name: String) -> String? {
        cookies.first { $0.name == name }.map { String($0.value) }
    }
}
