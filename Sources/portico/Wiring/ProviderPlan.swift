import AdapterKit
import HostConfiguration
import IPAddresses
import Identity
import Upstream

/// One configured way to sign in: what it is, and how its system is reached.
struct ProviderPlan {
    enum Kind {
        case portal(PortalSettings)
        case openIDConnect(OpenIDConnectSettings)
    }

    let kind: Kind
    let upstream: UpstreamSettings

    /// By name, which is also the order in which passwords are tried.
    static func all(_ resolved: ResolvedConfiguration) throws -> [ProviderPlan] {
        let names = Set(resolved.settings(below: "identity.providers").compactMap(\.path.first)).sorted()
        return try names.map { text in
            guard let name = ProviderName(text), text != "local" else {
                throw CommandError(
                    "identity.providers.\(text): a name has small letters, digits and hyphens, and is not local.")
            }
            return try ProviderPlan(ProviderValues(name, resolved))
        }
    }

    private init(_ values: ProviderValues) throws {
        let location: UpstreamAddress
        switch try values.text("kind") {
        case "portal":
            let settings = try PortalSettings(values)
            kind = .portal(settings)
            location = settings.form
        default:
            let settings = try OpenIDConnectSettings(values)
            kind = .openIDConnect(settings)
            location = settings.issuer
        }
        upstream = try UpstreamSettings(values, at: location)
    }

    func setup(_ client: any UpstreamClient) -> ProviderSetup {
        switch kind {
        case .portal(let settings): .portal(settings, client)
        case .openIDConnect(let settings): .openIDConnect(settings, client)
        }
    }
}

extension UpstreamSettings {
    init(_ values: ProviderValues, at location: UpstreamAddress) throws {
        let further = try values.list("servers", "http or https addresses", { UpstreamAddress($0)?.origin })
        self.init(name: UpstreamName(unchecked: values.name.text), origins: Set(further + [location.origin]))
        privateNetworks = try values.list("networks", "networks such as 10.1.0.0/16", { AddressRange($0) })
        trustedCertificates = try values.list("certificates", "files", { $0 })
        limits = UpstreamLimits(values)
    }
}

extension UpstreamLimits {
    fileprivate init(_ values: ProviderValues) {
        self.init()
        deadline = values["deadline"]?.duration ?? deadline
        connect = values["limits.connect"]?.duration ?? connect
        answer = values["limits.answer"]?.size ?? answer
        head = values["limits.head"]?.size ?? head
        connections = values["limits.connections"]?.integer ?? connections
        calls = values["limits.calls"]?.integer ?? calls
        tries = values["limits.tries"]?.integer ?? tries
        failures = values["limits.failures"]?.integer ?? failures
        rest = values["limits.rest"]?.duration ?? rest
        longestRest = values["limits.longestRest"]?.duration ?? longestRest
    }
}

extension PortalSettings {
    init(_ values: ProviderValues) throws {
        self.init(name: values.name, form: try values.neededAddress("form"))
        page = try values.address("page")
        proof = try values.address("proof")
        tokenPage = try values.address("tokenPage")
        userField = values["userField"]?.text ?? userField
        passwordField = values["passwordField"]?.text ?? passwordField
        extraFields = values.below("extraFields").compactMap { field in
            field.value.text.map { (name: field.name, value: $0) }
        }
        userAgent = values["userAgent"]?.text ?? userAgent
        cookie = values["cookie"]?.text ?? cookie
        roles = try values.roles()
        signInsAtOnce = values["limits.signIns"]?.integer ?? signInsAtOnce
        keptSignIns = values["limits.keptSignIns"]?.integer ?? keptSignIns
    }
}

