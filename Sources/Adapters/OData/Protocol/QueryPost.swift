import AdapterKit

/// `POST …/$query` with the options in the body reads as `GET` does (URL Conventions 4.01, section 4.17): for queries that
/// are too long for an address.
struct QueryPost {
    let method: String
    let relative: String
    let headers: MountHeaders
    let body: [UInt8]

    /// The method and the address that are meant.
    func plain() throws(PorticoError) -> (method: String, relative: String) {
        guard method == "POST" else { return (method, relative) }
        let parts = relative.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard let path = parts.first, path.hasSuffix("/$query") else { return (method, relative) }
        let type = (headers["Content-Type"] ?? "").prefix { $0 != ";" }.lowercased()
        guard type == "text/plain" else {
            throw PorticoError(.unsupportedMediaType, "The options of a query can be sent as text/plain.")
        }
        guard let text = String(validating: body, as: UTF8.self) else {
            throw PorticoError(.requestMalformed, "The body is not UTF-8.")
        }
        let options = (parts.count > 1 ? [String(parts[1])] : []) + (text.isEmpty ? [] : [text])
        let resource = String(path.dropLast("/$query".count))
        return ("GET", options.isEmpty ? resource : "\(resource)?\(options.joined(separator: "&"))")
    }
}
