import AdapterKit
import HostConfiguration
import Identity

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
