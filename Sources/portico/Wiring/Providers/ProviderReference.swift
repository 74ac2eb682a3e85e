import HostConfiguration

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