extension OpenIDConnectSettings {
    init(_ values: ProviderValues) throws {
        let callback = try values.neededAddress("callback")
        guard callback.target == "/auth/oidc/\(values.name)/callback" else {
            throw values.wrong("callback", "The address ends in /auth/oidc/\(values.name)/callback.")
        }
        let settings = OpenIDConnectSettings(
            name: values.name, issuer: try values.text("issuer"), clientID: try values.text("clientID"),
            callback: callback)
        guard let settings else { throw values.wrong("issuer", "This is no http or https address.") }
        self = settings
        clientSecret = values["clientSecret"]?.secret
        scopes = values["scopes"]?.list?.compactMap(\.text) ?? scopes
        algorithms =
            values["algorithms"]?.list.map { Set($0.compactMap(\.text).compactMap(Algorithm.init)) } ?? algorithms
        nameClaim = values["nameClaim"]?.text ?? nameClaim
        groupsClaim = values["groupsClaim"]?.text ?? groupsClaim
        audience = values["audience"]?.text
        tokenTypes = values["tokenTypes"]?.list.map { Set($0.compactMap(\.text).map { $0.lowercased() }) } ?? tokenTypes
        refresh = values["refresh"]?.duration ?? refresh
        roles = try values.roles()
        guard scopes.contains("openid") else { throw values.wrong("scopes", "The scope openid is needed.") }
    }
}

/// What was configured for one provider, with the place of what is wrong in it.
struct ProviderValues {
    let name: ProviderName
    private let resolved: ResolvedConfiguration
    private var path: String { "identity.providers.\(name)" }

    init(_ name: ProviderName, _ resolved: ResolvedConfiguration) {
        self.name = name
        self.resolved = resolved
    }

    subscript(key: String) -> ConfigurationValue? { resolved["\(path).\(key)"] }

    func text(_ key: String) throws -> String {
        guard let text = self[key]?.text, !text.isEmpty else { throw wrong(key, "This is needed.") }
        return text
    }

    /// Nil where it was left out.
    func address(_ key: String) throws -> UpstreamAddress? {
        guard let text = self[key]?.text else { return nil }
        guard let address = UpstreamAddress(text) else { throw wrong(key, "This is no http or https address.") }
        return address
    }

    func neededAddress(_ key: String) throws -> UpstreamAddress {
        guard let address = try address(key) else { throw wrong(key, "This is needed.") }
        return address
    }

    /// Each text of a list as what it must be; empty where the list was left out.
    func list<Value>(_ key: String, _ expected: String, _ read: (String) -> Value?) throws -> [Value] {
        try items(self[key], key, expected, read)
    }

    /// What stands below a key, by its name there.
    func below(_ key: String) -> [(name: String, value: ConfigurationValue)] {
        resolved.settings(below: "\(path).\(key)").map { (name: $0.path.joined(separator: "."), value: $0.value) }
    }

    func roles() throws -> RoleMapping {
        var mapping = RoleMapping()
        mapping.defaultRoles = Set(try list("roles", "the names of roles", { RoleName($0) }))
        for (group, value) in below("groups") {
            mapping.groups[group] = Set(try items(value, "groups.\(group)", "the names of roles", { RoleName($0) }))
        }
        mapping.isRequired = self["requiresRole"]?.flag ?? false
        return mapping
    }

    func wrong(_ key: String, _ message: String) -> ConfigurationErrors {
        let name = "\(path).\(key)"
        return ConfigurationErrors([
            ConfigurationError(message, at: resolved.location(of: name) ?? .commandLine(name))
        ])
    }

    private func items<Value>(
        _ list: ConfigurationValue?, _ key: String, _ expected: String, _ read: (String) -> Value?
    ) throws -> [Value] {
        try (list?.list ?? []).map { item in
            guard let value = item.text.flatMap(read) else { throw wrong(key, "Here must stand \(expected).") }
            return value
        }
    }
}

/// The keys below `identity.providers.{name}`. What a provider leaves out has the default named here.
enum ProviderReference {
    static let keys = (common + limits + portal + openIDConnect).map { key in
        ConfigurationKey("identity.providers.*.\(key.name)", key.kind, default: key.defaultText, key.summary)
    }

    private static let common = [
        ConfigurationKey("kind", .choice(["portal", "oidc"]), "A way to sign in, named as one likes: what it is."),
        ConfigurationKey("roles", .list(of: .text), default: "[]", "Roles of every account that signs in there."),
        ConfigurationKey(
            "groups.*", .list(of: .text), "What a group of the provider may be here; other groups give nothing."),
        ConfigurationKey("requiresRole", .flag, default: "false", "Whether an account without any role is refused."),
        ConfigurationKey(
            "servers", .list(of: .text), default: "[]",
            "Further servers that it may be asked at or redirect to, such as `https://sso.example.com`."),
        ConfigurationKey(
            "networks", .list(of: .text), default: "[]",
            "Networks that are not public and may be reached, such as `10.1.0.0/16`."),
        ConfigurationKey(
            "certificates", .list(of: .text), default: "[]", "Files (PEM) of further certificates that are trusted."),
    ]

