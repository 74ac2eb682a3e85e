import AdapterKit
import HTTPTypes
import WireFormats

extension GatewayResponse {
    /// A page for people, with what a browser is to be forbidden on it: scripts, frames, other servers, keeping it.
    ///
    /// The referrer policy is `same-origin`, because with none at all browsers send forms with `Origin: null`.
    init(page: HTML, status: HTTPResponse.Status = .ok, isPrivate: Bool = false) {
        self.init(
            status,
            headers: [
                .contentType: "text/html; charset=utf-8", .cacheControl: isPrivate ? "no-store" : "no-cache",
                .contentSecurityPolicy: HTML.contentSecurityPolicy, .referrerPolicy: "same-origin",
                .crossOriginOpenerPolicy: "same-origin", .xFrameOptions: "DENY",
            ], body: Array(page.text.utf8))
    }
}

extension GatewayRequest {
    /// A browser that sent a form and shows the answer to a person.
    var isSentByForm: Bool {
        let type = headers[.contentType].flatMap { MediaType($0) }?.essence
        return type == BodyReader.formType && headers[.accept]?.lowercased().contains("text/html") == true
    }

    /// A browser says that a page of another server sent this (Fetch Metadata, section 2.3). Programs say nothing.
    var isSentByForeignPage: Bool {
        ["cross-site", "same-site"].contains(headers[.secFetchSite])
    }
}

extension HTTPField.Name {
    static let referrerPolicy = HTTPField.Name("Referrer-Policy")!
    static let crossOriginOpenerPolicy = HTTPField.Name("Cross-Origin-Opener-Policy")!
    static let xFrameOptions = HTTPField.Name("X-Frame-Options")!
}
