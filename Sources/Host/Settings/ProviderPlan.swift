import AdapterKit
import HostConfiguration
import Identity
import Upstream

/// One configured way to sign in: what it is, and how its system is reached.
struct ProviderPlan {
    enum Kind {
        case portal(PortalSettings)
        case openIDConnect(OpenIDConnectSettings)
    }

    let name: ProviderName
    let kind: Kind
    let upstream: UpstreamName

    /// Whether browsers sign in at a page of its own.
    var hasPage: Bool { if case .openIDConnect = kind { true } else { false } }

    /// By name, which is also the order in which passwords are tried.
    static func all(_ resolved: ResolvedConfiguration, _ upstreams: [UpstreamName: UpstreamPlan]) throws
        -> [ProviderPlan]
    {
        let names = Set(resolved.settings(below: "identity.providers").compactMap(\.path.first)).sorted()
        return try names.map { text in
            guard let name = ProviderName(text), text != "local" else {
                throw HostCommandError(
                    "identity.providers.\(text): a name has small letters, digits and hyphens, and is not local.")
            }
            return try ProviderPlan(name, SectionValues("identity.providers.\(name)", resolved), upstreams)
        }
    }

    private init(_ name: ProviderName, _ values: SectionValues, _ upstreams: [UpstreamName: UpstreamPlan]) throws {
        let plan = try values.upstream(in: upstreams)
        switch plan.credentials {
        case .own(.none): break
        case .portal(name): break
        default:
            throw values.wrong("upstream", "A sign-in provider's upstream has no credentials, or a certificate.")
        }
        (self.name, upstream) = (name, plan.settings.name)
        switch try values.text("kind") {
        case "portal": kind = .portal(try PortalSettings(name, values, plan.settings))
        default: kind = .openIDConnect(try OpenIDConnectSettings(name, values, plan.settings))
        }
    }

    func setup(_ client: any Upstream) -> ProviderSetup {
        switch kind {
        case .portal(let settings): .portal(settings, client)
        case .openIDConnect(let settings): .openIDConnect(settings, client)
        }
    }
}

extension PortalSettings {
    init(_ name: ProviderName, _ values: SectionValues, _ upstream: UpstreamSettings) throws {
        guard let form = try values.address("form", at: upstream) else { throw values.wrong("form", "This is needed.") }
        self.init(name: name, form: form)
        page = try values.address("page", at: upstream)
        proof = try values.address("proof", at: upstream)
        tokenPage = try values.address("tokenPage", at: upstream)
        userField = values["userField"]?.text ?? userField
        passwordField = values["passwordField"]?.text ?? passwordField
        extraFields = values.valuesBelow("extraFields").compactMap { field in
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
    init(_ name: ProviderName, _ values: SectionValues, _ upstream: UpstreamSettings) throws {
        let callback = try values.neededAddress("callback")
        guard callback.target == "/auth/oidc/\(name)/callback" else {
            throw values.wrong("callback", "The address ends in /auth/oidc/\(name)/callback.")
        }
        let settings = OpenIDConnectSettings(
            name: name, issuer: try values.text("issuer"), clientID: try values.text("clientID"),
            callback: callback)
        guard let settings else { throw values.wrong("issuer", "This is no http or https address.") }
        guard upstream.origins.contains(settings.issuer.origin) else {
            throw values.wrong("issuer", "This is no server of the upstream \(upstream.name).")
        }
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

/// The keys below `identity.providers.{name}`. What a provider leaves out has the default named here.
enum ProviderReference {
    static let keys = (common + limits + portal + openIDConnect).map { key in
        ConfigurationKey("identity.providers.*.\(key.name)", key.kind, default: key.defaultText, key.summary)
    }

    private static let common = [
        ConfigurationKey(
            "kind", .choice(["portal", "oidc"]), "The kind of a way to sign in. Its name is yours to choose."),
        ConfigurationKey("roles", .list(of: .text), default: "[]", "Roles of every account that signs in there."),
        ConfigurationKey(
            "groups.*", .list(of: .text), "What a group of the provider may be here; other groups give nothing."),
        ConfigurationKey("requiresRole", .flag, default: "false", "Whether an account without any role is refused."),
        ConfigurationKey("upstream", .text, "The system of `upstreams` that is asked."),
    ]

    private static let limits = [
        ConfigurationKey(
            "limits.signIns", .integer(1...1_000), default: "8",
            "Portal: passwords that it is asked at once; further ones wait, in fair shares."),
        ConfigurationKey(
            "limits.keptSignIns", .integer(1...1_000_000), default: "10000",
            "Portal: people whose sign-in there is kept for calls in their name."),
    ]

    private static let portal = [
        ConfigurationKey(
            "form", .text, "Portal: where the form is posted to, as an address or from the upstream's `url`."),
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