    private static let limits = [
        ConfigurationKey("deadline", .duration, default: "10s", "Of a whole call."),
        ConfigurationKey("limits.connect", .duration, default: "3s", "Of a connection with its handshake."),
        ConfigurationKey("limits.answer", .size, default: "4MiB", "An answer's body."),
        ConfigurationKey("limits.head", .size, default: "64KiB", "An answer's header fields."),
        ConfigurationKey("limits.connections", .integer(1...1_000), default: "16", "To one server at once."),
        ConfigurationKey("limits.calls", .integer(1...10_000), default: "256", "Under way at once; more are refused."),
        ConfigurationKey(
            "limits.tries", .integer(1...10), default: "3", "Of a call that may be repeated, the first included."),
        ConfigurationKey(
            "limits.failures", .integer(1...1_000), default: "5",
            "So many failures in a row, and a server is not asked for a while."),
        ConfigurationKey(
            "limits.rest", .duration, default: "5s",
            "How long it is not asked then; it doubles with every single try that fails after it."),
        ConfigurationKey("limits.longestRest", .duration, default: "2m", "The longest such rest."),
        ConfigurationKey(
            "limits.signIns", .integer(1...1_000), default: "8",
            "Portal: passwords that it is asked at once; further ones wait, in fair shares."),
        ConfigurationKey(
            "limits.keptSignIns", .integer(1...1_000_000), default: "10000",
            "Portal: people whose sign-in there is kept for calls in their name."),
    ]

    private static let portal = [
        ConfigurationKey("form", .text, "Portal: where the form is posted to."),
        ConfigurationKey("page", .text, "Portal: what is asked first, for the cookies that the form needs."),
        ConfigurationKey("userField", .text, default: "j_user", "Portal: the form's field for the name."),
        ConfigurationKey("passwordField", .text, default: "j_password", "Portal: the form's field for the password."),
        ConfigurationKey("extraFields.*", .text, "Portal: a further field of the form, as it is."),
        ConfigurationKey("userAgent", .text, default: "Portico", "Portal: what it takes the gateway for."),
        ConfigurationKey("cookie", .text, default: "MYSAPSSO2", "Portal: the session cookie."),
        ConfigurationKey(
            "proof", .text,
            "Portal: a page that only signed-in callers get, with 2xx; asked at every sign-in, it decides."),
        ConfigurationKey("tokenPage", .text, "Portal: where a token against cross-site requests is fetched."),
    ]

    private static let openIDConnect = [
        ConfigurationKey("issuer", .text, "OpenID Connect: the provider's name, an address, letter by letter."),
        ConfigurationKey("clientID", .text, "OpenID Connect: what it calls this gateway."),
        ConfigurationKey(
            "clientSecret", .secret(allowsPlain: false), "OpenID Connect: without it, PKCE alone protects the code."),
        ConfigurationKey(
            "callback", .text,
            "OpenID Connect: this gateway's address, ending in `/auth/oidc/{name}/callback`, as registered there."),
        ConfigurationKey(
            "scopes", .list(of: .text), default: "[openid, profile]", "OpenID Connect: what is asked for."),
        ConfigurationKey(
            "algorithms", .list(of: .choice(["RS256", "PS256", "ES256", "ES384"])), default: "[RS256, ES256]",
            "OpenID Connect: signatures that are taken."),
        ConfigurationKey(
            "nameClaim", .text, default: "preferred_username", "OpenID Connect: what names the person, for show."),
        ConfigurationKey(
            "groupsClaim", .text, default: "groups",
            "OpenID Connect: what lists the groups; dots lead into objects."),
        ConfigurationKey(
            "audience", .text, "OpenID Connect: the `aud` of apps' tokens for this gateway; without it none are taken."),
        ConfigurationKey(
            "tokenTypes", .list(of: .text), default: "[at+jwt]", "OpenID Connect: the `typ` of apps' tokens."),
        ConfigurationKey("refresh", .duration, default: "1h", "OpenID Connect: how long its keys are believed."),
    ]
}
