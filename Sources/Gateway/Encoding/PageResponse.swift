import AdapterKit
import HTTPTypes
import WireFormats

extension GatewayResponse {
    /// A page for people, with what a browser is to be forbidden on it: scripts (but for the gateway's own modules, where
    /// `allowsModules`), frames, other servers, keeping it.
    ///
    /// The referrer policy is `same-origin`, because with none at all browsers send forms with `Origin: null`.
    init(
        page: HTML, status: HTTPResponse.Status = .ok, isPrivate: Bool = false, allowsModules: Bool = false
    ) {
        self.init(
            status,
            headers: [
                .contentType: HTML.mediaType, .cacheControl: isPrivate ? "no-store" : "no-cache",
                .contentSecurityPolicy: HTML.contentSecurityPolicy(allowsModules: allowsModules),
                .referrerPolicy: "same-origin", .crossOriginOpenerPolicy: "same-origin", .xFrameOptions: "DENY",
            ], body: Array(page.text.utf8))
    }
}

extension GatewayResponse {
    /// A person who needs a sign-in gets the page for it, and comes back to where they were.
    static func redirectToSignIn(from request: GatewayRequest) -> GatewayResponse {
        let next = LocalPath(request.target.text) ?? .front
        return GatewayResponse(
            .seeOther,
            headers: [
                .location: SignInPage.address(leadingTo: next), .cacheControl: "no-store", .vary: ResponseEncoder.vary,
            ])
    }
}

extension GatewayRequest {
    /// Whether a browser shows the answer to a person, by what only browsers send: Fetch Metadata (`Sec-Fetch-Mode`), and
    /// where they leave that out, over HTTP without TLS, `Upgrade-Insecure-Requests`. Programs name pages in `Accept` too.
    var isForPerson: Bool {
        guard let mode = headers.text(.secFetchMode) else { return headers.text(.upgradeInsecureRequests) == "1" }
        return mode == "navigate"
    }

    /// A browser that goes to an address, for a person to look at.
    var isNavigation: Bool {
        guard method == .get || method == .head, !isPartOfBatch, headers[.authorization] == nil, isForPerson else {
            return false
        }
        return PagePreference(accept: headers.text(.accept)) != nil
    }

    /// A browser that sent a form and shows the answer to a person.
    var isSentByForm: Bool {
        let type = headers[.contentType].flatMap { MediaType($0) }?.essence
        return type == BodyReader.formType && isForPerson
    }

    /// A browser says that a page of another server sent this: by Fetch Metadata (section 2.3), and where it does not
    /// have that yet, by `Origin` (RFC 6454), of which the scheme is left out, since a proxy may have ended TLS. `null`
    /// is foreign. Programs send neither.
    var isSentByForeignPage: Bool {
        switch headers.text(.secFetchSite) {
        case "cross-site", "same-site": return true
        case "same-origin", "none": return false
        default: break
        }
        guard let sender = headers[.origin] else { return false }
        let (asked, sent) = (Self.authority(of: origin), Self.authority(of: sender))
        return asked == nil || asked != sent
    }

    private static func authority(of origin: String) -> String? {
        let (scheme, rest) = origin.splitOnce(at: ":")
        guard !scheme.isEmpty, let rest, rest.hasPrefix("//") else { return nil }
        return rest.dropFirst(2).lowercased()
    }
}

extension HTTPField.Name {
    static let secFetchMode = HTTPField.Name("Sec-Fetch-Mode")!
    static let upgradeInsecureRequests = HTTPField.Name("Upgrade-Insecure-Requests")!
    static let referrerPolicy = HTTPField.Name("Referrer-Policy")!
    static let crossOriginOpenerPolicy = HTTPField.Name("Cross-Origin-Opener-Policy")!
    static let xFrameOptions = HTTPField.Name("X-Frame-Options")!
}
