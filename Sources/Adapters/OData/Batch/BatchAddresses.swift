import AdapterKit

/// Where the requests of a batch go: their addresses below the service's root, with references to entities that earlier
/// requests created put in (Protocol 4.01, section 11.7.3).
struct BatchAddresses: Sendable {
    /// `https://host/odata/v4/service/`
    let root: String
    /// By the id of the request that created or addressed it: an entity's address below the root.
    private(set) var entities: [String: String] = [:]

    init(root: String) {
        self.root = root
    }

    /// From the host's root: `/odata/v4/service/`
    private var rootPath: Substring {
        guard let scheme = root.firstRange(of: "://"), let slash = root[scheme.upperBound...].firstIndex(of: "/") else {
            return root[...]
        }
        return root[slash...]
    }

    mutating func remember(_ id: String?, _ address: String?) {
        guard let id, let address else { return }
        entities[id] = below(address)
    }

    /// Throws `request.invalid` for a reference to a request that has none, and for what is outside of the service.
    func relative(_ url: String) throws(PorticoError) -> String {
        let below = below(url)
        guard below.hasPrefix("$") else { return below }
        let id = below.dropFirst().prefix { $0 != "/" && $0 != "?" }
        if let entity = entities[String(id)] { return entity + below.dropFirst(id.count + 1) }
        guard ["metadata", "entity", "all"].contains(String(id)) || id.hasPrefix("crossjoin") else {
            throw PorticoError(.requestInvalid, "No request before has created $\(id).", target: url)
        }
        return below
    }

    /// Without the service's root, however much of it is there. A plain slash in front is the service's root too: the
    /// protocol makes it the host's, where a batch has nothing to ask.
    private func below(_ url: String) -> String {
        if url.hasPrefix(root) { return String(url.dropFirst(root.count)) }
        if url.hasPrefix(rootPath) { return String(url.dropFirst(rootPath.count)) }
        return String(url.drop { $0 == "/" })
    }

    /// References inside of a body in JSON, as `"$1"` in `@odata.bind`.
    func resolved(_ body: [UInt8]) -> [UInt8] {
        guard !entities.isEmpty, body.contains(UInt8(ascii: "$")), var text = String(validating: body, as: UTF8.self)
        else { return body }
        for (id, entity) in entities { text = text.replacing("\"$\(id)\"", with: "\"\(entity)\"") }
        return Array(text.utf8)
    }
}
