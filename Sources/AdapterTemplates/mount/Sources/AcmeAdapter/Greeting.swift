import AdapterKit

/// `GET /acme/hello/{name}`: a path whose requests and answers are this adapter's own, down to the header fields.
///
/// The gateway has checked the caller's credentials, and that `access` and the adapter's access let the caller in.
struct Greeting {
    static let mount = HTTPMount(
        "greetings", summary: "Greets.", path: "/acme", methods: ["GET"], mediaType: "text/plain",
        access: .login)

    static func answer(_ request: MountRequest) throws -> MountResponse {
        let path = request.target.prefix { $0 != "?" }.split(separator: "/", omittingEmptySubsequences: false)
        guard path.count == 4, path[2] == "hello", !path[3].isEmpty, path[3].utf8.allSatisfy(isPlain) else {
            throw PorticoError(.routeNotFound, "There is nothing at this path.")
        }
        return MountResponse(
            200, headers: ["Content-Type": "text/plain; charset=utf-8"], body: Array("Hello, \(path[3])!\n".utf8))
    }

    /// A letter, a digit, a hyphen: what needs no decoding.
    private static func isPlain(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) || byte == 0x2D
    }
}
