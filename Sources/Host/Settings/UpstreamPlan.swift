import AdapterKit
import Foundation
import HostConfiguration
import IPAddresses
import Identity
import NearestNames
import Upstream
import UpstreamRecording

/// One configured upstream: where it is, and in whose name it is called.
struct UpstreamPlan {
    enum Credentials {
        case own(UpstreamCredentials)
        /// The session that the caller has at a portal.
        case portal(ProviderName)
    }

    let settings: UpstreamSettings
    let credentials: Credentials
    let kind: String
    let source: RecordReplayUpstream.Source
    let chaos: Chaos?

    /// Whether answers are recorded, replayed or disturbed.
    var isRehearsed: Bool { if case .upstream = source { chaos != nil } else { true } }

    var actsForCallers: Bool {
        switch credentials {
        case .portal, .own(.exchange): true
        case .own: false
        }
    }

    /// Every call of an address outside public networks would be refused; nil: its address may be called, or is a name.
    func addressWarning(_ resolved: ResolvedConfiguration) -> String? {
        if case .replayed = source { return nil }
        guard settings.refusesItsAddress else { return nil }
        let key = "upstreams.\(settings.name).url"
        return (resolved.location(of: key) ?? .commandLine(key)).description
            + ": \(settings.url.origin.host) is in no public network, and `networks` does not allow it: no call will be made."
    }

    /// By name. Throws ``ConfigurationErrors`` with every upstream's first error.
    static func all(_ resolved: ResolvedConfiguration, directory: String) throws -> [UpstreamName: UpstreamPlan] {
        let names = Set(resolved.settings(below: "upstreams").compactMap(\.path.first)).sorted()
        var plans: [UpstreamName: UpstreamPlan] = [:]
        var errors: [ConfigurationError] = []
        for text in names {
            let values = SectionValues("upstreams.\(text)", resolved)
            do {
                guard let name = UpstreamName(text) else {
                    throw values.wrong("url", "An upstream's name has small letters, digits and hyphens.")
                }
                plans[name] = try UpstreamPlan(name, values, directory: directory)
            } catch let found as ConfigurationErrors {
                errors += found.errors
            }
        }
        guard errors.isEmpty else { throw ConfigurationErrors(errors) }
        return plans
    }

    private init(_ name: UpstreamName, _ values: SectionValues, directory: String) throws {
        var settings = UpstreamSettings(name: name, url: try values.url())
        settings.origins.formUnion(
            try values.list("servers", "http or https addresses", { UpstreamAddress($0)?.origin }))
        settings.privateNetworks = try values.list("networks", "networks such as 10.1.0.0/16", { AddressRange($0) })
        settings.trustedCertificates = try values.files("certificates", below: directory)
        settings.limits = UpstreamLimits(values)
        kind = values["credentials.kind"]?.text ?? "none"
        try values.checkCredentialKeys(of: kind)
        switch kind {
        case "portal": credentials = .portal(try values.provider())
        case "certificate":
            settings.clientCertificate = try values.clientCertificate(below: directory)
            credentials = .own(.none)
        default: credentials = .own(try UpstreamCredentials(kind, values))
        }
        if case .own(let own) = credentials, let token = own.tokenURL {
            guard token.origin.isSecure || !settings.url.origin.isSecure else {
                throw values.wrong("credentials.tokenURL", "A token is fetched over https where the upstream has it.")
            }
            settings.origins.insert(token.origin)
        }
        source = try values.source(below: directory)
        chaos = try values.chaos()
        self.settings = settings
    }
}

extension UpstreamCredentials {
    fileprivate init(_ kind: String, _ values: SectionValues) throws {
        switch kind {
        case "basic":
            let username = try values.text("credentials.username")
            guard !username.contains(":") else {
                throw values.wrong("credentials.username", "A name for Basic has no colon (RFC 7617).")
            }
            self = .basic(username: username, password: try values.secret("credentials.password"))
        case "bearer": self = .bearer(try values.fieldSecret("credentials.token"))
        case "apiKey":
            let header = try values.text("credentials.header")
            guard
                header.utf8.allSatisfy({ UInt8(ascii: "-") == $0 || Character(UnicodeScalar($0)).isASCIIAlphanumeric })
            else { throw values.wrong("credentials.header", "A header field's name has letters, digits and hyphens.") }
            self = .apiKey(header: header, value: try values.fieldSecret("credentials.value"))
        case "oauth2": self = .oauth2(try TokenEndpoint(values), scopes: try values.scopes())
        case "jwtBearer":
            let bearer = JWTBearer(
                tokenURL: try values.neededAddress("credentials.tokenURL"),
                issuer: try values.text("credentials.issuer"), scopes: try values.scopes(),
                key: try values.secret("credentials.key"))
            guard let bearer else {
                throw values.wrong("credentials.key", "This is no key of P-256 or RSA (2,048 bits at least) in PEM.")
            }
            self = .jwtBearer(bearer)
        case "exchange":
            self = .exchange(try TokenEndpoint(values), audience: try values.text("credentials.audience"))
        default: self = .none
        }
    }
}

