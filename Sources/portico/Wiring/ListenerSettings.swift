import Foundation
import Gateway

/// What the listener is configured with beyond its address.
struct ListenerSettings {
    private let connections: Int
    private let writeDeadline: Duration
    private let writeRate: Int
    private let readRate: Int
    private let trustedProxies: [AddressRange]
    /// nil: plain HTTP.
    let certificate: ServerCertificate?

    /// Throws ``Refusal`` where the certificate cannot be used.
    init(_ values: Values, directory: URL) throws {
        connections = values.integer("http.limits.connections")
        writeDeadline = values.duration("http.deadlines.write")
        writeRate = values.size("http.limits.writeRate")
        readRate = values.size("http.limits.readRate")
        certificate = try Self.certificate(values, directory)
        trustedProxies = try values.texts("http.trustedProxies").map { text in
            guard let range = AddressRange(text) else {
                throw Refusal("http.trustedProxies: \(text) is neither an address nor a network such as 10.0.0.0/8.")
            }
            return range
        }
    }

    private static func certificate(_ values: Values, _ directory: URL) throws -> ServerCertificate? {
        func path(_ name: String) -> String? {
            let text = values.text(name)
            return text.isEmpty ? nil : URL(fileURLWithPath: text, relativeTo: directory).path
        }
        guard let file = path("http.tls.certificate"), let key = path("http.tls.key") else {
            let isHalf = ["certificate", "key", "clientAuthorities"].contains { path("http.tls.\($0)") != nil }
            if isHalf { throw Refusal("http.tls.certificate and http.tls.key are needed together.") }
            return nil
        }
        do {
            return try ServerCertificate(
                .init(certificate: file, key: key, clientAuthorities: path("http.tls.clientAuthorities")))
        } catch {
            throw Refusal("http.tls: \(error)")
        }
    }

    func apply(to settings: inout GatewayServer.Settings) {
        settings.connections = connections
        settings.write = writeDeadline
        settings.writeRate = writeRate
        settings.readRate = readRate
        settings.trustedProxies = trustedProxies
    }
}
