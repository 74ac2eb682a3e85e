import AdapterKit
import Foundation

/// A code for the ID token that it stands for (RFC 6749, section 4.1.3, with PKCE, RFC 7636).
struct CodeExchange: Sendable {
    let settings: OpenIDConnectSettings
    let upstream: any UpstreamClient

    /// Nil where the provider refuses the code. Throws where it says neither yes nor no.
    func identityToken(for code: Secret, verifier: Secret, at configuration: ProviderConfiguration) async throws
        -> Secret?
    {
        guard (1...OpenIDConnectSettings.maximumCode).contains(code.reveal().utf8.count) else { return nil }
        let response: UpstreamResponse
        do throws(UpstreamFailure) {
            response = try await upstream.send(request(code, verifier, configuration))
        } catch {
            throw error.asError
        }
        switch response.status {
        case 200: return ClaimValue(json: response.body)?["id_token"]?.text.map { Secret($0) }
        // `invalid_client` is our own misconfiguration, not the person's fault.
        case 400 where ClaimValue(json: response.body)?["error"]?.text == "invalid_grant": return nil
        default:
            throw UpstreamFailure(
                .broken, of: upstream.name, detail: "the token endpoint answered \(response.status)"
            ).asError
        }
    }

    /// RFC 6749, section 2.3.1: both halves are escaped as in a form first.
    private func basic(_ secret: Secret) -> String {
        let pair = FormFields.escape(settings.clientID) + ":" + FormFields.escape(secret.reveal())
        return "Basic " + Data(pair.utf8).base64EncodedString()
    }

    private func request(_ code: Secret, _ verifier: Secret, _ configuration: ProviderConfiguration) -> UpstreamRequest
    {
        var form = [
            ("grant_type", "authorization_code"), ("code", code.reveal()),
            ("redirect_uri", settings.callback.description), ("code_verifier", verifier.reveal()),
        ]
        let usesBasic = settings.clientSecret != nil && configuration.takesBasic
        if !usesBasic { form.append(("client_id", settings.clientID)) }
        if let secret = settings.clientSecret, !usesBasic { form.append(("client_secret", secret.reveal())) }
        var request = UpstreamRequest(
            posting: FormFields(form.map { (name: $0.0, value: $0.1) }), to: configuration.token)
        request.fields["Accept"] = "application/json"
        if usesBasic, let secret = settings.clientSecret {
            request.fields["Authorization"] = basic(secret)
        }
        return request
    }
}