extension Character {
    fileprivate var isASCIIAlphanumeric: Bool { isASCII && (isLetter || isNumber) }
}

extension TokenEndpoint {
    fileprivate init(_ values: SectionValues) throws {
        self.init(
            url: try values.neededAddress("credentials.tokenURL"), clientID: try values.text("credentials.clientID"),
            clientSecret: try values.secret("credentials.clientSecret"))
    }
}

extension UpstreamLimits {
    fileprivate init(_ values: SectionValues) {
        self.init()
        deadline = values["deadline"]?.duration ?? deadline
        longDeadline = values["limits.longDeadline"]?.duration ?? longDeadline
        connect = values["limits.connect"]?.duration ?? connect
        firstByte = values["limits.firstByte"]?.duration ?? firstByte
        answer = values["limits.answer"]?.size ?? answer
        head = values["limits.head"]?.size ?? head
        connections = values["limits.connections"]?.integer ?? connections
        queue = values["limits.queue"]?.integer ?? queue
        redirects = values["limits.redirects"]?.integer ?? redirects
        tries = values["limits.tries"]?.integer ?? tries
        retries = values["limits.retries"]?.integer ?? retries
        failures = values["limits.failures"]?.integer ?? failures
        rest = values["limits.rest"]?.duration ?? rest
        longestRest = values["limits.longestRest"]?.duration ?? longestRest
    }
}

extension SectionValues {
    /// With the slash at its end that ``Upstream/url`` has.
    fileprivate func url() throws -> UpstreamAddress {
        let text = try text("url")
        guard !text.contains("?"), !text.contains("#"),
            let url = UpstreamAddress(text.hasSuffix("/") ? text : text + "/")
        else { throw wrong("url", "This is no http or https address without user, query and fragment.") }
        return url
    }

    /// Throws where it was left out.
    func secret(_ key: String) throws -> Secret {
        guard let secret = self[key]?.secret, !secret.reveal().isEmpty else { throw wrong(key, "This is needed.") }
        return secret
    }

    /// Of characters that a header field can hold.
    fileprivate func fieldSecret(_ key: String) throws -> Secret {
        let secret = try secret(key)
        guard secret.reveal().utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) else {
            throw wrong(key, "A header field holds visible ASCII characters only.")
        }
        return secret
    }

    fileprivate func scopes() throws -> [String] { try list("credentials.scopes", "names of scopes", { $0 }) }

    fileprivate func provider() throws -> ProviderName {
        let text = try text("credentials.provider")
        guard let name = ProviderName(text), resolved["identity.providers.\(name).kind"]?.text == "portal" else {
            throw wrong("credentials.provider", "identity.providers has no portal of this name.")
        }
        return name
    }

    fileprivate func clientCertificate(below directory: String) throws -> ClientCertificate {
        let path = Self.path(try text("credentials.certificate"), below: directory)
        if let reason = FileFailure.reading(path) {
            throw wrong("credentials.certificate", "\(path) cannot be read: \(reason).")
        }
        guard UpstreamSettings.hasCertificates(path) else {
            throw wrong("credentials.certificate", "\(path) has no certificates in PEM.")
        }
        let key = try secret("credentials.key")
        let isKey = key.reveal().contains("-----BEGIN")
        let file = Self.path(key.reveal(), below: directory)
        guard let text = isKey ? key.reveal() : try? ConfigurationFile.text(file) else {
            throw wrong("credentials.key", "This is neither a key in PEM nor a file that can be read.")
        }
        do {
            return try ClientCertificate(file: path, key: Secret(text))
        } catch {
            throw wrong("credentials.certificate", "The certificate and its key cannot be used.")
        }
    }

    fileprivate func files(_ key: String, below directory: String) throws -> [String] {
        try list(key, "files", { $0 }).map { text in
            let path = Self.path(text, below: directory)
            if let reason = FileFailure.reading(path) { throw wrong(key, "\(path) cannot be read: \(reason).") }
            guard UpstreamSettings.hasCertificates(path) else {
                throw wrong(key, "\(path) has no certificates in PEM.")
            }
            return path
        }
    }

    private static func path(_ text: String, below directory: String) -> String {
        URL(fileURLWithPath: text, relativeTo: URL(fileURLWithPath: directory, isDirectory: true)).path
    }

    fileprivate func source(below directory: String) throws -> RecordReplayUpstream.Source {
        let names = Set(try list("scrub", "names of members", { $0 }))
        func recording(_ key: String) -> Recording? {
            self[key]?.text.map { Recording(folder: Self.path($0, below: directory), secretNames: names) }
        }
        switch (recording("record"), recording("replay")) {
        case (nil, nil): return .upstream
        case (let record?, nil): return .recorded(record)
        case (nil, let replay?):
            let folder = Self.path(self["replay"]?.text ?? "", below: directory)
            var isFolder: ObjCBool = false
            guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder), isFolder.boolValue else {
                throw wrong("replay", "There is no folder \(folder).")
            }
            return .replayed(replay)
        default: throw wrong("replay", "Answers are recorded or replayed, not both.")
        }
    }

    fileprivate func chaos() throws -> Chaos? {
        guard !valuesBelow("chaos").isEmpty else { return nil }
        func percent(_ key: String) -> Int { self["chaos.\(key)"]?.integer ?? 0 }
        var shares = Chaos.Shares()
        shares.delay = percent("delay")
        shares.truncate = percent("truncate")
        shares.corrupt = percent("corrupt")
        shares.reset = percent("reset")
        shares.lie = percent("lie")
        shares.fail = percent("fail")
        guard shares.sum <= 100 else { throw wrong("chaos", "All shares together are 100 percent at most.") }
        return Chaos(seed: UInt64(clamping: self["chaos.seed"]?.integer ?? 1), shares)
    }

    /// A key of another kind of credentials would have no effect.
    fileprivate func checkCredentialKeys(of kind: String) throws {
        let known = Set(UpstreamReference.credentialKeys[kind] ?? [])
        for (name, _) in valuesBelow("credentials") where name != "kind" && !known.contains(name) {
            throw wrong("credentials.\(name)", "Credentials of the kind \(kind) have no key \(name).")
        }
    }
}

