import AdapterKit
import Foundation
import NearestNames

/// What `portico init` writes: what a company wants to have its own way, and nothing else.
struct FirstConfiguration {
    static let fileName = "portico.yaml"
    /// Beside the configuration.
    static let dataFolder = ".portico"
    static let role: RoleName = "admin"
    static let administrator = "admin"

    static let usualHost = "127.0.0.1"
    static let usualPort = 8080

    var host = Self.usualHost
    var port = Self.usualPort
    /// Those that are served.
    var adapters: [AdapterName]
    /// Those that a configuration can name without installing anything.
    let known: [AdapterName]

    /// Serves those of the program's adapters that need no settings and no other system.
    init(_ compiled: [CompiledAdapter]) {
        adapters = Self.proposedAdapters(compiled)
        known = compiled.map(\.name).sorted()
    }

    /// Those that need no settings and no other system.
    private static func proposedAdapters(_ compiled: [CompiledAdapter]) -> [AdapterName] {
        compiled.filter(\.isProposed).map(\.name).sorted()
    }

    /// The same as `init` takes them; `none`: there is none.
    static func list(_ compiled: [CompiledAdapter]) -> String {
        let names = proposedAdapters(compiled).map(\.text)
        return names.isEmpty ? "none" : names.joined(separator: ",")
    }

    var text: String {
        let served = known.map { name in
            "  \(name): " + (adapters.contains(name) ? "{ access: login }" : "{ enabled: false }")
        }
        return """
            # The configuration of this gateway. A key that is not here has its default; every key: docs/configuration.md.
            # `portico check` finds what is wrong with it. `porticoctl config apply` takes up a change without a restart.

            http:
              # Beyond this machine it needs TLS, or a proxy in front of it that ends TLS:
              host: \(host.contains(":") ? "'\(host)'" : host)
              port: \(port) # 0 takes a free one
              # tls: { certificate: /etc/portico/certificate.pem, key: /etc/portico/key.pem }
              # trustedProxies: [10.0.0.0/8]

            log:
              level: info # trace, debug, info, notice, warning, error, critical

            # Adapters of your own: `porticoctl adapters install FILE`. Systems without code: docs/connect.md.
            adapters:
            \(served.joined(separator: "\n"))

            """
    }

    /// Names with commas between them; `none` or nothing: none of them. Throws ``HostCommandError``.
    func adapters(named text: String) throws(HostCommandError) -> [AdapterName] {
        let names = text.split { $0 == "," || $0.isWhitespace }.map(String.init)
        guard names != ["none"] else { return [] }
        var adapters: [AdapterName] = []
        for name in names {
            guard let adapter = known.first(where: { $0.text == name }) else {
                let near = NearestName.sentence(name, among: known.map(\.text))
                throw HostCommandError(
                    "There is no adapter \(name).\(near) They are \(known.map(\.text).joined(separator: ", ")).")
            }
            if !adapters.contains(adapter) { adapters.append(adapter) }
        }
        return adapters
    }
}