/// The keys below `upstreams.{name}`. What an upstream leaves out has the default named here.
enum UpstreamReference {
    static let keys = (common + credentials + limits + rehearsal).map { key in
        let below = ConfigurationKey("upstreams.*.\(key.name)", key.kind, default: key.defaultText, key.summary)
        return key.files.map { below.namingFiles(from: $0) } ?? below
    }

    /// By kind.
    static let credentialKeys = [
        "none": [], "basic": ["username", "password"], "bearer": ["token"],
        "oauth2": ["tokenURL", "clientID", "clientSecret", "scopes"],
        "jwtBearer": ["tokenURL", "issuer", "key", "scopes"], "apiKey": ["header", "value"],
        "certificate": ["certificate", "key"], "portal": ["provider"],
        "exchange": ["tokenURL", "clientID", "clientSecret", "audience"],
    ]

    /// Keys of earlier versions, with what takes their place.
    static let removed: [RemovedKey] =
        [
            "servers", "networks", "certificates", "deadline", "limits.connect", "limits.answer", "limits.head",
            "limits.connections", "limits.calls", "limits.tries", "limits.failures", "limits.rest",
            "limits.longestRest",
        ].map { RemovedKey("identity.providers.*.\($0)", instead: instead) }
        + [
            "apns.server", "apns.networks", "apns.certificates", "webhook.address", "webhook.networks",
            "webhook.certificates",
        ].map { RemovedKey("push.\($0)", instead: instead) }
        + [
            RemovedKey(
                "adapters.*.portal",
                instead:
                    "declare the system below upstreams with credentials {kind: portal, provider: NAME}, and name it "
                    + "with upstream: NAME")
        ]

    private static let instead = "declare the system below upstreams, and name it with upstream: NAME"

    private static let common = [
        ConfigurationKey(
            "url", .text,
            "The address of a system that the gateway calls, such as `https://hr.example/`. Its name is yours to choose."
        ),
        ConfigurationKey(
            "servers", .list(of: .text), default: "[]",
            "Further servers that it may redirect to, such as `https://sso.example.com`."),
        ConfigurationKey(
            "networks", .list(of: .text), default: "[]",
            "Networks that are not public and may be reached, such as `10.1.0.0/16`."),
        ConfigurationKey(
            "certificates", .list(of: .text), default: "[]",
            "Files (PEM) of further certificates that are trusted, relative to the configuration file."
        ).namingFiles(from: .configuration),
        ConfigurationKey("deadline", .duration, default: "10s", "Of a whole call."),
    ]

    private static let credentials = [
        ConfigurationKey(
            "credentials.kind",
            .choice([
                "none", "basic", "bearer", "oauth2", "jwtBearer", "apiKey", "certificate", "portal", "exchange",
            ]), default: "none", "How calls show who makes them; `portal` and `exchange`: in the caller's name."),
        ConfigurationKey("credentials.username", .text, "`basic`: the name."),
        ConfigurationKey("credentials.password", .secret(allowsPlain: false), "`basic`: the password."),
        ConfigurationKey("credentials.token", .secret(allowsPlain: false), "`bearer`: a token that does not change."),
        ConfigurationKey("credentials.header", .text, "`apiKey`: the header field."),
        ConfigurationKey("credentials.value", .secret(allowsPlain: false), "`apiKey`: the field's value."),
        ConfigurationKey(
            "credentials.tokenURL", .text, "`oauth2`, `jwtBearer`, `exchange`: the token endpoint."),
        ConfigurationKey("credentials.clientID", .text, "`oauth2`, `exchange`: the gateway's name there."),
        ConfigurationKey(
            "credentials.clientSecret", .secret(allowsPlain: false), "`oauth2`, `exchange`: its secret there."),
        ConfigurationKey(
            "credentials.scopes", .list(of: .text), default: "[]", "`oauth2`, `jwtBearer`: what is asked for."),
        ConfigurationKey("credentials.issuer", .text, "`jwtBearer`: whose assertion it is, such as a service account."),
        ConfigurationKey(
            "credentials.key", .secret(allowsPlain: true),
            "`jwtBearer`: the key of P-256 or RSA (PEM); `certificate`: the same, or the path of its file."
        ).namingFiles(from: .configuration),
        ConfigurationKey(
            "credentials.certificate", .text,
            "`certificate`: a file (PEM) with the client certificate, relative to the configuration file."
        ).namingFiles(from: .configuration),
        ConfigurationKey("credentials.provider", .text, "`portal`: the portal of `identity.providers`."),
        ConfigurationKey("credentials.audience", .text, "`exchange`: for whom the token is."),
    ]

    private static let rehearsal =
        [
            ConfigurationKey(
                "record", .text,
                "For tests: a folder where answers are written, without credentials, relative to the file."
            ).namingFiles(from: .configuration),
            ConfigurationKey(
                "replay", .text, "For tests: a folder where answers are taken from; the system is not asked."
            ).namingFiles(from: .configuration),
            ConfigurationKey(
                "scrub", .list(of: .text), default: "[]",
                "Members of recorded JSON bodies and elements of XML whose values are replaced, beside passwords and tokens."
            ),
            ConfigurationKey("chaos.seed", .integer(0...Int.max), default: "1", "For tests: which faults happen when."),
        ]
        + [
            ("delay", "delayed by up to 2s"), ("truncate", "cut off"), ("corrupt", "changed by a bit"),
            ("reset", "lost with the connection"), ("lie", "replaced by a login page with status 200"),
            ("fail", "replaced by status 503"),
        ].map { name, meaning in
            ConfigurationKey(
                "chaos.\(name)", .integer(0...100), default: "0", "For tests: percent of answers that are \(meaning).")
        }

    private static let limits = [
        ConfigurationKey(
            "limits.longDeadline", .duration, default: "15m", "Of a call that no caller waits for, such as a refresh."),
        ConfigurationKey("limits.connect", .duration, default: "3s", "Of a connection with its handshake."),
        ConfigurationKey(
            "limits.firstByte", .duration, default: "10s", "Until an answer's head, and between pieces of its body."),
        ConfigurationKey("limits.answer", .size, default: "16MiB", "An answer's body, decompressed."),
        ConfigurationKey("limits.head", .size, default: "64KiB", "An answer's header fields."),
        ConfigurationKey("limits.connections", .integer(1...1_000), default: "16", "Calls under way at once."),
        ConfigurationKey("limits.queue", .integer(0...100_000), default: "64", "Calls that wait; more are refused."),
        ConfigurationKey("limits.redirects", .integer(0...20), default: "5", "How many redirects are followed."),
        ConfigurationKey(
            "limits.tries", .integer(1...10), default: "3", "Of a call that may be repeated, the first included."),
        ConfigurationKey(
            "limits.retries", .integer(0...100), default: "20",
            "How many percent of all calls may be tries again, beyond a burst of ten."),
        ConfigurationKey(
            "limits.failures", .integer(1...1_000), default: "5",
            "So many failures in a row, and a server's circuit breaker opens."),
        ConfigurationKey(
            "limits.rest", .duration, default: "5s",
            "How long it stays open; the time doubles with every single try that fails after it."),
        ConfigurationKey("limits.longestRest", .duration, default: "2m", "The longest such time."),
    ]
}

extension [UpstreamName: UpstreamPlan] {
    private static var mostShown: Int { 20 }

    /// The upstream that a mistyped name most likely means, as a sentence; where none is near, those that there are.
    func hint(for name: String?) -> String {
        let known = keys.map(\.text).sorted()
        let near = NearestName.sentence(name ?? "", among: known)
        guard near.isEmpty else { return near }
        guard !known.isEmpty else { return " None is declared: upstreams.NAME.url." }
        return " There are \(known.prefix(Self.mostShown).joined(separator: ", "))."
    }
}
